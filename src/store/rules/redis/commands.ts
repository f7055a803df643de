/**
 * The commands of `../db.ts` for Redis's Lua. Each is a plain function: `s.db.hget(key, field)` in a rule becomes
 * `hget(key, field)` in its Lua (`scripts/rules.ts`). A missing value is `false` in Redis's Lua, and `nil` here.
 */
import { numberOf, textOf } from "./native.ts"

const call = redis.call

const scoreOf = (value: number): string => {
  if (value === math.huge) return "+inf"
  return value === -math.huge ? "-inf" : textOf(value)
}

export const time = (): number => {
  const [seconds, micros] = call("TIME") as [string, string]
  return (tonumber(seconds) ?? 0) * 1000 + Math.floor((tonumber(micros) ?? 0) / 1000)
}

export const get = (key: string): string | undefined => (call("GET", key) || undefined) as string | undefined

export const set = (key: string, value: string, lifetime: number): void => {
  call("SET", key, value, "PX", lifetime)
}

export const hget = (key: string, field: string): string | undefined =>
  (call("HGET", key, field) || undefined) as string | undefined

export const hgetNumbers = (key: string, fields: ReadonlyArray<string>): ReadonlyArray<number> => {
  const found = call("HMGET", key, ...unpack(fields)) as Array<string | false | number>
  for (let i = 0; i < fields.length; i++) {
    const stored = found[i] as string | false
    found[i] = stored === false ? 0 : numberOf(stored)
  }
  return found as ReadonlyArray<number>
}

export const hgetall = (key: string): ReadonlyArray<string> => call("HGETALL", key) as ReadonlyArray<string>

export const hscan = (
  key: string,
  cursor: string,
  count: number,
): readonly [next: string, fieldsAndValues: ReadonlyArray<string>] =>
  call("HSCAN", key, cursor, "COUNT", count) as readonly [string, ReadonlyArray<string>]

export const hset = (key: string, field: string, value: string): void => {
  call("HSET", key, field, value)
}

export const hsetMany = (key: string, fieldsAndValues: ReadonlyArray<string>): void => {
  call("HSET", key, ...unpack(fieldsAndValues))
}

export const hdel = (key: string, field: string): void => {
  call("HDEL", key, field)
}

export const hincrby = (key: string, field: string, by: number): number => call("HINCRBY", key, field, by) as number

export const zadd = (key: string, score: number, member: string): void => {
  call("ZADD", key, textOf(score), member)
}

export const zaddMany = (key: string, scoresAndMembers: ReadonlyArray<string | number>): void => {
  call("ZADD", key, ...unpack(scoresAndMembers))
}

export const zrem = (key: string, member: string): boolean => call("ZREM", key, member) === 1

/**
 * A score that is not a finite number was written by hand; it is clamped to the smallest or largest exact whole number.
 */
const MAX_SCORE = 2 ** 53

export const zscore = (key: string, member: string): number | undefined => {
  const score = call("ZSCORE", key, member)
  if (score === false) return undefined
  return Math.max(-MAX_SCORE, Math.min(MAX_SCORE, tonumber(score) ?? 0))
}

export const zrank = (key: string, member: string): number | undefined =>
  (call("ZRANK", key, member) || undefined) as number | undefined

export const zcard = (key: string): number => call("ZCARD", key) as number

export const zrange = (key: string, first: number, count: number): ReadonlyArray<string> => {
  // an end of -1 would return all members
  if (count < 1) return []
  return call("ZRANGE", key, first, count === math.huge ? -1 : first + count - 1) as ReadonlyArray<string>
}

export const zscoresByRank = (key: string, first: number, count: number): ReadonlyArray<number> => {
  const scores: Array<number> = []
  if (count < 1) return scores
  const found = call("ZRANGE", key, first, first + count - 1, "WITHSCORES") as ReadonlyArray<string>
  for (let i = 1; i < found.length; i += 2) scores.push(tonumber(found[i] as string) ?? 0)
  return scores
}

export const zrangebyscore = (
  key: string,
  min: number,
  max: number,
  count: number,
  first?: number,
): ReadonlyArray<string> =>
  call(
    "ZRANGEBYSCORE",
    key,
    scoreOf(min),
    scoreOf(max),
    "LIMIT",
    first ?? 0,
    count === math.huge ? -1 : count,
  ) as ReadonlyArray<string>

export const zlexAfter = (key: string, member: string): string | undefined =>
  (call("ZRANGEBYLEX", key, `(${member}`, "+", "LIMIT", 0, 1) as ReadonlyArray<string>)[0]

export const zcountFrom = (key: string, min: number): number => call("ZCOUNT", key, scoreOf(min), "+inf") as number

export const zremrangebyscore = (key: string, min: number, max: number): number =>
  call("ZREMRANGEBYSCORE", key, scoreOf(min), scoreOf(max)) as number

export const zkeepLast = (key: string, kept: number): void => {
  call("ZREMRANGEBYRANK", key, 0, -kept - 1)
}

export const del = (key: string): void => {
  call("DEL", key)
}

export const pexpire = (key: string, millis: number): void => {
  call("PEXPIRE", key, millis)
}

/** The channel has the prefix of the keys: what they have before `vg:`. */
export const publish = (channel: string, message: string): void => {
  const key = KEYS[0] ?? ""
  const [own] = string.find(key, "vg:", 1, true)
  call("PUBLISH", string.sub(key, 1, (own ?? 1) - 1) + channel, message)
}
