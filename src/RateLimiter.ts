/**
 * Budgets of one caller: calls an hour, calls a day, tickets open at once. They are taken together or not at all in one step of
 * the store, and given back by token. Windows slide exactly: a unit counts until one hour, or one day, after its moment.
 */
import { Context, Effect, Layer, Result, Schema } from "effect"
import { boundedCache } from "./bounded-cache.ts"
import type { Settlement, SettlementKind } from "./FifoQueue.ts"
import * as messages from "./messages.ts"
import { usage } from "./queue/answers.ts"
import type { GiveBackContext } from "./rules/limits/give-back.ts"
import type { Take, Usage } from "./rules/limits/take.ts"
import { type Budgets, DAY, HOUR } from "./rules/limits/units.ts"
import { runs } from "./rules/rules.ts"
import { type LimitState, RateLimited, type StoreUnavailable, stackless } from "./Session.ts"
import { Settings } from "./Settings.ts"
import { Store } from "./Store.ts"
import { ruleOf } from "./store/rule.ts"

/** A unit whose ticket was never said to be over is no longer open after this time (ms). */
export const HOLD_MILLIS: number = DAY

/** Both keys of a caller, under one hash tag: its units, and the tokens (by time) of what was given back in the last hour. */
export const keysOf = (caller: string): readonly [log: string, refunds: string] => [
  `vg:{${caller}}:log`,
  `vg:{${caller}}:refunds`,
]

/**
 * A refusal is repeated without asking the store while all its figures hold, and at most for this time: a unit that
 * was given back at another instance, whose message was lost, counts again after it.
 */
const REPEAT_MILLIS = 1_000
/** The most callers whose refusals are remembered; of more, the store is asked. */
const MOST_REFUSED = 10_000
/** Where instances tell each other whose units were given back: the caller's first key. */
const REFUNDS_CHANNEL = "vg:refunds"
/** When to try again while too many of one's own tickets are open: their end cannot be foretold. */
const CONCURRENT_RETRY_SECONDS = 30
const NO_KEYS: ReadonlyArray<string> = []

const { Boolean: Flag, Finite, Struct, optionalKey } = Schema

/** How the store is asked for units, and to take them back. */
export const rules = {
  take: ruleOf(
    "limits.take",
    runs["limits.take"],
    Struct({
      taken: Flag,
      usage: optionalKey(usage),
    }),
    true,
  ),
  giveBack: ruleOf("limits.giveBack", runs["limits.giveBack"], Finite),
}

/** What a taking asks of the store, for a step that does more with it. */
export interface Taking {
  /** where the caller's units are */
  readonly log: string
  /** the same object every time */
  readonly budgets: Budgets
  readonly take: Take
  /** Why nothing was taken. */
  readonly refusal: (usage: Usage) => RateLimited
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** whether there is a limit of open tickets, so that the end of each must be told */
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
     * A refusal of this caller that is known to hold still, from this instance's memory alone; undefined where nothing is
     * known, which does not say that a unit is free. Asks the store nothing and takes nothing.
     */
    readonly refusal: (caller: string) => Effect.Effect<RateLimited | undefined>
    /**
     * Gives back all that the token took: the call did not come about. Once `Security.RefundsPerHour` were given back in an
     * hour, only the open ticket is. Idempotent.
     */
    readonly refund: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
    /** The token's ticket is open no more; what it took stays used. Idempotent. */
    readonly release: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
    /** The same after a missed turn, which takes units until it has cost `Security.MissedTurnCost`. Idempotent. */
    readonly missed: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
  }
>()("voicegate/RateLimiter") {}

/**
 * What a taking asks of the store when nobody wants to know where the budgets stand; undefined where there is no limit. A refusal that is
 * known is repeated.
 */
export type MakeTaking = (caller: string, token: string, now: number) => Result.Result<Taking | undefined, RateLimited>

const takings = new WeakMap<RateLimiter["Service"], { readonly taking: MakeTaking; readonly store: Store["Service"] }>()

/** How the limiter asks this store for units; undefined for a limiter that is not this package's, or over another store. */
export const takingOf = (limiter: RateLimiter["Service"], store: Store["Service"]): MakeTaking | undefined => {
  const found = takings.get(limiter)
  return found?.store === store ? found.taking : undefined
}

const secondsUntil = (millis: number, now: number): number => Math.max(0, Math.ceil((millis - now) / 1000))

/** Limits over whatever store there is; reads `Security.RateLimit*`, `.RefundsPerHour` and `.MissedTurnCost`. */
export const layer: Layer.Layer<RateLimiter, never, Store | Settings> = Layer.effect(
  RateLimiter,
  Effect.gen(function* () {
    const store = yield* Store
    const { MissedTurnCost, RateLimitConcurrency, RateLimitDaily, RateLimitHourly, RefundsPerHour } = (yield* Settings)
      .Security
    const counted = RateLimitHourly > 0 || RateLimitDaily > 0
    /** a missed turn never fills a log to more than this: what a day can take */
    const fullest = RateLimitDaily > 0 ? RateLimitDaily : RateLimitHourly * (DAY / HOUR)
    const unlimited = !counted && RateLimitConcurrency === 0

    const budgets: Budgets = {
      hourly: RateLimitHourly,
      daily: RateLimitDaily,
      concurrent: RateLimitConcurrency,
    }
    const giveBack: GiveBackContext = {
      refundsPerHour: RefundsPerHour,
      missedUnits: counted ? MissedTurnCost - 1 : 0,
      fullest,
      concurrent: RateLimitConcurrency,
      counted,
      channel: REFUNDS_CHANNEL,
    }

    const limitStates = ({ day, dayReset, hour, hourReset, open }: Usage, now: number): ReadonlyArray<LimitState> => {
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
      add("concurrent", RateLimitConcurrency, 0, open, open === 0 ? 0 : CONCURRENT_RETRY_SECONDS)
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
            message: messages.rateLimited(limit),
          }),
      )
    }

    /** What a refusal said, by the caller's first key, and how long it holds. */
    const refused = boundedCache<{ readonly usage: Usage; readonly until: number }>(MOST_REFUSED)
    yield* store.subscribe(REFUNDS_CHANNEL, (log) => refused.delete(log))

    /** Until when a refusal's figures hold: no unit of any budget comes back by itself any earlier. */
    const holdsUntil = ({ dayReset, hourReset, openReset }: Usage): number =>
      Math.min(...[hourReset, dayReset, openReset].filter((reset) => reset > 0))

    const settle =
      (kind: SettlementKind) =>
      (caller: string, token: Settlement["ticket"]): Effect.Effect<void, StoreUnavailable> => {
        if (unlimited) return Effect.void
        const ownKeys = keysOf(caller)
        return Effect.flatMap(store.now, (now) =>
          store.run(rules.giveBack, { keys: ownKeys, now, context: giveBack, call: { token, kind } }),
        ).pipe(Effect.andThen(Effect.sync(() => void refused.delete(ownKeys[0]))))
      }

    /** What a caller was refused for, while that holds; `log` is the caller's first key. */
    const known = (log: string, now: number): RateLimited | undefined => {
      const last = refused.get(log)
      return last !== undefined && now < last.until ? refuse(limitStates(last.usage, now)) : undefined
    }

    const asking = (
      caller: string,
      token: string,
      now: number,
      omitUsage: boolean,
    ): Result.Result<Taking | undefined, RateLimited> => {
      if (unlimited) return Result.succeed(undefined)
      const [log] = keysOf(caller)
      const repeated = known(log, now)
      if (repeated !== undefined) return Result.fail(repeated)
      return Result.succeed({
        log,
        budgets,
        take: omitUsage ? { token, omitUsage } : { token },
        refusal: (usage) => {
          refused.set(log, { usage, until: Math.min(holdsUntil(usage), now + REPEAT_MILLIS) })
          return refuse(limitStates(usage, now))
        },
      })
    }

    const limiter = RateLimiter.of({
      holds: RateLimitConcurrency > 0,
      refusal: (caller) => Effect.map(store.now, (now) => known(keysOf(caller)[0], now)),
      take: (caller, token) =>
        Effect.flatMap(store.now, (now) => {
          const asked = asking(caller, token, now, false)
          if (Result.isFailure(asked)) return Effect.fail(asked.failure)
          if (asked.success === undefined) return Effect.succeed([])
          const { log, refusal, take } = asked.success
          return Effect.flatMap(
            store.run(rules.take, { keys: NO_KEYS, ownKeys: [log], now, context: budgets, call: take }),
            ({ taken, usage }) => {
              if (usage === undefined) return Effect.die(new TypeError("limits.take did not say what is used"))
              return taken ? Effect.succeed(limitStates(usage, now)) : Effect.fail(refusal(usage))
            },
          )
        }),
      refund: settle("refund"),
      release: settle("release"),
      missed: settle("missed"),
    })
    takings.set(limiter, { taking: (caller, token, now) => asking(caller, token, now, true), store })
    return limiter
  }),
)
