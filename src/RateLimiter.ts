/**
 * Hour, day and concurrent budgets of one caller, taken together or not at all in one step of the store, given back by
 * token. Windows slide exactly: a request counts until one hour, or one day, after its moment.
 */
import { Context, Effect, Layer, Result } from "effect"
import { LRUCache } from "lru-cache"
import { type LimitState, RateLimited, type StoreUnavailable, stackless } from "./Session.ts"
import { Settings } from "./Settings.ts"
import { type Reply, type Script, Store } from "./Store.ts"
import { integer, list } from "./store/reply.ts"

const HOUR = 3_600_000
const DAY = 86_400_000
/** A concurrent unit that nobody gave back is free again after this time; longer than any wait and call. */
export const HOLD_MILLIS = DAY
/**
 * A refusal is repeated without asking the store while all its figures hold, and at most for this time: a unit that
 * was given back at another instance, whose message was lost, counts again after it.
 */
const REPEAT_MILLIS = 1_000
/** The most callers whose refusals are remembered; of more, the store is asked. */
const MOST_REFUSED = 10_000
/** Where instances tell each other whose units were given back: the caller's first key. */
const REFUNDS_CHANNEL = "vg:refunds"
/** When to try again while too many of one's own calls run: their end cannot be foretold. */
const CONCURRENT_RETRY_SECONDS = 30

/**
 * Takes one unit of every budget, or of none.
 *
 * KEYS 1 log (zset, token by time) · 2 held (zset, token by deadline); then those of each further call
 * ARGV 1 now · 2 token · 3 hourly · 4 daily · 5 concurrent (0 is no limit) · 6 held until · 7 `brief`, or empty; then each
 * further call's token
 * Reply of each `[taken, hour used, hour reset, day used, day reset, concurrent used]`, used after the taking; a reset is the
 * time (ms) when the budget has a unit more, or 0. When brief and taken, `[1]`
 */
const take: Script = {
  name: "limit.take",
  numberOfKeys: 2,
  joins: { own: [1], times: [0, 5], ownKeys: 2 },
  lua: `-- voicegate limit.take
local call = redis.call
local now, until_ = tonumber(ARGV[1]), ARGV[6]
local hourly, daily, concurrent, brief = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[7] == 'brief'
local function int(n) return string.format('%.0f', n) end
local at, hour_ago, day_ago = int(now), int(now - ${HOUR}), int(now - ${DAY})
local function reset(log, window, limit, used)
  if limit == 0 or used == 0 then return '0' end
  -- the only one is the one just taken
  if used == 1 and log == nil then return int(now + window) end
  local oldest = call('ZRANGEBYSCORE', log, '(' .. int(now - window), '+inf', 'WITHSCORES', 'LIMIT', math.max(used - limit, 0), 1)
  return int(tonumber(oldest[2]) + window)
end
local function one(LOG, HELD, token)
  local day, hour, held = call('ZCARD', LOG), 0, 0
  local fresh = day == 0
  if concurrent > 0 then
    call('ZREMRANGEBYSCORE', HELD, '-inf', at)
    held = call('ZCARD', HELD)
  end
  local busy = concurrent > 0 and held >= concurrent
  -- what is over counts here too: where even so there is room, nobody need look closer
  local roomy = brief and not busy and (hourly == 0 or day < hourly) and (daily == 0 or day < daily)
  if not fresh and not roomy then
    day = day - call('ZREMRANGEBYSCORE', LOG, '-inf', day_ago)
    hour = call('ZCOUNT', LOG, '(' .. hour_ago, '+inf')
  end
  local taken = 1
  if (hourly > 0 and hour >= hourly) or (daily > 0 and day >= daily) or busy then taken = 0 end
  if taken == 1 then
    if hourly > 0 or daily > 0 then
      call('ZADD', LOG, at, token)
      call('PEXPIRE', LOG, ${DAY})
      day = day + 1
      hour = hour + 1
    end
    if concurrent > 0 then
      call('ZADD', HELD, until_, token)
      call('PEXPIRE', HELD, ${HOLD_MILLIS})
      held = held + 1
    end
  end
  if brief and taken == 1 then return {1} end
  local log = LOG
  if fresh then log = nil end
  return {taken, hour, reset(log, ${HOUR}, hourly, hour), day, reset(log, ${DAY}, daily, day), held}
end
local replies = {one(KEYS[1], KEYS[2], ARGV[2])}
for n = 2, #KEYS / 2 do replies[n] = one(KEYS[2 * n - 1], KEYS[2 * n], ARGV[n + 6]) end
return replies
`,
  memory: (db, keys, args) => {
    const [log = "", held = ""] = keys
    const [now = 0, , hourly = 0, daily = 0, concurrent = 0, until = 0] = args.map(Number)
    const token = args[1] ?? ""
    const brief = args[6] === "brief"
    let day = db.zcard(log)
    let hour = 0
    let holding = 0
    if (concurrent > 0) {
      db.zremrangebyscore(held, Number.NEGATIVE_INFINITY, now)
      holding = db.zcard(held)
    }
    const busy = concurrent > 0 && holding >= concurrent
    const roomy = brief && !busy && (hourly === 0 || day < hourly) && (daily === 0 || day < daily)
    if (!roomy) {
      db.zremrangebyscore(log, Number.NEGATIVE_INFINITY, now - DAY)
      day = db.zcard(log)
      hour = db.zcountFrom(log, now - HOUR + 1)
    }
    const taken = !((hourly > 0 && hour >= hourly) || (daily > 0 && day >= daily) || busy)
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
    if (brief && taken) return [1]
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
 * KEYS as above · ARGV 1 token · 2 `refund` (all budgets) or `release` (the concurrent one) · 3 the channel on which a refund
 * is told, with the first key
 * Reply the number of entries removed
 */
const giveBack: Script = {
  name: "limit.giveBack",
  numberOfKeys: 2,
  lua: `-- voicegate limit.giveBack
local removed = redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[2] == 'refund' and redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then
  removed = removed + 1
  redis.call('PUBLISH', ARGV[3], KEYS[1])
end
return removed
`,
  memory: (db, keys, args) => {
    const [log = "", held = ""] = keys
    const [token = "", kind, channel = ""] = args
    const released = db.zrem(held, token) ? 1 : 0
    if (kind !== "refund" || !db.zrem(log, token)) return released
    db.publish(channel, log)
    return released + 1
  },
}

/** How many arguments `take` has. */
export const TAKE_ARGS = 7

/** The scripts, for the contract and differential tests. */
export const scripts = { take, giveBack }

/** Both keys of a caller, under one hash tag. */
export const keysOf = (caller: string): ReadonlyArray<string> => [`vg:{${caller}}:log`, `vg:{${caller}}:held`]

/** What a taking asks of the store, for a step that does more with it. */
export interface Taking {
  readonly script: Script
  readonly keys: ReadonlyArray<string>
  readonly args: ReadonlyArray<string | number>
  /** Why nothing was taken; undefined where it was. */
  readonly refusal: (reply: Reply) => RateLimited | undefined
}

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
    /**
     * What a taking asks of the store when nobody wants to know where the budgets stand; undefined where there is no limit. A
     * refusal that is known is repeated.
     */
    readonly taking: (caller: string, token: string, now: number) => Result.Result<Taking | undefined, RateLimited>
    /**
     * A refusal of this caller that is known to hold still, from this instance's memory alone; undefined where nothing is
     * known, which does not say that a unit is free. Asks the store nothing and takes nothing.
     */
    readonly refusal: (caller: string) => Effect.Effect<RateLimited | undefined>
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

    /** What a refusal said, by the caller's first key, and how long it holds. */
    const refused = new LRUCache<string, { readonly figures: ReadonlyArray<number>; readonly until: number }>({
      max: MOST_REFUSED,
    })
    yield* store.subscribe(REFUNDS_CHANNEL, (log) => refused.delete(log))

    /**
     * Until when a refusal's figures hold: an hour or a day is used up, and no unit of either comes back earlier. When only
     * the caller's own calls are the reason, their end cannot be foretold.
     */
    const holdsUntil = ([, hour = 0, hourReset = 0, day = 0, dayReset = 0]: ReadonlyArray<number>): number => {
      const usedUp = (RateLimitHourly > 0 && hour >= RateLimitHourly) || (RateLimitDaily > 0 && day >= RateLimitDaily)
      return usedUp ? Math.min(...[hourReset, dayReset].filter((reset) => reset > 0)) : 0
    }

    const giveUnitsBack = (caller: string, token: string, kind: "refund" | "release") =>
      Effect.asVoid(store.run(giveBack, keysOf(caller), [token, kind, REFUNDS_CHANNEL]))

    /** What a caller was refused for, while that holds; `log` is the caller's first key. */
    const known = (log: string, now: number): RateLimited | undefined => {
      const last = refused.get(log)
      return last !== undefined && now < last.until ? refuse(limitStates(last.figures, now)) : undefined
    }

    const asking = (
      caller: string,
      token: string,
      now: number,
      answer: "brief" | "",
    ): Result.Result<Taking | undefined, RateLimited> => {
      if (unlimited) return Result.succeed(undefined)
      const keys = keysOf(caller)
      const [log = ""] = keys
      const repeated = known(log, now)
      if (repeated !== undefined) return Result.fail(repeated)
      return Result.succeed({
        script: take,
        keys,
        args: [now, token, RateLimitHourly, RateLimitDaily, RateLimitConcurrency, now + HOLD_MILLIS, answer],
        refusal: (reply) => {
          const figures = list(reply).map(integer)
          if (figures[0] === 1) return undefined
          refused.set(log, { figures, until: Math.min(holdsUntil(figures), now + REPEAT_MILLIS) })
          return refuse(limitStates(figures, now))
        },
      })
    }

    return RateLimiter.of({
      holds: RateLimitConcurrency > 0,
      refusal: (caller) => Effect.map(store.now, (now) => known(keysOf(caller)[0] ?? "", now)),
      taking: (caller, token, now) => asking(caller, token, now, "brief"),
      take: (caller, token) =>
        Effect.flatMap(store.now, (now) => {
          const asked = asking(caller, token, now, "")
          if (Result.isFailure(asked)) return Effect.fail(asked.failure)
          if (asked.success === undefined) return Effect.succeed([])
          const { args, keys, refusal, script } = asked.success
          return Effect.flatMap(store.run(script, keys, args), (reply) => {
            const refused = refusal(reply)
            return refused === undefined
              ? Effect.succeed(limitStates(list(reply).map(integer), now))
              : Effect.fail(refused)
          })
        }),
      refund: (caller, token) =>
        Effect.tap(giveUnitsBack(caller, token, "refund"), () =>
          Effect.sync(() => {
            refused.delete(keysOf(caller)[0] ?? "")
          }),
        ),
      release: (caller, token) => giveUnitsBack(caller, token, "release"),
    })
  }),
)
