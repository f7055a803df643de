/**
 * The data of the memory store, with the commands that rules use; names and behaviour are those of Redis. Rules are
 * synchronous, which makes them atomic here.
 */
import type { Db } from "../rules/db.ts"
import { numberOf } from "../rules/native.ts"
import { SortedSet } from "./SortedSet.ts"

type Value = string | Map<string, string> | SortedSet

interface Entry {
  value: Value
  /** when it expires (ms); infinite for never */
  expiresAt: number
}

export class MemoryDb implements Db {
  private readonly entries = new Map<string, Entry>()
  private readonly onPublish: (channel: string, message: string) => void
  /** set by the store before each command */
  now = 0

  constructor(onPublish: (channel: string, message: string) => void) {
    this.onPublish = onPublish
  }

  /** The number of keys; expired ones count until `evict`. */
  get size(): number {
    return this.entries.size
  }

  time(): number {
    return this.now
  }

  get(key: string): string | undefined {
    const value = this.live(key)
    return typeof value === "string" ? value : undefined
  }

  set(key: string, value: string, ttlMillis: number): void {
    this.entries.set(key, { value, expiresAt: this.now + ttlMillis })
  }

  pexpire(key: string, ttlMillis: number): void {
    const entry = this.entry(key)
    if (entry !== undefined) entry.expiresAt = this.now + ttlMillis
  }

  hget(key: string, field: string): string | undefined {
    const value = this.live(key)
    return value instanceof Map ? value.get(field) : undefined
  }

  hgetNumbers(key: string, fields: ReadonlyArray<string>): ReadonlyArray<number> {
    const value = this.live(key)
    return fields.map((field) => (value instanceof Map ? numberOf(value.get(field)) : 0))
  }

  hgetall(key: string): ReadonlyArray<string> {
    const value = this.live(key)
    return value instanceof Map ? [...value].flat() : []
  }

  /** The cursor is the place of the next field. */
  hscan(key: string, cursor: string, count: number): readonly [next: string, fieldsAndValues: ReadonlyArray<string>] {
    const value = this.live(key)
    if (!(value instanceof Map)) return ["0", []]
    const from = Number(cursor)
    const page = [...value].slice(from, from + count).flat()
    return [from + count < value.size ? String(from + count) : "0", page]
  }

  hset(key: string, field: string, value: string): void {
    this.hash(key).set(field, value)
  }

  hsetMany(key: string, fieldsAndValues: ReadonlyArray<string>): void {
    const hash = this.hash(key)
    for (let i = 0; i < fieldsAndValues.length; i += 2) {
      hash.set(fieldsAndValues[i] ?? "", fieldsAndValues[i + 1] ?? "")
    }
  }

  hdel(key: string, field: string): void {
    const value = this.live(key)
    if (!(value instanceof Map)) return
    value.delete(field)
    if (value.size === 0) this.del(key)
  }

  hincrby(key: string, field: string, by: number): number {
    const next = Number(this.hget(key, field) ?? "0") + by
    this.hset(key, field, String(next))
    return next
  }

  hlen(key: string): number {
    const value = this.live(key)
    return value instanceof Map ? value.size : 0
  }

  zadd(key: string, score: number, member: string): void {
    this.sorted(key).add(score, member)
  }

  zaddMany(key: string, scoresAndMembers: ReadonlyArray<number | string>): void {
    const set = this.sorted(key)
    for (let i = 0; i < scoresAndMembers.length; i += 2) {
      set.add(Number(scoresAndMembers[i]), String(scoresAndMembers[i + 1]))
    }
  }

  zrem(key: string, member: string): boolean {
    const value = this.live(key)
    if (!(value instanceof SortedSet)) return false
    const removed = value.remove(member)
    if (value.size === 0) this.del(key)
    return removed
  }

  zscore(key: string, member: string): number | undefined {
    return this.zset(key)?.score(member)
  }

  zrank(key: string, member: string): number | undefined {
    return this.zset(key)?.rank(member)
  }

  zcard(key: string): number {
    return this.zset(key)?.size ?? 0
  }

  /** `ZRANGE key first first+count-1`. */
  zrange(key: string, first: number, count: number): ReadonlyArray<string> {
    return this.zrangebyscore(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, count, first)
  }

  /** The scores of `ZRANGE key first first+count-1 WITHSCORES`. */
  zscoresByRank(key: string, first: number, count: number): ReadonlyArray<number> {
    const all = this.zset(key)?.range(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, count, first) ?? []
    return all.map((e) => e.score)
  }

  /** `ZRANGEBYSCORE key min max LIMIT first count`, both bounds inclusive. */
  zrangebyscore(key: string, min: number, max: number, count: number, first = 0): ReadonlyArray<string> {
    return (this.zset(key)?.range(min, max, count, first) ?? []).map((e) => e.member)
  }

  /** `ZRANGEBYLEX key (member + LIMIT 0 1` of a set whose scores are all 0: the first member after this one. */
  zlexAfter(key: string, member: string): string | undefined {
    return this.zset(key)?.after(0, member)
  }

  /** `ZCOUNT key min +inf`, inclusive. */
  zcountFrom(key: string, min: number): number {
    return this.zset(key)?.countFrom(min) ?? 0
  }

  zremrangebyscore(key: string, min: number, max: number): number {
    const members = this.zrangebyscore(key, min, max, Number.POSITIVE_INFINITY)
    for (const member of members) this.zrem(key, member)
    return members.length
  }

  /** `ZREMRANGEBYRANK key 0 -kept-1`. */
  zkeepLast(key: string, kept: number): void {
    const excess = this.zcard(key) - kept
    if (excess > 0) for (const member of this.zrange(key, 0, excess)) this.zrem(key, member)
  }

  publish(channel: string, message: string): void {
    this.onPublish(channel, message)
  }

  /** Deletes expired keys. */
  evict(): void {
    for (const [key, { expiresAt }] of this.entries) if (expiresAt <= this.now) this.del(key)
  }

  del(key: string): void {
    this.entries.delete(key)
  }

  private entry(key: string): Entry | undefined {
    const entry = this.entries.get(key)
    if (entry === undefined || entry.expiresAt > this.now) return entry
    this.del(key)
    return undefined
  }

  private live(key: string): Value | undefined {
    return this.entry(key)?.value
  }

  private zset(key: string): SortedSet | undefined {
    const value = this.live(key)
    return value instanceof SortedSet ? value : undefined
  }

  private hash(key: string): Map<string, string> {
    const value = this.live(key)
    if (value instanceof Map) return value
    const created = new Map<string, string>()
    this.entries.set(key, { value: created, expiresAt: Number.POSITIVE_INFINITY })
    return created
  }

  private sorted(key: string): SortedSet {
    const value = this.live(key)
    if (value instanceof SortedSet) return value
    const created = new SortedSet()
    this.entries.set(key, { value: created, expiresAt: Number.POSITIVE_INFINITY })
    return created
  }
}
