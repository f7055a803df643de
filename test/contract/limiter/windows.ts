import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { HOLD_MILLIS, layer as limiterLayer } from "../../../src/rate-limiter/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import type { Limits } from "../../support/limiter-model.ts"
import { DAY, give, HOUR, type LimiterTest, limitsLayer, someone, take, takes } from "./harness.ts"

export const windows = (test: LimiterTest, store: Layer.Layer<Store>): void => {
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

  test(
    "exactly as many of 100 simultaneous requests pass as the budget has",
    { hourly: 20, daily: 100, concurrent: 0 },
    (caller) =>
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
      const under = (given: Limits) => Layer.provide(limiterLayer, Layer.merge(shared, limitsLayer(given)))
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
}
