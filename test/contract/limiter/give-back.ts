import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DAY, give, HOUR, type LimiterTest, take } from "./harness.ts"

export const giveBack = (test: LimiterTest): void => {
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
    "a missed turn that costs three takes three units of hour and day, however often it is reported, and its ticket is no longer open",
    { hourly: 9, daily: 20, concurrent: 1, missed: 3 },
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
}
