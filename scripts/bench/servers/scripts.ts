/**
 * What the reference servers decide in Redis, as small as the two rules can be: a sliding window of an hour and of a day for each
 * address, and a slot or a place in the queue. There are no tickets that can be given back, no leases that anybody renews, no shares.
 */
import type { Redis } from "ioredis"
import { limits } from "../support/limits.ts"

/** Key: the address. Arguments: units of an hour and of a day. Answers 0 when it took one, else the seconds until there is one again. */
export const LIMIT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 86400000000)
local day = redis.call('ZCARD', KEYS[1])
local function refused(most, window)
  local oldest = redis.call('ZRANGE', KEYS[1], day - most, day - most, 'WITHSCORES')
  return math.max(1, math.ceil((oldest[2] + window - now) / 1000000))
end
if day >= tonumber(ARGV[2]) then return refused(tonumber(ARGV[2]), 86400000000) end
if redis.call('ZCOUNT', KEYS[1], now - 3600000000, '+inf') >= tonumber(ARGV[1]) then
  return refused(tonumber(ARGV[1]), 3600000000)
end
redis.call('ZADD', KEYS[1], now, now)
if day == 0 then redis.call('PEXPIRE', KEYS[1], 86400000) end
return 0`

/** Keys: slots, queue, counter. Arguments: slots, the length of a lease (ms), the id. Answers the place in the queue, or 0 for a slot. */
export const ADMIT = `
local waiting = redis.call('ZCARD', KEYS[2])
if waiting == 0 then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[1]) then
    redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
    return 0
  end
end
redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[3]), ARGV[3])
return waiting + 1`

export const SLOTS = 1
export const LEASE_MILLIS = 7_200_000
export const CALLER = "ref:caller:"
export const QUEUE = ["ref:slots", "ref:queue", "ref:counter"] as const

/** Both rules answer with a number. */
export type Done = (error: Error | null | undefined, answer: number) => void

/** The answers of `LIMIT` and `ADMIT`. */
export interface Decisions {
  readonly limit: (caller: string, done: Done) => void
  readonly admit: (id: string, done: Done) => void
}

/** By ioredis. */
export const byIoredis = async (redis: Redis): Promise<Decisions> => {
  const limit = String(await redis.script("LOAD", LIMIT))
  const admit = String(await redis.script("LOAD", ADMIT))
  const answered = (done: Done) => (error: Error | null | undefined, answer: unknown) => done(error, Number(answer))
  return {
    limit: (caller, done) => redis.evalsha(limit, 1, CALLER + caller, limits.hourly, limits.daily, answered(done)),
    admit: (id, done) => redis.evalsha(admit, QUEUE.length, ...QUEUE, SLOTS, LEASE_MILLIS, id, answered(done)),
  }
}

/** The same, awaited. */
export const awaited = ({ admit, limit }: Decisions) => {
  const promised = (send: (done: Done) => void): Promise<number> =>
    new Promise((resolve, reject) => send((error, answer) => (error ? reject(error) : resolve(answer))))
  return {
    limit: (caller: string) => promised((done) => limit(caller, done)),
    admit: (id: string) => promised((done) => admit(id, done)),
  }
}
