/** What the limiter's contract is written in: a test with its own caller, and what is taken and given back. */

import { randomUUID } from "node:crypto"
import { it } from "@effect/vitest"
import { Effect, Layer, Result, type Scope } from "effect"
import type { SettlementKind } from "../../../src/protocol/settlements.ts"
import { layer as limiterLayer } from "../../../src/rate-limiter/layer.ts"
import { RateLimiter } from "../../../src/rate-limiter/RateLimiter.ts"
import type { Store } from "../../../src/store/Store.ts"
import { settingsWith } from "../../harness/settings.ts"
import type { Limits } from "../../support/limiter-model.ts"

export const HOUR = 3_600_000
export const DAY = 86_400_000

/** Settings with these limits. */
export const limitsLayer = ({ concurrent, daily, hourly, missed, refunds }: Limits) =>
  settingsWith({
    Security: {
      RateLimitHourly: hourly,
      RateLimitDaily: daily,
      RateLimitConcurrency: concurrent,
      ...(refunds === undefined ? {} : { RefundsPerHour: refunds }),
      ...(missed === undefined ? {} : { MissedTurnCost: missed }),
    },
  })

/** A caller that no other test uses. */
export const someone = (): string => `caller-${randomUUID()}`

/** Takes under a token; returns whether it was taken, and the budgets by name. */
export const take = Effect.fnUntraced(function* (caller: string, token: string) {
  const limiter = yield* RateLimiter
  const taken = yield* Effect.result(Effect.catchTag(limiter.take(caller, token), "StoreUnavailable", Effect.die))
  const states = Result.isSuccess(taken) ? taken.success : taken.failure.limits
  return {
    taken: Result.isSuccess(taken),
    refusal: Result.isFailure(taken) ? taken.failure : undefined,
    states: new Map(states.map((state) => [state.name, state])),
  }
})

/** Takes this many units and returns how many were taken. */
export const takes = (caller: string, count: number, prefix = "t"): Effect.Effect<number, never, RateLimiter> =>
  Effect.map(
    Effect.forEach(
      Array.from({ length: count }, (_, i) => `${prefix}${i}`),
      (token) => take(caller, token),
    ),
    (all) => all.filter(({ taken }) => taken).length,
  )

export const give = (kind: SettlementKind, caller: string, token: string) =>
  RateLimiter.use((limiter) => limiter[kind](caller, token))

/** A test of the limiter under these limits; nothing else uses its caller. */
export type LimiterTest = (
  name: string,
  given: Limits,
  body: (caller: string) => Effect.Effect<void, unknown, RateLimiter | Scope.Scope>,
) => void

export const limiterTest =
  (store: Layer.Layer<Store>): LimiterTest =>
  (name, given, body) =>
    it.effect(name, () =>
      Effect.provide(
        Effect.suspend(() => body(someone())),
        limiterLayer.pipe(Layer.provide(Layer.merge(store, limitsLayer(given)))),
      ),
    )
