/** Ends of calls that the platform should have reported by webhooks and has not. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { UNREPORTED, UNREPORTED_MILLIS } from "../../../src/fifo-queue/rules/shared/platform-state.ts"
import type { QueueTest } from "./harness.ts"

export const unreported = (test: QueueTest): void => {
  test("webhooks are missing when three ends in a row were not reported, until one is", { slots: 10 }, (q) =>
    Effect.gen(function* () {
      const platform = Effect.map(q.operator.snapshot(), (snapshot) => snapshot.platform)
      for (let n = 1; n <= 8; n++) yield* q.enter(`t${n}`)
      const since = yield* q.now
      for (let n = 1; n < UNREPORTED; n++) yield* q.reported("audit", `session of t${n}`)
      yield* TestClock.adjust(UNREPORTED_MILLIS)
      assert.isUndefined(yield* platform)
      // counted by both gates together
      q.on(q.there)
      assert.strictEqual(yield* q.reported("audit", `session of t${UNREPORTED}`), "released")
      const missing = { state: "webhooks_missing", since, startAt: 0, code: "", setting: "" }
      assert.deepStrictEqual(yield* platform, missing)
      assert.deepStrictEqual((yield* q.sweep).platform, missing)
      q.on(q.here)
      assert.deepStrictEqual((yield* q.sweep).platform, missing)
      // callers are served, and nobody probes the platform
      yield* q.enter("t9")
      assert.strictEqual(q.stateOf("t9"), "live")
      // neither the gate's own end nor a webhook about an unknown call tells of the platform's reports
      yield* q.end("session of t4")
      yield* q.reported("webhook", "somebody else's")
      assert.deepStrictEqual(yield* platform, missing)
      assert.strictEqual(yield* q.reported("webhook", "session of t5"), "released")
      assert.isUndefined(yield* platform)
      assert.isUndefined((yield* q.sweep).platform)
      // it is counted anew
      yield* q.reported("audit", "session of t6")
      yield* TestClock.adjust(UNREPORTED_MILLIS)
      yield* q.reported("audit", "session of t7")
      assert.isUndefined(yield* platform)
    }),
  )

  test(
    "three ends at one moment that were not reported may only be late, and a late webhook counts",
    { slots: 3 },
    (q) =>
      Effect.gen(function* () {
        const platform = Effect.map(q.operator.snapshot(), (snapshot) => snapshot.platform)
        for (let n = 1; n <= 3; n++) yield* q.enter(`t${n}`)
        for (let n = 1; n <= 3; n++) yield* q.reported("audit", `session of t${n}`)
        yield* TestClock.adjust(UNREPORTED_MILLIS - 1)
        assert.isUndefined(yield* platform)
        yield* TestClock.adjust(1)
        assert.deepInclude(yield* platform, { state: "webhooks_missing" })
        assert.strictEqual(yield* q.reported("webhook", "session of t2"), "repeat")
        assert.isUndefined(yield* platform)
      }),
  )

  test("what two gates find of one end counts once", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.reported("audit", "session of t1")
      q.on(q.there)
      for (let n = 0; n < UNREPORTED; n++) assert.strictEqual(yield* q.reported("audit", "session of t1"), "repeat")
      yield* TestClock.adjust(UNREPORTED_MILLIS)
      assert.isUndefined((yield* q.operator.snapshot()).platform)
    }),
  )

  test("webhooks are no longer missed when the gates accept none for the campaign", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      for (let n = 1; n <= 4; n++) yield* q.enter(`t${n}`)
      for (let n = 1; n <= 3; n++) yield* q.reported("audit", `session of t${n}`)
      yield* TestClock.adjust(UNREPORTED_MILLIS)
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "webhooks_missing" })
      yield* q.reported("audit_alone", "session of t4")
      assert.isUndefined((yield* q.operator.snapshot()).platform)
    }),
  )

  test("a platform that starts nothing is told before webhooks that are missing", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      for (let n = 1; n <= 3; n++) yield* q.enter(`t${n}`)
      for (let n = 1; n <= 3; n++) yield* q.reported("audit", `session of t${n}`)
      yield* TestClock.adjust(UNREPORTED_MILLIS)
      yield* q.hears({ state: "unavailable", code: "unreachable" })
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "unavailable" })
      yield* TestClock.adjust(1)
      yield* q.hears({ state: "ok" })
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "webhooks_missing" })
    }),
  )
}
