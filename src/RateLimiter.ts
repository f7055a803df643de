/**
 * Hour, day and concurrent budgets of one caller, taken together or not at all in one step of the store, given back by
 * token. Windows slide exactly: a request counts until one hour, or one day, after its moment.
 */
import { Context, Effect, Layer } from "effect"
import { type LimitState, RateLimited, type StoreUnavailable, stackless } from "./Session.ts"
import { Settings } from "./Settings.ts"
import { type Script, Store } from "./Store.ts"
import { integer, list } from "./store/reply.ts"

const HOUR = 3_600_000
const DAY = 86_400_000
/** A concurrent unit that nobody gave back is free again after this time; longer than any wait and call. */
export const HOLD_MILLIS = DAY
/** When to try again while too many of one's own calls run: their end cannot be foretold. */
const CONCURRENT_RETRY_SECONDS = 30

/**
 * Takes one unit of every budget, or of none.
 *
 * KEYS 1 log (zset, token by time) · 2 held (zset, token by deadline)
 * ARGV 1 now · 2 token · 3 hourly · 4 daily · 5 concurrent (0 is no limit) · 6 held until
 * Reply `[taken, hour used, hour reset, day used, day reset, concurrent used]`, used after the taking; a reset is the time
 * (ms) when the budget has a unit more, or 0
 */
const take: Script = {
  name: "limit.take",
  numberOfKeys: 2,
  lua: `-- voicegate limit.take
local LOG, HELD = KEYS[1], KEYS[2]
local now, token = tonumber(ARGV[1]), ARGV[2]
local hourly, daily, concurrent, until_ = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local function int(n) return string.format('%.0f', n) end
redis.call('ZREMRANGEBYSCORE', LOG, '-inf', int(now - ${DAY}))
local day = redis.call('ZCARD', LOG)
local hour = redis.call('ZCOUNT', LOG, '(' .. int(now - ${HOUR}), '+inf')
local held = 0
if concurrent > 0 then
  redis.call('ZREMRANGEBYSCORE', HELD, '-inf', int(now))
  held = redis.call('ZCARD', HELD)
end
local taken = 1
if (hourly > 0 and hour >= hourly) or (daily > 0 and day >= daily) or (concurrent > 0 and held >= concurrent) then taken = 0 end
if taken == 1 then
  if hourly > 0 or daily > 0 then
    redis.call('ZADD', LOG, int(now), token)
    redis.call('PEXPIRE', LOG, ${DAY})
    day = day + 1
    hour = hour + 1
  end
  if concurrent > 0 then
    redis.call('ZADD', HELD, until_, token)
    redis.call('PEXPIRE', HELD, ${HOLD_MILLIS})
    held = held + 1
  end
end
local function reset(window, limit, used)
  if limit == 0 or used == 0 then return 0 end
  local skip = math.max(used - limit, 0)
  local oldest = redis.call('ZRANGEBYSCORE', LOG, '(' .. int(now - window), '+inf', 'WITHSCORES', 'LIMIT', skip, 1)
  return tonumber(oldest[2]) + window
end
return {taken, hour, int(reset(${HOUR}, hourly, hour)), day, int(reset(${DAY}, daily, day)), held}
`,
  memory: (db, keys, args) => {
    const [log = "", held = ""] = keys
    const [now = 0, , hourly = 0, daily = 0, concurrent = 0, until = 0] = args.map(Number)
    const token = args[1] ?? ""
    db.zremrangebyscore(log, Number.NEGATIVE_INFINITY, now - DAY)
    let day = db.zcard(log)
    let hour = db.zcountFrom(log, now - HOUR + 1)
    let holding = 0
    if (concurrent > 0) {
      db.zremrangebyscore(held, Number.NEGATIVE_INFINITY, now)
      holding = db.zcard(held)
    }
    const taken = !(
      (hourly > 0 && hour >= hourly) ||
      (daily > 0 && day >= daily) ||
      (concurrent > 0 && holding >= concurrent)
    )
    if (taken) {
      if (hourly > 0 || daily > 0) {
        db.zadd(log, now, token)
        db.pexpire(log, DAY)
        day++
        hour++
      }
      if (concurrent > 0) {
        db.zadd(held, until, token)
        db.pexpire(held, HOLD_MILLIS)
        holding++
      }
    }
    const reset = (window: number, limit: number, used: number): number => {
      if (limit === 0 || used === 0) return 0
      const skip = Math.max(used - limit, 0)
      const oldest = db.zrangebyscore(log, now - window + 1, Number.POSITIVE_INFINITY, 1, skip)[0]
      return (oldest === undefined ? 0 : (db.zscore(log, oldest) ?? 0)) + window
    }
    return [taken ? 1 : 0, hour, String(reset(HOUR, hourly, hour)), day, String(reset(DAY, daily, day)), holding]
  },
}

/**
 * Gives units back by token; a token that is not there changes nothing.
 *
 * KEYS as above · ARGV 1 token · 2 `refund` (all budgets) or `release` (the concurrent one)
 * Reply the number of entries removed
 */
const giveBack: Script = {
  name: "limit.giveBack",
  numberOfKeys: 2,
  lua: `-- voicegate limit.giveBack
local removed = redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[2] == 'refund' then removed = removed + redis.call('ZREM', KEYS[1], ARGV[1]) end
return removed
`,
  memory: (db, keys, args) => {
    const [log = "", held = ""] = keys
    const [token = "", kind] = args
    const released = db.zrem(held, token) ? 1 : 0
    return kind === "refund" && db.zrem(log, token) ? released + 1 : released
  },
}

/** The scripts, for the contract and differential tests. */
export const scripts = { take, giveBack }

/** Both keys of a caller, under one hash tag. */
export const keysOf = (caller: string): ReadonlyArray<string> => [`vg:{${caller}}:log`, `vg:{${caller}}:held`]

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** whether a concurrent unit is held until it is given back */
    readonly holds: boolean
    /**
     * Takes a unit of each budget of `caller` (`limitKey` of its address) in the name of `token`, which must be new.
     * Answers where the budgets stand.
     */
    readonly take: (
      caller: string,
      token: string,
    ) => Effect.Effect<ReadonlyArray<LimitState>, RateLimited | StoreUnavailable>
    /** Gives back all that the token took: the request came to nothing. Idempotent. */
    readonly refund: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
    /** Gives back the token's concurrent unit: the call is over. Idempotent. */
    readonly release: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
  }
>()("voicegate/RateLimiter") {}

const secondsUntil = (millis: number, now: number): number => Math.max(0, Math.ceil((millis - now) / 1000))

/** Limits over whatever store there is; reads `Security.RateLimit*`. */
export const layer: Layer.Layer<RateLimiter, never, Store | Settings> = Layer.effect(
  RateLimiter,
  Effect.gen(function* () {
    const store = yield* Store
    const { RateLimitHourly, RateLimitDaily, RateLimitConcurrency } = (yield* Settings).Security
    const unlimited = RateLimitHourly === 0 && RateLimitDaily === 0 && RateLimitConcurrency === 0

    const limitStates = (reply: ReadonlyArray<number>, now: number): ReadonlyArray<LimitState> => {
      const [, hour = 0, hourReset = 0, day = 0, dayReset = 0, held = 0] = reply
      const states: Array<LimitState> = []
      const add = (name: LimitState["name"], quota: number, seconds: number, used: number, reset: number): void => {
        if (quota === 0) return
        states.push({
          name,
          quota,
          windowSeconds: seconds,
          remaining: Math.max(0, quota - used),
          resetSeconds: reset,
        })
      }
      add("hour", RateLimitHourly, HOUR / 1000, hour, secondsUntil(hourReset, now))
      add("day", RateLimitDaily, DAY / 1000, day, secondsUntil(dayReset, now))
      add("concurrent", RateLimitConcurrency, 0, held, held === 0 ? 0 : CONCURRENT_RETRY_SECONDS)
      return states
    }

    const refuse = (limits: ReadonlyArray<LimitState>): RateLimited => {
      // the budget that stays empty the longest decides when to try again
      const [limit, resetSeconds] = limits
        .filter((state) => state.remaining === 0)
        .reduce<[LimitState["name"], number]>(
          (longest, state) => (state.resetSeconds > longest[1] ? [state.name, state.resetSeconds] : longest),
          ["concurrent", 0],
        )
      return stackless(
        () =>
          new RateLimited({
            limit,
            retryAfterSeconds: Math.max(1, resetSeconds),
            limits,
            message:
              limit === "concurrent"
                ? "You already have as many calls open as are allowed at once."
                : `You have used all your calls of this ${limit}.`,
          }),
      )
    }

    return RateLimiter.of({
      holds: RateLimitConcurrency > 0,
      take: (caller, token) => {
        if (unlimited) return Effect.succeed([])
        return Effect.flatMap(store.now, (now) =>
          Effect.flatMap(
            store.run(take, keysOf(caller), [
              now,
              token,
              RateLimitHourly,
              RateLimitDaily,
              RateLimitConcurrency,
              now + HOLD_MILLIS,
            ]),
            (reply) => {
              const figures = list(reply).map(integer)
              const limits = limitStates(figures, now)
              return figures[0] === 1 ? Effect.succeed(limits) : Effect.fail(refuse(limits))
            },
          ),
        )
      },
      refund: (caller, token) => Effect.asVoid(store.run(giveBack, keysOf(caller), [token, "refund"])),
      release: (caller, token) => Effect.asVoid(store.run(giveBack, keysOf(caller), [token, "release"])),
    })
  }),
)
