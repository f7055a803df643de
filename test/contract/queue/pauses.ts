/** A campaign that an operator pauses, drains or resumes. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { isoTime } from "../../../src/protocol/session-answers.ts"
import { GRACE, hash, type QueueTest } from "./harness.ts"

export const pauses = (test: QueueTest): void => {
  test("a paused campaign calls and admits nobody, and newcomers queue", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      assert.strictEqual((yield* q.operator.turn("pause")).result, "done")
      assert.strictEqual((yield* q.admit("t2"))._tag, "waiting")
      yield* q.end("session of t1")
      yield* q.sweep
      assert.deepStrictEqual([q.called(), q.line()], [[], ["t2"]])
      assert.deepInclude(yield* q.operator.snapshot(), { paused: true, draining: false, waiting: 1, held: 0 })
    }),
  )

  test("a pause until a time ends by itself, and the next sweep calls", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = (yield* q.now) + 10_000
      yield* q.operator.pauseUntil(until)
      yield* q.wait("t0")
      assert.deepInclude(yield* q.operator.snapshot(), { paused: true, pausedUntil: until })
      assert.deepInclude(yield* q.admit("t1"), { paused: true, pausedUntil: until })
      assert.deepInclude(yield* q.attach("t1"), { paused: true, pausedUntil: until })
      assert.deepInclude(yield* q.heartbeat("t1"), { paused: true, pausedUntil: until })
      yield* TestClock.adjust(9_999)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* TestClock.adjust(1)
      assert.notProperty(yield* q.operator.snapshot(), "pausedUntil")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t0"])
      // nothing of it stays, which gates of versions without an end would take for a pause
      const { meta } = q.state()
      assert.deepStrictEqual([meta.get("paused"), meta.get("pausedUntil")], [undefined, undefined])
      assert.strictEqual((yield* q.operator.turn("resume")).result, "already")
      const [, line] = (yield* q.operator.auditLog()).lines
      assert.deepInclude(line, { action: "pause", target: `until ${isoTime(until)}`, result: "done" })
    }),
  )

  test("a pause until a time that has passed ends no other pause", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      assert.strictEqual((yield* q.operator.pauseUntil(yield* q.now)).result, "gone")
      assert.deepInclude(yield* q.operator.snapshot(), { paused: true })
    }),
  )

  test("a pause may get another end, or none, and a newcomer is admitted once it is over", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = (yield* q.now) + 10_000
      const results: Array<string> = []
      for (const end of [until, until, until + 5_000]) {
        results.push((yield* q.operator.pauseUntil(end)).result)
      }
      results.push((yield* q.operator.turn("pause")).result, (yield* q.operator.turn("pause")).result)
      assert.deepStrictEqual(results, ["done", "already", "done", "done", "already"])
      assert.notProperty(yield* q.operator.snapshot(), "pausedUntil")
      yield* q.operator.pauseUntil(until)
      yield* TestClock.adjust(10_000)
      assert.strictEqual((yield* q.admit("t1"))._tag, "starting")
    }),
  )

  test("a ticket learns with its place that the campaign is paused, and when it no longer is", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      assert.notProperty(yield* q.admit("t1"), "paused")
      yield* q.operator.turn("pause")
      assert.propertyVal(yield* q.admit("t2"), "paused", true)
      assert.propertyVal(yield* q.attach("t1"), "paused", true)
      assert.propertyVal(yield* q.heartbeat("t1", "t2"), "paused", true)
      yield* q.operator.turn("resume")
      assert.notProperty(yield* q.attach("t1"), "paused")
      assert.notProperty(yield* q.heartbeat("t1", "t2"), "paused")
    }),
  )

  test("a ticket called before a pause may start", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.end("session of t1")
      yield* q.operator.turn("pause")
      yield* q.run("t2")
      yield* q.end("session of t2")
      assert.deepStrictEqual(q.called(), [])
    }),
  )

  test("resuming calls one ticket per free slot at once, in order", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      yield* q.wait("t1", "t2", "t3")
      yield* q.operator.turn("resume")
      assert.deepStrictEqual(q.called(), ["t1", "t2"])
      assert.strictEqual((yield* q.operator.turn("resume")).result, "already")
    }),
  )

  test("a pause does not keep the places of absent tickets", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      yield* q.wait("t1")
      yield* TestClock.adjust(GRACE + 1)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "abandoned")
    }),
  )

  test("a draining campaign refuses newcomers and serves waiting tickets", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      assert.strictEqual((yield* q.operator.turn("drain")).result, "done")
      assert.deepStrictEqual(yield* q.admit("t3"), { _tag: "draining" })
      assert.isUndefined(q.stateOf("t3"))
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["t2"])
      yield* q.run("t2")
      yield* q.end("session of t2")
      assert.deepStrictEqual(yield* q.admit("t4"), { _tag: "draining" })
      yield* q.operator.turn("reopen")
      assert.strictEqual((yield* q.admit("t5"))._tag, "starting")
    }),
  )

  test("neither a backoff nor a pause prevents an operator's call", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      yield* q.wait("t2")
      yield* q.rest("t1", admitted._tag === "starting" ? admitted.lease : "")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* q.operator.turn("pause")
      assert.deepStrictEqual(yield* q.operator.callOne, { result: "called", ticket: hash("t1") })
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.isAbove((yield* q.operator.snapshot()).backoffUntil, 0)
    }),
  )
}
