/**
 * The commands of the store that a rule may use, named and behaving as in Redis. `MemoryDb` has them for the memory store,
 * `redis/commands.ts` for Redis. A score is a whole number: a time in ms since 1970, or a counter.
 */
export interface Db {
  /** The store's own time as it carries out the step (ms since 1970); a step's `now` is when it was sent. */
  time(): number
  get(key: string): string | undefined
  /** Keeps a text for so long (ms). */
  set(key: string, value: string, lifetime: number): void
  hget(key: string, field: string): string | undefined
  /** Several fields, in their order; an empty text where there is none. */
  hgetMany(key: string, fields: ReadonlyArray<string>): ReadonlyArray<string>
  hset(key: string, field: string, value: string): void
  /** Sets several fields: field, value, field, value … */
  hsetMany(key: string, fieldsAndValues: ReadonlyArray<string>): void
  hdel(key: string, field: string): void
  /** Adds to a field that is a whole number; answers the sum. */
  hincrby(key: string, field: string, by: number): number
  zadd(key: string, score: number, member: string): void
  /** Adds several members: score, member, score, member … */
  zaddMany(key: string, scoresAndMembers: ReadonlyArray<number | string>): void
  /** Says whether the member was there. */
  zrem(key: string, member: string): boolean
  zscore(key: string, member: string): number | undefined
  /** The place of a member, from 0. */
  zrank(key: string, member: string): number | undefined
  zcard(key: string): number
  /** Members by rank: `count` of them from the rank `first` on. */
  zrange(key: string, first: number, count: number): ReadonlyArray<string>
  /** Members with `min <= score <= max`, `count` of them from the place `first` of these on. */
  zrangebyscore(key: string, min: number, max: number, count: number, first?: number): ReadonlyArray<string>
  /** The first member behind this one, by bytes, of a set whose scores are all 0. */
  zlexAfter(key: string, member: string): string | undefined
  /** How many members have at least this score. */
  zcountFrom(key: string, min: number): number
  /** Removes members with `min <= score <= max`; answers how many. */
  zremrangebyscore(key: string, min: number, max: number): number
  /** Removes all but the `kept` members with the highest scores. */
  zkeepLast(key: string, kept: number): void
  del(key: string): void
  pexpire(key: string, millis: number): void
  publish(channel: string, message: string): void
}
