/**
 * Budgets of one caller: calls per hour, calls per day, tickets open at once. One atomic step of the store takes from all of
 * them or from none; a token gives the units back. Windows slide exactly: a unit counts for one hour, or one day, after it
 * was taken.
 */
import { Context, Effect, Layer, Result, Schema } from "effect"
import { isSubject } from "../caller-names/CallerNames.ts"
import { boundedCache } from "../lib/bounded-cache.ts"
import type { CallerLimits } from "../protocol/identity.ts"
import type { LimitState, RateLimited, StoreUnavailable } from "../protocol/refusals.ts"
import { rateLimited } from "../protocol/refusals.ts"
import type { SettlementKind } from "../protocol/settlements.ts"
import { Settings, type SettingsTree } from "../settings/Settings.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import { Store } from "../store/Store.ts"
import { ForgottenUnits, type LimitName, Taken, type Usage } from "./answers.ts"
import { RateLimiter } from "./RateLimiter.ts"
import { forgetUnits } from "./rules/forget.ts"
import { type GiveBackContext, runGiveBack } from "./rules/give-back.ts"
import { exhausted, runTake } from "./rules/take.ts"
import { type Budgets, DAY, HOUR, isLimited } from "./rules/units.ts"
import { type TakeRequest, TakeStep } from "./TakeStep.ts"

/** A ticket whose end was never reported counts as open for this long (ms). */
export const HOLD_MILLIS: number = DAY

const logOf = (caller: string): string => `vg:{${caller}}:log`

/** Both keys of a caller, under one hash tag: its units, and the tokens (by time) of the refunds of the last hour. */
export const keysOf = (caller: string): readonly [log: string, refunds: string] => [
  logOf(caller),
  `vg:{${caller}}:refunds`,
]

/** The same of the limits that are only counted (`Security.Shadow`). */
const shadowKeysOf = (caller: string): readonly [log: string, refunds: string] => [
  `vg:{${caller}}:shadow`,
  `vg:{${caller}}:shadowRefunds`,
]

/** The share of a limit from which a caller is near it. */
export const NEAR_SHARE = 0.8

const nearOf = (limit: number): number => Math.ceil(NEAR_SHARE * limit)

/**
 * How long a refusal may be repeated without asking the store (ms), while all its figures hold. Bounded because another
 * instance may have given a unit back and its message may be lost.
 */
const REPEAT_MILLIS = 1_000
/** The number of callers whose refusals are remembered; for others the store is asked. */
const MAX_REMEMBERED_REFUSALS = 10_000
/** Different limits of tokens whose budgets are kept; others are made again. */
const MAX_OWN_BUDGETS = 1_000
/** Up to how many units missed turns fill the log of a subject, whose limits only its token says. */
const MOST_MISSED_UNITS = 100
/** On this channel instances announce the first key of a caller whose units were given back. */
const REFUNDS_CHANNEL = "vg:refunds"
/** Retry-After while too many tickets of the caller are open: nobody can predict when they end. */
const CONCURRENT_RETRY_SECONDS = 30
const NO_KEYS: ReadonlyArray<string> = []
/** A key as this file names it: in a store with a prefix, rules know it by its full name. */
const withoutPrefix = (key: string): string => key.slice(Math.max(0, key.indexOf("vg:")))

export const rules = {
  take: ruleOf("limits.take", runTake, Taken, { batch: true }),
  giveBack: ruleOf("limits.giveBack", runGiveBack, Schema.Finite),
  forget: ruleOf("limits.forget", runPlain(forgetUnits), ForgottenUnits),
}

const secondsUntil = (millis: number, now: number): number => Math.max(0, Math.ceil((millis - now) / 1000))

/** How long the seconds until the resets stay the same (ms). */
const millisToNextSecond = ({ dayReset, hourReset }: Usage, now: number): number => {
  const left = (reset: number): number => (reset > now ? ((reset - now - 1) % 1000) + 1 : 1000)
  return Math.min(left(hourReset), left(dayReset))
}

/** A refusal that is repeated: its figures, and its error, which is the same object until one of its seconds changes. */
interface RememberedRefusal {
  readonly budgets: Budgets
  readonly usage: Usage
  /** how long the figures hold (ms since 1970) */
  readonly until: number
  error: RateLimited | undefined
  since: number
  sameUntil: number
}

const giveBackOf = (
  { concurrent, daily, hourly }: Budgets,
  { MissedTurnCost, RefundsPerHour }: SettingsTree["Security"],
): GiveBackContext => {
  const counted = hourly > 0 || daily > 0
  return {
    refundsPerHour: RefundsPerHour,
    missedUnits: counted ? MissedTurnCost - 1 : 0,
    // missed turns fill the log of units up to this length at most: a day's budget
    fullest: daily > 0 ? daily : hourly * (DAY / HOUR),
    concurrent,
    counted,
    channel: REFUNDS_CHANNEL,
  }
}

/** The limits that are only counted; undefined for none. */
const shadowOf = ({ Shadow }: SettingsTree["Security"]): Budgets | undefined => {
  const shadow = {
    hourly: Shadow.RateLimitHourly,
    daily: Shadow.RateLimitDaily,
    concurrent: Shadow.RateLimitConcurrency,
  }
  return isLimited(shadow) ? shadow : undefined
}

/** Limits over the `Store`; reads `Security.RateLimit*`, `.Shadow`, `.RefundsPerHour` and `.MissedTurnCost`. */
export const layer: Layer.Layer<RateLimiter | TakeStep, never, Store | Settings> = Layer.effectContext(
  Effect.gen(function* () {
    const store = yield* Store
    const security = (yield* Settings).Security
    const { MissedTurnCost, RateLimitConcurrency, RateLimitDaily, RateLimitHourly } = security
    const budgetsOf = ({ day = RateLimitDaily, hour = RateLimitHourly }: CallerLimits): Budgets => ({
      hourly: hour,
      daily: day,
      concurrent: RateLimitConcurrency,
      ...(hour > 0 ? { nearHourly: nearOf(hour) } : {}),
      ...(day > 0 ? { nearDaily: nearOf(day) } : {}),
    })
    const budgets = budgetsOf({})
    const unlimited = !isLimited(budgets)
    const giveBack = giveBackOf(budgets, security)
    /** whose own limits are not known when a unit is given back: it counts for its hour and its day, whatever the settings limit */
    const giveBackOfSubject: GiveBackContext = {
      ...giveBack,
      counted: true,
      missedUnits: MissedTurnCost - 1,
      fullest: Math.max(giveBack.fullest, MOST_MISSED_UNITS),
    }
    /** the budgets of callers with limits of their own */
    const ownBudgets = boundedCache<Budgets>(MAX_OWN_BUDGETS)
    const budgetsFor = (limits: CallerLimits | undefined): Budgets => {
      if (limits === undefined || (limits.hour === undefined && limits.day === undefined)) return budgets
      const name = `${limits.hour} ${limits.day}`
      const known = ownBudgets.get(name) ?? budgetsOf(limits)
      ownBudgets.set(name, known)
      return known
    }
    const shadow = shadowOf(security)
    const shadowGiveBack = shadow === undefined ? undefined : giveBackOf(shadow, security)

    const limitStates = (
      { day, dayReset, hour, hourReset, open }: Usage,
      now: number,
      { concurrent, daily, hourly }: Budgets,
    ): ReadonlyArray<LimitState> => {
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
      add("hour", hourly, HOUR / 1000, hour, secondsUntil(hourReset, now))
      add("day", daily, DAY / 1000, day, secondsUntil(dayReset, now))
      add("concurrent", concurrent, 0, open, open === 0 ? 0 : CONCURRENT_RETRY_SECONDS)
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
      return rateLimited(limit, Math.max(1, resetSeconds), limits)
    }

    /** By the caller's first key. */
    const refused = boundedCache<RememberedRefusal>(MAX_REMEMBERED_REFUSALS)
    yield* store.subscribe(REFUNDS_CHANNEL, (log) => refused.delete(withoutPrefix(log)))

    /** How long a refusal's figures hold: until the first unit of any budget expires. */
    const holdsUntil = ({ dayReset, hourReset, openReset }: Usage): number =>
      Math.min(...[hourReset, dayReset, openReset].filter((reset) => reset > 0))

    const settle =
      (kind: SettlementKind) =>
      (caller: string, token: string): Effect.Effect<void, StoreUnavailable> => {
        // the subject of a signed token may have limits where the settings have none
        const isFree = unlimited && !isSubject(caller)
        if (isFree && shadowGiveBack === undefined) return Effect.void
        const ownKeys = keysOf(caller)
        const call = { token, kind }
        return Effect.gen(function* () {
          const now = yield* store.now
          if (shadowGiveBack !== undefined) {
            yield* store.run(rules.giveBack, { keys: shadowKeysOf(caller), now, context: shadowGiveBack, call })
          }
          if (isFree) return
          const context = isSubject(caller) ? giveBackOfSubject : giveBack
          yield* store.run(rules.giveBack, { keys: ownKeys, now, context, call })
          refused.delete(ownKeys[0])
        })
      }

    /** The caller's refusal, while it holds; `log` is the caller's first key. */
    const knownRefusal = (log: string, now: number, budgets: Budgets): RateLimited | undefined => {
      const last = refused.get(log)
      if (last === undefined || now >= last.until || last.budgets !== budgets) return undefined
      if (last.error === undefined || now < last.since || now >= last.sameUntil) {
        last.error = refuse(limitStates(last.usage, now, budgets))
        last.since = now
        last.sameUntil = now + millisToNextSecond(last.usage, now)
      }
      return last.error
    }

    const makeRequest = (
      caller: string,
      now: number,
      limits?: CallerLimits,
    ): Result.Result<TakeRequest | undefined, RateLimited> => {
      const asked = budgetsFor(limits)
      const own = asked !== budgets
      if (unlimited && !own && shadow === undefined) return Result.succeed(undefined)
      const log = logOf(caller)
      const repeated = knownRefusal(log, now, asked)
      if (repeated !== undefined) return Result.fail(repeated)
      return Result.succeed({
        logs: shadow === undefined ? [log] : [log, shadowKeysOf(caller)[0]],
        budgets: asked,
        own,
        shadow,
        refusal: (usage) => {
          const until = Math.min(holdsUntil(usage), now + REPEAT_MILLIS)
          refused.set(log, { budgets: asked, usage, until, error: undefined, since: now, sameUntil: now })
          return refuse(limitStates(usage, now, asked))
        },
      })
    }

    const takeShadow =
      (budgets: Budgets) =>
      (caller: string, token: string): Effect.Effect<LimitName | undefined, StoreUnavailable> =>
        Effect.flatMap(store.now, (now) =>
          Effect.map(
            store.run(rules.take, {
              keys: NO_KEYS,
              ownKeys: shadowKeysOf(caller).slice(0, 1),
              now,
              context: budgets,
              call: { token },
            }),
            ({ taken, usage }) => (taken || usage === undefined ? undefined : exhausted(budgets, usage)),
          ),
        )

    /** Of these two keys, in as many steps as there are. */
    const forgetIn = Effect.fnUntraced(function* (keys: ReadonlyArray<string>, remove: boolean) {
      const call = { channel: REFUNDS_CHANNEL, ...(remove ? { remove: true as const } : {}) }
      const found = { units: 0, open: 0 }
      for (;;) {
        const step = yield* store.run(rules.forget, { keys, now: yield* store.now, context: NO_CONTEXT, call })
        found.units += step.units
        found.open = step.open
        if (!step.more) return found
      }
    })

    const limiter = RateLimiter.of({
      holds: RateLimitConcurrency > 0 || (shadow?.concurrent ?? 0) > 0,
      refusal: (caller, limits) =>
        Effect.suspend(() => {
          const log = logOf(caller)
          // hot path: nearly every caller has none, and then the time is not needed
          return refused.has(log)
            ? Effect.map(store.now, (now) => knownRefusal(log, now, budgetsFor(limits)))
            : Effect.undefined
        }),
      take: (caller, token, limits) =>
        Effect.flatMap(store.now, (now) => {
          const asked = makeRequest(caller, now, limits)
          if (Result.isFailure(asked)) return Effect.fail(asked.failure)
          if (asked.success === undefined || !isLimited(asked.success.budgets)) return Effect.succeed([])
          const { budgets, logs, refusal } = asked.success
          return Effect.flatMap(
            store.run(rules.take, { keys: NO_KEYS, ownKeys: logs.slice(0, 1), now, context: budgets, call: { token } }),
            ({ taken, usage }) => {
              if (usage === undefined) return Effect.die(new TypeError("limits.take returned no usage"))
              return taken ? Effect.succeed(limitStates(usage, now, budgets)) : Effect.fail(refusal(usage))
            },
          )
        }),
      ...(shadow === undefined ? {} : { shadow: takeShadow(shadow) }),
      refund: settle("refund"),
      release: settle("release"),
      missed: settle("missed"),
      // the limits that are counted alone too, also those that were before a reload
      forget: (caller, remove) =>
        Effect.gen(function* () {
          const own = yield* forgetIn(keysOf(caller), remove)
          const counted = yield* forgetIn(shadowKeysOf(caller), remove)
          refused.delete(logOf(caller))
          return { units: own.units + counted.units, open: own.open + counted.open }
        }),
    })
    const takeStep = TakeStep.of({ limiter, store, request: makeRequest })
    return Context.make(RateLimiter, limiter).pipe(Context.add(TakeStep, takeStep))
  }),
)
