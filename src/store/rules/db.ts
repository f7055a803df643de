/**
 * The store commands that a rule may use, named after and behaving like those of Redis. `MemoryDb` implements them for
 * the memory store, `src/store/rules/redis/commands.ts` for Redis. A score is a whole number: a time in ms since 1970, or a counter.
 */
export interface Db {
  /** The store's own time while it runs the step (ms since 1970). A step's `now` is when the step was sent. */
  time(): number
  get(key: string): string | undefined
  /** Stores a text with a lifetime (ms). */
  set(key: string, value: string, lifetime: number): void
  hget(key: string, field: string): string | undefined
  /** Several numbers, in order; 0 for a field that is missing or is not a finite number. */
  hgetNumbers(key: string, fields: ReadonlyArray<string>): ReadonlyArray<number>
  /** All fields with their values, in no order: field, value, field, value … */
  hgetall(key: string): ReadonlyArray<string>
  hset(key: string, field: string, value: string): void
  /**
   * One page of about `count` fields: the cursor of the next page, and field, value, field, value … in no order. `0` begins, and as the
   * next cursor says that this was the last page. A field that exists all the time comes at least once.
   */
  hscan(key: string, cursor: string, count: number): readonly [next: string, fieldsAndValues: ReadonlyArray<string>]
  /** Sets several fields: field, value, field, value … */
  hsetMany(key: string, fieldsAndValues: ReadonlyArray<string>): void
  hdel(key: string, field: string): void
  /** Adds to a field that holds a whole number; returns the sum. */
  hincrby(key: string, field: string, by: number): number
  zadd(key: string, score: number, member: string): void
  /** Adds several members: score, member, score, member … */
  zaddMany(key: string, scoresAndMembers: ReadonlyArray<number | string>): void
  /** True when the member existed. */
  zrem(key: string, member: string): boolean
  zscore(key: string, member: string): number | undefined
  /** The rank of a member, from 0. */
  zrank(key: string, member: string): number | undefined
  zcard(key: string): number
  /** Members by rank: `count` of them, starting at rank `first`. */
  zrange(key: string, first: number, count: number): ReadonlyArray<string>
  /** Scores by rank: `count` of them, starting at rank `first`. */
  zscoresByRank(key: string, first: number, count: number): ReadonlyArray<number>
  /** Members with `min <= score <= max`: `count` of them, starting at index `first` of those. */
  zrangebyscore(key: string, min: number, max: number, count: number, first?: number): ReadonlyArray<string>
  /** The first member after this one in byte order, in a set whose scores are all 0. */
  zlexAfter(key: string, member: string): string | undefined
  /** The number of members with at least this score. */
  zcountFrom(key: string, min: number): number
  /** Removes members with `min <= score <= max`; returns how many. */
  zremrangebyscore(key: string, min: number, max: number): number
  /** Removes all but the `kept` members with the highest scores. */
  zkeepLast(key: string, kept: number): void
  del(key: string): void
  pexpire(key: string, millis: number): void
  publish(channel: string, message: string): void
}
