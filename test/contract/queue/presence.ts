/** Which tickets count as present, and what becomes of absent ones. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { TICK_MILLIS } from "../../../src/fifo-queue/FifoQueue.ts"
import { MAX_CLEARED_PER_STEP } from "../../../src/fifo-queue/rules/shared/call-next.ts"
import { GRACE, ids, type QueueTest } from "./harness.ts"

export const presence = (test: QueueTest): void => {
  test("a waiting ticket without queries keeps its place for the grace, and is abandoned after it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.admit("t2", { caller: "1.2.3.4", holds: true })
      yield* TestClock.adjust(GRACE)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t2"), "waiting")
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(q.signals(), [{ ticket: "t2", kind: { _tag: "ended", state: "abandoned" } }])
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t2", caller: "1.2.3.4" }])
      assert.deepStrictEqual(yield* q.attach("t2"), { _tag: "ended", state: "abandoned" })
    }),
  )

  test("nobody is abandoned for time in which presence could not be shown: the grace starts again", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      // at time 0 nobody has ever swept
      yield* TestClock.adjust(1)
      yield* q.sweep
      // the store, or every gate, is down
      yield* TestClock.adjust(10 * GRACE)
      yield* q.sweep
      assert.deepStrictEqual(q.line(), ["t2", "t3"])
      yield* q.attach("t3")
      for (let waited = 0; waited <= GRACE; waited += 2_000) {
        yield* TestClock.adjust(2_000)
        yield* q.attach("t3")
        yield* q.sweep
      }
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test("a connection keeps a ticket present for the grace after its first heartbeat is due", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* TestClock.adjust(GRACE)
      yield* q.attach("t2")
      yield* TestClock.adjust(GRACE + TICK_MILLIS)
      yield* q.sweep
      assert.deepStrictEqual(q.line(), ["t2"])
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(q.line(), [])
    }),
  )

  test(
    "a query keeps a ticket present for the grace at least, and is written at most twice in a grace",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        let written = 0
        let until = q.state().presence.get("t2")
        for (let n = 0; n < 30; n++) {
          yield* TestClock.adjust(GRACE / 10)
          yield* q.attach("t2", false)
          if (q.state().presence.get("t2") !== until) written++
          until = q.state().presence.get("t2")
        }
        assert.isAtMost(written, 6)
        for (let waited = 0; waited < GRACE; waited += 1_000) {
          yield* TestClock.adjust(1_000)
          yield* q.sweep
        }
        assert.deepStrictEqual(q.line(), ["t2"])
        for (let waited = 0; waited <= GRACE / 2; waited += 1_000) {
          yield* TestClock.adjust(1_000)
          yield* q.sweep
        }
        assert.deepStrictEqual(q.line(), [])
      }),
  )

  test("a heartbeat keeps a ticket present for the grace after the next heartbeat is due", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* TestClock.adjust(GRACE)
      yield* q.heartbeat("t2")
      yield* TestClock.adjust(GRACE + TICK_MILLIS)
      yield* q.sweep
      assert.deepStrictEqual(q.line(), ["t2"])
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(q.line(), [])
    }),
  )

  test("an attach does not shorten what a heartbeat has granted", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.heartbeat("t2")
      yield* q.attach("t2")
      yield* TestClock.adjust(GRACE + TICK_MILLIS)
      yield* q.sweep
      assert.deepStrictEqual(q.line(), ["t2"])
    }),
  )

  test("the oldest ticket is called even if its connection is lost, during the grace", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* TestClock.adjust(GRACE)
      yield* q.heartbeat("t3")
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("a slot that opens passes over absent tickets, which are abandoned", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3", "t4")
      yield* TestClock.adjust(GRACE)
      yield* q.heartbeat("t4")
      yield* TestClock.adjust(1)
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["t4"])
      assert.deepStrictEqual([q.stateOf("t2"), q.stateOf("t3")], ["abandoned", "abandoned"])
    }),
  )

  test("a newcomer finds the slot free when all waiting tickets are absent", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* TestClock.adjust(GRACE + 1)
      q.setSlots(2)
      assert.strictEqual((yield* q.admit("t3"))._tag, "starting")
      assert.strictEqual(q.stateOf("t2"), "abandoned")
    }),
  )

  test("many absent tickets are abandoned in bounded steps, and the next sweep continues", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const many = ids(2 * MAX_CLEARED_PER_STEP + 50)
      yield* q.enter("t0")
      yield* q.waitTogether(many)
      yield* TestClock.adjust(GRACE)
      const last = `t${many.length}`
      yield* q.heartbeat(last)
      yield* TestClock.adjust(1)
      // the opened slot abandons as many as one step may, and calls nobody yet: order before speed
      yield* q.end("session of t0")
      assert.deepStrictEqual([q.called(), q.line().length], [[], MAX_CLEARED_PER_STEP + 50])
      let sweeps = 1
      while ((yield* q.sweep).more) sweeps++
      assert.deepStrictEqual([q.stateOf(last), q.line().length], ["called", 0])
      assert.isAtMost(sweeps, 3)
    }),
  )

  test("a newcomer waits behind absent tickets that one step could not abandon", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* q.waitTogether(ids(MAX_CLEARED_PER_STEP + 1))
      yield* TestClock.adjust(GRACE + 1)
      q.setSlots(2)
      assert.strictEqual((yield* q.admit("new"))._tag, "waiting")
      assert.deepStrictEqual(q.line(), [`t${MAX_CLEARED_PER_STEP + 1}`, "new"])
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["new"])
    }),
  )

  test("a heartbeat answers for each ticket, in the order of the request", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("live")
      yield* q.enter("ends")
      const started = yield* q.admit("starts")
      yield* q.wait("called", "first", "second", "gone")
      yield* q.leave("gone")
      yield* q.end("session of ends")
      const nothing = { position: 0, startBefore: 0, lease: "" }
      const asked = ["second", "nobody", "called", "live", "gone", "starts", "first", "ends"]
      const touched = yield* q.heartbeat(...asked)
      assert.strictEqual(started._tag, "starting")
      assert.deepStrictEqual([touched.length, touched.averageMillis], [2, 0])
      assert.deepStrictEqual(touched.tickets, [
        { ...nothing, ticket: "second", state: "waiting", position: 2 },
        { ...nothing, ticket: "nobody", state: undefined },
        {
          ticket: "called",
          state: "called",
          position: 0,
          startBefore: q.state().leases.get("called") ?? 0,
          lease: q.state().tickets.get("called")?.lease ?? "",
        },
        { ...nothing, ticket: "live", state: "live" },
        { ...nothing, ticket: "gone", state: "left" },
        { ...nothing, ticket: "starts", state: "starting" },
        { ...nothing, ticket: "first", state: "waiting", position: 1 },
        { ...nothing, ticket: "ends", state: "ended" },
      ])
    }),
  )
}
