import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { RateLimiter } from "../../../src/rate-limiter/RateLimiter.ts"
import { HOUR, type LimiterTest, take, takes } from "./harness.ts"

export const figures = (test: LimiterTest): void => {
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
}
