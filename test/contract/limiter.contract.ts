/**
 * The contract of the rate limiter on every store, with time under the test's control. Each test has its own callers.
 */
import { randomUUID } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Result, type Scope } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { settingsWith } from "../../scripts/harness/settings.ts"
import type { SettlementKind } from "../../src/FifoQueue.ts"
import { HOLD_MILLIS, layer as limiterLayer, RateLimiter } from "../../src/RateLimiter.ts"
import { Store } from "../../src/Store.ts"
import { LimiterModel, type Limits } from "../support/limiter-model.ts"

const HOUR = 3_600_000
const DAY = 86_400_000

const limits = ({ concurrent, daily, hourly, missed, refunds }: Limits) =>
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
const someone = (): string => `caller-${randomUUID()}`

/** Takes under a token; returns whether it was taken, and the budgets by name. */
const take = Effect.fnUntraced(function* (caller: string, token: string) {
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
const takes = (caller: string, count: number, prefix = "t"): Effect.Effect<number, never, RateLimiter> =>
  Effect.map(
    Effect.forEach(
      Array.from({ length: count }, (_, i) => `${prefix}${i}`),
      (token) => take(caller, token),
    ),
    (all) => all.filter(({ taken }) => taken).length,
  )

export const limiterContract = (store: Layer.Layer<Store>): void => {
  const test = (
    name: string,
    given: Limits,
    body: (caller: string) => Effect.Effect<void, unknown, RateLimiter | Scope.Scope>,
    options?: number,
  ) =>
    it.effect(
      name,
      () =>
        Effect.provide(
          Effect.suspend(() => body(someone())),
          limiterLayer.pipe(Layer.provide(Layer.merge(store, limits(given)))),
        ),
      options,
    )
  const give = (kind: SettlementKind, caller: string, token: string) =>
    RateLimiter.use((limiter) => limiter[kind](caller, token))

  test("a request counts for exactly one hour", { hourly: 1, daily: 0, concurrent: 0 }, (caller) =>
    Effect.gen(function* () {
      assert.isTrue((yield* take(caller, "a")).taken)
      yield* TestClock.adjust(HOUR - 1)
      assert.isFalse((yield* take(caller, "b")).taken)
      yield* TestClock.adjust(1)
      assert.isTrue((yield* take(caller, "c")).taken)
    }),
  )

  test("a request counts for exactly one day", { hourly: 0, daily: 1, concurrent: 0 }, (caller) =>
    Effect.gen(function* () {
      assert.isTrue((yield* take(caller, "a")).taken)
      yield* TestClock.adjust(DAY - 1)
      assert.isFalse((yield* take(caller, "b")).taken)
      yield* TestClock.adjust(1)
      assert.isTrue((yield* take(caller, "c")).taken)
    }),
  )

  test(
    "the hour slides: each request expires an hour after it was made",
    { hourly: 2, daily: 0, concurrent: 0 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* TestClock.adjust(HOUR / 2)
        yield* take(caller, "b")
        yield* TestClock.adjust(HOUR / 2)
        // the first is an hour old, the second half an hour
        assert.deepStrictEqual([(yield* take(caller, "c")).taken, (yield* take(caller, "d")).taken], [true, false])
        yield* TestClock.adjust(HOUR / 2 - 1)
        assert.isFalse((yield* take(caller, "e")).taken)
        yield* TestClock.adjust(1)
        assert.isTrue((yield* take(caller, "f")).taken)
      }),
  )

  test("a refused request takes nothing from any budget", { hourly: 5, daily: 5, concurrent: 1 }, (caller) =>
    Effect.gen(function* () {
      yield* take(caller, "a")
      for (const token of ["b", "c", "d", "e", "f", "g"]) assert.isFalse((yield* take(caller, token)).taken)
      yield* give("release", caller, "a")
      const { states, taken } = yield* take(caller, "h")
      assert.isTrue(taken)
      assert.deepStrictEqual([states.get("hour")?.remaining, states.get("day")?.remaining], [3, 3])
    }),
  )

  test("a used-up day refuses even if the hour has room", { hourly: 2, daily: 3, concurrent: 0 }, (caller) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* takes(caller, 3, "a"), 2)
      yield* TestClock.adjust(HOUR)
      assert.strictEqual(yield* takes(caller, 3, "b"), 1)
      const { refusal } = yield* take(caller, "c")
      assert.strictEqual(refusal?.limit, "day")
      assert.strictEqual(refusal?.retryAfterSeconds, (DAY - HOUR) / 1000)
    }),
  )

  test(
    "when hour and day are both used up, the later reset applies",
    { hourly: 2, daily: 2, concurrent: 0 },
    (caller) =>
      Effect.gen(function* () {
        yield* takes(caller, 2)
        const { refusal } = yield* take(caller, "x")
        assert.deepStrictEqual([refusal?.limit, refusal?.retryAfterSeconds], ["day", DAY / 1000])
      }),
  )

  test(
    "a refund gives all budgets back, once, and only for its own token",
    { hourly: 1, daily: 1, concurrent: 1 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* give("refund", caller, "unknown")
        assert.isFalse((yield* take(caller, "b")).taken)
        yield* give("refund", caller, "b")
        assert.isFalse((yield* take(caller, "c")).taken)
        yield* give("refund", caller, "a")
        assert.isTrue((yield* take(caller, "d")).taken)
        yield* give("refund", caller, "a")
        assert.isFalse((yield* take(caller, "e")).taken)
      }),
  )

  test(
    "a release gives the concurrent unit back and keeps the request counted",
    { hourly: 2, daily: 0, concurrent: 1 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        assert.strictEqual((yield* take(caller, "b")).refusal?.limit, "concurrent")
        yield* give("release", caller, "a")
        yield* give("release", caller, "a")
        const second = yield* take(caller, "c")
        assert.deepStrictEqual([second.taken, second.states.get("hour")?.remaining], [true, 0])
        yield* give("release", caller, "c")
        assert.strictEqual((yield* take(caller, "d")).refusal?.limit, "hour")
      }),
  )

  test(
    "refunds are bounded per hour; a unit beyond the bound stays used, and its ticket is no longer open",
    { hourly: 5, daily: 0, concurrent: 1, refunds: 2 },
    (caller) =>
      Effect.gen(function* () {
        for (const token of ["a", "b", "c"]) {
          assert.isTrue((yield* take(caller, token)).taken)
          yield* give("refund", caller, token)
        }
        const { states, taken } = yield* take(caller, "d")
        assert.deepStrictEqual([taken, states.get("hour")?.remaining], [true, 3])
        yield* TestClock.adjust(HOUR)
        yield* give("refund", caller, "d")
        // the hour of the first two is over
        assert.strictEqual((yield* take(caller, "e")).states.get("hour")?.remaining, 4)
      }),
  )

  test("without refunds nothing is given back", { hourly: 2, daily: 0, concurrent: 0, refunds: 0 }, (caller) =>
    Effect.gen(function* () {
      yield* take(caller, "a")
      yield* give("refund", caller, "a")
      assert.strictEqual((yield* take(caller, "b")).states.get("hour")?.remaining, 0)
    }),
  )

  test(
    "a missed turn costs three units of hour and day, however often it is reported, and its ticket is no longer open",
    { hourly: 9, daily: 20, concurrent: 1 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* TestClock.adjust(60_000)
        for (let n = 0; n < 3; n++) yield* give("missed", caller, "a")
        const { states, taken } = yield* take(caller, "b")
        assert.isTrue(taken)
        assert.deepStrictEqual([states.get("hour")?.remaining, states.get("day")?.remaining], [5, 16])
      }),
  )

  test(
    "a missed turn never takes more than the daily budget",
    { hourly: 3, daily: 4, concurrent: 0, missed: 100 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* give("missed", caller, "a")
        const { refusal, states } = yield* take(caller, "b")
        assert.deepStrictEqual([refusal?.limit, states.get("day")?.remaining], ["day", 0])
        // the fifth would need two of the four to expire
        assert.strictEqual(refusal?.retryAfterSeconds, DAY / 1000)
      }),
  )

  test(
    "without hourly and daily limits a missed turn takes nothing",
    { hourly: 0, daily: 0, concurrent: 1 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* give("missed", caller, "a")
        assert.isTrue((yield* take(caller, "b")).taken)
      }),
  )

  test(
    "a concurrent unit that is never given back expires at its deadline",
    { hourly: 0, daily: 0, concurrent: 1 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* TestClock.adjust(HOLD_MILLIS - 1)
        assert.isFalse((yield* take(caller, "b")).taken)
        yield* TestClock.adjust(1)
        assert.isTrue((yield* take(caller, "c")).taken)
      }),
  )

  test("a limit of 0 is no limit, and returns no figures", { hourly: 0, daily: 2, concurrent: 0 }, (caller) =>
    Effect.gen(function* () {
      const first = yield* take(caller, "a")
      assert.deepStrictEqual([...first.states.keys()], ["day"])
      assert.strictEqual(yield* takes(caller, 9), 1)
      assert.isFalse((yield* RateLimiter).holds)
    }),
  )

  test("without any limit every request passes", { hourly: 0, daily: 0, concurrent: 0 }, (caller) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* takes(caller, 50), 50)
      assert.strictEqual((yield* take(caller, "x")).states.size, 0)
    }),
  )

  test(
    "the figures report what remains and when the next unit is available",
    { hourly: 3, daily: 10, concurrent: 2 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* TestClock.adjust(600_001)
        const { states } = yield* take(caller, "b")
        assert.deepStrictEqual(
          [...states.values()],
          [
            // the first request is 600,001 ms old: 2,999,999 ms remain, rounded up to whole seconds
            { name: "hour", quota: 3, windowSeconds: 3600, remaining: 1, resetSeconds: 3000 },
            { name: "day", quota: 10, windowSeconds: 86400, remaining: 8, resetSeconds: 85800 },
            { name: "concurrent", quota: 2, windowSeconds: 0, remaining: 0, resetSeconds: 30 },
          ],
        )
        assert.isTrue((yield* RateLimiter).holds)
      }),
  )

  test(
    "a caller who waits for the reported time is admitted, and not a second before the reset",
    { hourly: 2, daily: 0, concurrent: 0 },
    (caller) =>
      Effect.gen(function* () {
        yield* take(caller, "a")
        yield* TestClock.adjust(1_234)
        yield* take(caller, "b")
        yield* TestClock.adjust(77_777)
        const { refusal } = yield* take(caller, "c")
        const seconds = refusal?.retryAfterSeconds ?? 0
        const left = HOUR - 1_234 - 77_777
        assert.isAtLeast(seconds * 1000, left)
        assert.isBelow((seconds - 1) * 1000, left)
        yield* TestClock.adjust(seconds * 1000)
        assert.isTrue((yield* take(caller, "d")).taken)
      }),
  )

  test("of 100 simultaneous requests exactly the budget passes", { hourly: 20, daily: 100, concurrent: 0 }, (caller) =>
    Effect.gen(function* () {
      const all = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, i) => `t${i}`),
        (token) => take(caller, token),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(all.filter(({ taken }) => taken).length, 20)
      const remaining = all.filter(({ taken }) => taken).map(({ states }) => states.get("hour")?.remaining ?? -1)
      assert.deepStrictEqual(
        remaining.toSorted((a, b) => a - b),
        Array.from({ length: 20 }, (_, i) => i),
      )
    }),
  )

  test("callers do not share a budget", { hourly: 1, daily: 1, concurrent: 1 }, (caller) =>
    Effect.gen(function* () {
      yield* take(caller, "a")
      assert.isTrue((yield* take(`${caller}:other`, "a")).taken)
      assert.isFalse((yield* take(caller, "b")).taken)
    }),
  )

  it.effect("after a limit was lowered, the next unit is available when enough requests have expired", () =>
    Effect.gen(function* () {
      const shared = Layer.succeed(Store, yield* Store)
      const caller = someone()
      const under = (given: Limits) => Layer.provide(limiterLayer, Layer.merge(shared, limits(given)))
      yield* Effect.gen(function* () {
        for (const token of ["a", "b", "c", "d"]) {
          yield* take(caller, token)
          yield* TestClock.adjust(60_000)
        }
      }).pipe(Effect.provide(under({ hourly: 4, daily: 0, concurrent: 0 })))
      yield* Effect.gen(function* () {
        // four count and two are allowed, so three must expire; the third was taken 120 s ago
        const { refusal, states } = yield* take(caller, "e")
        assert.strictEqual(refusal?.retryAfterSeconds, 3600 - 120)
        assert.strictEqual(states.get("hour")?.remaining, 0)
        yield* TestClock.adjust((3600 - 120) * 1000 - 1)
        assert.isFalse((yield* take(caller, "f")).taken)
        yield* TestClock.adjust(1)
        assert.isTrue((yield* take(caller, "g")).taken)
      }).pipe(Effect.provide(under({ hourly: 2, daily: 0, concurrent: 0 })))
    }).pipe(Effect.provide(store)),
  )

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
            { numRuns: 150 },
          ),
        )
      }),
    )
  }
}
