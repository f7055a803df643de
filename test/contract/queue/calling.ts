/** Which ticket is called when a slot opens, and what follows from the call. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { MAX_CALLED_PER_STEP } from "../../../src/fifo-queue/rules/shared/call-next.ts"
import { ids, type QueueTest, START_LEASE, WINDOW } from "./harness.ts"

export const calling = (test: QueueTest): void => {
  test("the end of a session calls the oldest waiting ticket, and only that one", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* TestClock.adjust(1_000)
      yield* q.end("session of t1")
      const startBefore = q.state().leases.get("t2")
      assert.deepStrictEqual(
        q.signals().filter(({ kind }) => kind._tag === "called"),
        [{ ticket: "t2", kind: { _tag: "called", startBefore: startBefore ?? 0, lease: "2" } }],
      )
      assert.strictEqual((startBefore ?? 0) - (q.state().endedSessions.get("session of t1") ?? 0), WINDOW)
      assert.deepStrictEqual(yield* q.attach("t2"), { _tag: "called", startBefore: startBefore ?? 0, lease: "2" })
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test("tickets are called in the order in which they were accepted, to the last one", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("a")
      yield* q.enter("b")
      const waiting = ids(6)
      yield* q.wait(...waiting)
      const order: Array<string> = []
      let running = ["a", "b"]
      while (running.length > 0) {
        const [first = "", ...rest] = running
        yield* q.end(`session of ${first}`)
        const called = q.called()
        order.push(...called)
        for (const id of called) yield* q.run(id)
        running = [...rest, ...called]
      }
      assert.deepStrictEqual(order, waiting)
      assert.strictEqual(q.state().leases.size, 0)
    }),
  )

  test("each of several slots that open at once calls one ticket, in order", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3", "t4", "t5")
      q.setSlots(4)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t2", "t3", "t4"])
    }),
  )

  test("a step calls so many tickets that it stays short, and the next one goes on", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.waitTogether(ids(MAX_CALLED_PER_STEP + 20))
      q.setSlots(MAX_CALLED_PER_STEP + 10)
      assert.isTrue((yield* q.sweep).more)
      assert.strictEqual(q.called().length, MAX_CALLED_PER_STEP)
      assert.isFalse((yield* q.sweep).more)
      assert.strictEqual(q.called().length, 10)
      assert.strictEqual(q.line().length, 10)
    }),
  )

  test(
    "when slots shrink no call is cut off, and nobody is called until leases are below the new limit",
    { slots: 3 },
    (q) =>
      Effect.gen(function* () {
        for (const id of ids(3)) yield* q.enter(id)
        yield* q.wait("t4", "t5")
        q.setSlots(1)
        yield* q.sweep
        assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("t2"), q.stateOf("t3")], ["live", "live", "live"])
        yield* q.end("session of t1")
        yield* q.end("session of t2")
        assert.deepStrictEqual(q.called(), [])
        assert.strictEqual((yield* q.admit("t6"))._tag, "waiting")
        yield* q.end("session of t3")
        assert.deepStrictEqual(q.called(), ["t4"])
      }),
  )

  test("a called ticket starts with its stored data, under the lease of the call", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.admit("t2", { data: '{"Grüße":"🌍 \\/ \\u0000"}' })
      yield* TestClock.adjust(3_000)
      yield* q.end("session of t1")
      const { lease } = q.state().tickets.get("t2") ?? { lease: "" }
      const calledAt = (q.state().leases.get("t2") ?? 0) - WINDOW
      const acceptedAt = calledAt - 3_000
      const data = '{"Grüße":"🌍 \\/ \\u0000"}'
      assert.deepStrictEqual(yield* q.start("t2"), { _tag: "starting", lease, data, calledAt, acceptedAt })
      assert.deepStrictEqual(yield* q.attach("t2"), { _tag: "starting" })
    }),
  )

  test("a ticket starts once: a second start is busy, then returns the running session", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.end("session of t1")
      const lease = yield* q.begin("t2")
      assert.deepStrictEqual(yield* q.start("t2"), { _tag: "busy" })
      yield* q.bind("t2", lease, ["s2", "c2"], { url: "wss://platform.example/2" })
      const data = JSON.stringify({ url: "wss://platform.example/2", s: ["s2", "c2"] })
      assert.deepStrictEqual(yield* q.start("t2"), { _tag: "live", data })
      assert.deepStrictEqual(yield* q.attach("t2"), { _tag: "live", data })
      assert.strictEqual(q.state().meta.get("lease"), 2)
    }),
  )

  test("a ticket that was not called cannot start", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      assert.deepStrictEqual(yield* q.start("t3"), {
        _tag: "waiting",
        position: 2,
        length: 2,
        averageMillis: 0,
        disrupted: false,
      })
      assert.deepStrictEqual(yield* q.start("nobody"), { _tag: "unknown" })
      yield* q.leave("t3")
      assert.deepStrictEqual(yield* q.start("t3"), { _tag: "ended", state: "left" })
    }),
  )

  test("a called ticket may start up to the last millisecond of its window", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.end("session of t1")
      yield* TestClock.adjust(WINDOW)
      yield* q.sweep
      assert.strictEqual((yield* q.start("t2"))._tag, "starting")
    }),
  )

  test("when a start window passes the turn is missed, and the slot goes to the next ticket", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.end("session of t1")
      yield* TestClock.adjust(WINDOW - 1)
      yield* q.heartbeat("t3")
      yield* TestClock.adjust(2)
      yield* q.sweep
      assert.deepStrictEqual(q.signals(), [
        { ticket: "t2", kind: { _tag: "ended", state: "missed" } },
        { ticket: "t3", kind: { _tag: "called", startBefore: q.state().leases.get("t3") ?? 0, lease: "3" } },
      ])
      assert.deepStrictEqual(yield* q.start("t2"), { _tag: "ended", state: "missed" })
    }),
  )

  test("a late start frees the slot for the next ticket, before any sweep", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.end("session of t1")
      yield* TestClock.adjust(WINDOW - 1)
      yield* q.heartbeat("t3")
      yield* TestClock.adjust(2)
      assert.deepStrictEqual(yield* q.start("t2"), { _tag: "ended", state: "missed" })
      assert.deepStrictEqual(q.called(), ["t3"])
    }),
  )

  test("a start gives the ticket a new deadline, however little of its window was left", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.end("session of t1")
      yield* TestClock.adjust(WINDOW)
      const lease = yield* q.begin("t2")
      yield* TestClock.adjust(START_LEASE)
      yield* q.sweep
      assert.strictEqual(yield* q.bind("t2", lease, ["s"]), "live")
    }),
  )

  test("when a ticket leaves the queue the others move up", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3", "t4")
      assert.strictEqual(yield* q.leave("t2"), "left")
      assert.deepStrictEqual(q.signals(), [])
      assert.deepStrictEqual(yield* q.attach("t4"), {
        _tag: "waiting",
        position: 2,
        length: 2,
        averageMillis: 0,
        disrupted: false,
      })
    }),
  )

  test("a called ticket that leaves frees the slot for the next", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.end("session of t1")
      assert.strictEqual(yield* q.leave("t2"), "left")
      assert.deepStrictEqual(q.called(), ["t3"])
      assert.strictEqual(yield* q.leave("t2"), "ended")
      assert.deepStrictEqual(q.called(), [])
    }),
  )

  test("a starting or live ticket cannot leave: it ends with its session", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      assert.strictEqual(yield* q.leave("t1"), "busy")
      yield* q.bind("t1", admitted._tag === "starting" ? admitted.lease : "", ["s1"])
      assert.strictEqual(yield* q.leave("t1"), "busy")
      yield* q.end("s1")
      assert.strictEqual(yield* q.leave("t1"), "ended")
      assert.strictEqual(yield* q.leave("nobody"), "unknown")
    }),
  )
}
