/**
 * Who asks most, whom the gates have refused lately, and the addresses that operators block. Each instance reports what it has seen every
 * few seconds, at a bounded cost, and learns of the blocks by the same step when they have changed.
 *
 * Keys: blocks (hash: address → JSON; `version`: a counter) · asked, refused (zset: address by how often it has asked, and how often it was
 * refused, in one period; each period has a pair of keys) · latest (zset: a refusal, JSON, by its time; one of each campaign, and one of the
 * requests that name none)
 */
import type { Db } from "../../store/rules/db.ts"
import { decode, encode, isNumber, isObject, isText, namesIn, numberOf, textOf } from "../../store/rules/native.ts"

/** The length of a period (ms), and how many are shown: one hour in total. */
export const PERIOD_MILLIS = 600_000
export const PERIODS = 6
/** How long a period and the latest refusals are kept (ms). */
const PERIOD_KEPT_MILLIS = 4_200_000
/** The most addresses that a period keeps: those with the highest counts. */
const ADDRESSES_MAX = 500
/** The most refusals that are kept of each campaign, so that one with many does not hide those of another. */
export const LATEST_MAX = 100
/** The most addresses that may be blocked at a time. */
export const BLOCKS_MAX = 300
/** The field of the counter that changes with the blocks; no address has this name. */
const VERSION = "version"

export interface CallersReport {
  /** how often each address has asked, and has been refused, since the last report */
  readonly asked: { readonly [address: string]: number }
  readonly refused: { readonly [address: string]: number }
  /** the refusals since, JSON, oldest first: those of each campaign that has any */
  readonly latest: ReadonlyArray<ReadonlyArray<string>>
  /** the version of the blocks that the instance knows */
  readonly knows: number
}

export interface Block {
  readonly address: string
  /** when it ends by itself (ms since 1970); 0 for never */
  readonly until: number
  /** when it was made */
  readonly at: number
  /** the operator */
  readonly by: string
}

export interface KnownBlocks {
  readonly version: number
  readonly blocks?: ReadonlyArray<Block>
}

const blocksIn = (db: Db, key: string, now: number): ReadonlyArray<Block> => {
  const all = db.hgetall(key)
  const found: Array<Block> = []
  for (let i = 0; i + 1 < all.length; i += 2) {
    const address = all[i] ?? ""
    const block = decode(all[i + 1] ?? "")
    if (address !== VERSION && isObject(block) && isNumber(block.until)) {
      if (block.until === 0 || block.until > now) {
        const at = isNumber(block.at) ? block.at : 0
        found.push({ address, until: block.until, at, by: isText(block.by) ? block.by : "" })
      } else db.hdel(key, address)
    }
  }
  return found
}

const knownBlocks = (db: Db, key: string, now: number): KnownBlocks => {
  const version = numberOf(db.hget(key, VERSION))
  const blocks = blocksIn(db, key, now)
  return blocks.length === 0 ? { version } : { version, blocks }
}

const addCounts = (db: Db, key: string, counts: { readonly [address: string]: number }): void => {
  const names = namesIn(counts)
  if (names.length === 0) return
  for (const name of names) db.zadd(key, (db.zscore(key, name) ?? 0) + (counts[name] ?? 0), name)
  db.zkeepLast(key, ADDRESSES_MAX)
  db.pexpire(key, PERIOD_KEPT_MILLIS)
}

/**
 * Adds what an instance has seen. Answers with the blocks where they are not those that it knows. Keys: blocks, the pair of the period, and
 * of each list in `latest` the key of its campaign.
 */
export const reportCallers = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { asked, knows, latest, refused }: CallersReport,
): KnownBlocks => {
  const blocks = keys[0] ?? ""
  addCounts(db, keys[1] ?? "", asked)
  addCounts(db, keys[2] ?? "", refused)
  for (let i = 0; i < latest.length; i++) {
    const key = keys[3 + i] ?? ""
    for (const each of latest[i] ?? []) db.zadd(key, now, each)
    db.zkeepLast(key, LATEST_MAX)
    db.pexpire(key, PERIOD_KEPT_MILLIS)
  }
  const version = numberOf(db.hget(blocks, VERSION))
  return version === knows ? { version } : knownBlocks(db, blocks, now)
}

/** The latest refusals of these keys, oldest first of each. */
export const latestOf = (db: Db, keys: ReadonlyArray<string>): { readonly latest?: ReadonlyArray<string> } => {
  const latest: Array<string> = []
  for (const key of keys) for (const each of db.zrange(key, 0, LATEST_MAX)) latest.push(each)
  return latest.length === 0 ? {} : { latest }
}

export interface Callers extends KnownBlocks {
  /** an address and a count, one after the other, of each period */
  readonly asked?: ReadonlyArray<string>
  readonly refused?: ReadonlyArray<string>
}

const highest = (db: Db, key: string, count: number, into: Array<string>): void => {
  const first = Math.max(0, db.zcard(key) - count)
  const names = db.zrange(key, first, count)
  const scores = db.zscoresByRank(key, first, count)
  for (let i = 0; i < names.length; i++) {
    into.push(names[i] ?? "")
    into.push(textOf(scores[i] ?? 0))
  }
}

/** The addresses that have asked most in the periods of the keys, and the blocks. Keys: blocks, and the pair of each period. */
export const callersOf = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { addresses }: { readonly addresses: number },
): Callers => {
  const asked: Array<string> = []
  const refused: Array<string> = []
  for (let i = 1; i + 1 < keys.length; i += 2) {
    highest(db, keys[i] ?? "", addresses, asked)
    highest(db, keys[i + 1] ?? "", addresses, refused)
  }
  return {
    ...knownBlocks(db, keys[0] ?? "", now),
    ...(asked.length === 0 ? {} : { asked }),
    ...(refused.length === 0 ? {} : { refused }),
  }
}

/** What an operator orders: `until` is when the block ends (ms since 1970), 0 for never; absent to lift it. */
export interface BlockOrder {
  readonly address: string
  readonly by: string
  readonly until?: number
}

/** `full`: as many are blocked as may be. `already`: there was no such block to lift. */
export interface Ordered extends KnownBlocks {
  readonly result: "done" | "already" | "full"
}

/** Blocks an address, or lifts its block. */
export const orderBlock = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { address, by, until }: BlockOrder,
): Ordered => {
  const key = keys[0] ?? ""
  const before = blocksIn(db, key, now)
  const is = db.hget(key, address) !== undefined
  const result = until === undefined ? (is ? "done" : "already") : !is && before.length >= BLOCKS_MAX ? "full" : "done"
  if (result === "done") {
    if (until === undefined) db.hdel(key, address)
    else db.hset(key, address, encode({ until, at: now, by }))
    db.hincrby(key, VERSION, 1)
  }
  return { result, ...knownBlocks(db, key, now) }
}

/** What is forgotten of an address, or found; its blocks are kept, since an operator has ordered them. */
export interface ForgottenSeen {
  /** counts of periods, and refusals */
  readonly seen: number
  readonly blocks: number
}

/** Keys: blocks, the lists of refusals (so many as `lists` says), then the pairs of all periods. */
export const forgetSeen = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  {
    addresses,
    lists,
    remove,
  }: { readonly addresses: ReadonlyArray<string>; readonly lists: number; readonly remove?: true },
): ForgottenSeen => {
  const found = { seen: 0, blocks: 0 }
  for (const address of addresses) {
    if (address !== VERSION && db.hget(keys[0] ?? "", address) !== undefined) found.blocks++
    for (let i = 1 + lists; i < keys.length; i++) {
      const key = keys[i] ?? ""
      if (db.zscore(key, address) !== undefined) {
        found.seen++
        if (remove === true) db.zrem(key, address)
      }
    }
  }
  for (let i = 1; i <= lists; i++) {
    const key = keys[i] ?? ""
    for (const text of db.zrange(key, 0, LATEST_MAX)) {
      const refusal = decode(text)
      let isOf = false
      for (const address of addresses) if (isObject(refusal) && refusal.address === address) isOf = true
      if (isOf) {
        found.seen++
        if (remove === true) db.zrem(key, text)
      }
    }
  }
  return found
}
