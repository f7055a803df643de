/** A caller's budgets of session requests. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { ask, begin, caller, enqueue, gateTest, hangUp } from "../../support/gate.ts"

/** A call is not over when its budget is. */
const LONG_CALLS = { MaxCallMinutes: 1440 }

describe("the budgets", () => {
  gateTest(
    "the budgets of an hour refuse until the first request is an hour old",
    { Security: { RateLimitHourly: 2 }, Queue: LONG_CALLS },
    () =>
      Effect.gen(function* () {
        yield* begin()
        yield* TestClock.adjust("10 minutes")
        yield* enqueue()
        yield* TestClock.adjust("20 minutes")
        const refused = yield* ask()
        expect(refused).toMatchObject({ _tag: "RateLimited", limit: "hour", retryAfterSeconds: 30 * 60 })
        yield* TestClock.adjust("29 minutes")
        expect(yield* ask()).toMatchObject({ _tag: "RateLimited", retryAfterSeconds: 60 })
        yield* TestClock.adjust("1 minute")
        expect((yield* ask())._tag).toBe("Queued")
      }),
  )

  gateTest(
    "the budgets of a day refuse until the first request is a day old",
    { Security: { RateLimitDaily: 1, RateLimitConcurrency: 3 }, Queue: LONG_CALLS },
    () =>
      Effect.gen(function* () {
        yield* begin()
        yield* TestClock.adjust("1 hour")
        expect(yield* ask()).toMatchObject({
          _tag: "RateLimited",
          limit: "day",
          retryAfterSeconds: 23 * 3600,
          limits: [
            { name: "hour", quota: 20, windowSeconds: 3600 },
            { name: "day", quota: 1, remaining: 0, windowSeconds: 86_400, resetSeconds: 23 * 3600 },
            { name: "concurrent", quota: 3, remaining: 2, windowSeconds: 0 },
          ],
        })
      }),
  )

  gateTest(
    "the budgets of concurrent calls are given back when the call ends or the place is given up",
    { Security: { RateLimitConcurrency: 1 } },
    () =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        yield* begin()
        expect(yield* ask()).toMatchObject({ _tag: "RateLimited", limit: "concurrent", retryAfterSeconds: 30 })
        const other = yield* enqueue(caller(1))
        expect(yield* ask(caller(1))).toMatchObject({ _tag: "RateLimited", limit: "concurrent" })
        yield* gate.leave(other)
        yield* hangUp("web-1")
        expect((yield* ask())._tag).toBe("Started")
        expect((yield* ask(caller(1)))._tag).toBe("Queued")
      }),
  )

  gateTest("count IPv6 callers by their /64, and others not at all", { Security: { RateLimitHourly: 1 } }, () =>
    Effect.gen(function* () {
      expect((yield* ask("2001:db8:1:2::1"))._tag).toBe("Started")
      expect((yield* ask("2001:db8:1:2:ffff::9"))._tag).toBe("RateLimited")
      expect((yield* ask("2001:db8:1:3::1"))._tag).toBe("Queued")
    }),
  )
})
