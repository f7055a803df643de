import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import type { SettlementKind } from "../../../src/protocol/settlements.ts"
import type { RateLimiter } from "../../../src/rate-limiter/RateLimiter.ts"
import { SEED } from "../../harness/seed.ts"
import { LimiterModel } from "../../support/limiter-model.ts"
import { DAY, give, HOUR, type LimiterTest, someone, take } from "./harness.ts"

export const histories = (test: LimiterTest): void => {
  const time = fc.constantFrom(0, 0, 1, 999, 60_000, HOUR - 1, HOUR, HOUR + 1, DAY / 2, DAY - 1, DAY)
  type Op = { readonly after: number } & (
    | { readonly op: "take" }
    | { readonly op: SettlementKind; readonly of: number }
  )
  const step: fc.Arbitrary<Op> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ op: fc.constant("take" as const), after: time }) },
    {
      weight: 2,
      arbitrary: fc.record({
        op: fc.constantFrom("refund" as const, "release" as const, "missed" as const),
        after: time,
        of: fc.nat(12),
      }),
    },
  )
  for (const given of [
    { hourly: 2, daily: 4, concurrent: 0 },
    { hourly: 5, daily: 12, concurrent: 2, refunds: 1, missed: 4 },
    { hourly: 3, daily: 0, concurrent: 2 },
    { hourly: 0, daily: 3, concurrent: 1 },
  ]) {
    const title = `${given.hourly} an hour, ${given.daily} a day, ${given.concurrent} at once`
    test(`any history is answered as by counting every request (${title})`, given, () =>
      Effect.gen(function* () {
        const run = Effect.runPromiseWith(yield* Effect.context<RateLimiter>())
        const check = Effect.fnUntraced(function* (history: ReadonlyArray<Op>) {
          const caller = someone()
          const model = new LimiterModel(given)
          let now = 0
          let tokens = 0
          for (const { after, ...each } of history) {
            now += after
            yield* TestClock.adjust(after)
            if (each.op !== "take") {
              yield* give(each.op, caller, `t${each.of}`)
              model[each.op](`t${each.of}`, now)
              continue
            }
            const token = `t${tokens++}`
            const { refusal, states, taken } = yield* take(caller, token)
            assert.strictEqual(taken, model.take(token, now))
            const { concurrent, day, hour } = model.figures(now)
            for (const [name, quota, window] of [
              ["hour", given.hourly, hour],
              ["day", given.daily, day],
            ] as const) {
              const state = states.get(name)
              assert.strictEqual(state?.remaining, quota === 0 ? undefined : Math.max(0, quota - window.used))
              if (quota === 0) continue
              const reset = window.used === 0 ? 0 : Math.ceil((window.reset - now) / 1000)
              assert.strictEqual(state?.resetSeconds, reset)
              if (window.used >= quota && refusal !== undefined) assert.isAtLeast(refusal.retryAfterSeconds, reset)
            }
            if (given.concurrent > 0) {
              assert.strictEqual(states.get("concurrent")?.remaining, given.concurrent - concurrent)
            }
          }
        })
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.array(step, { maxLength: 30 }), (history) => run(check(history))),
            { numRuns: 150, seed: SEED },
          ),
        )
      }),
    )
  }
}
