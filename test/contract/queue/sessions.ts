/** Binding, failing and ending of sessions, in whatever order the reports arrive. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { FREE_LEAVE_MILLIS } from "../../../src/fifo-queue/rules/leave.ts"
import { ENDED_SESSION_MILLIS } from "../../../src/fifo-queue/rules/sweep.ts"
import { type QueueTest, START_LEASE } from "./harness.ts"

export const sessions = (test: QueueTest): void => {
  test("a session ends by any of its ids, and every repeat frees nothing", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      yield* q.bind("t1", admitted._tag === "starting" ? admitted.lease : "", ["web", "conversation"])
      yield* q.wait("t2", "t3")
      assert.strictEqual(yield* q.end("conversation"), "released")
      assert.deepStrictEqual(q.called(), ["t2"])
      for (const ids of [["conversation"], ["web"], ["web", "conversation"], ["other", "web"]]) {
        assert.strictEqual(yield* q.end(...ids), "repeat")
        assert.deepStrictEqual(q.called(), [])
      }
    }),
  )

  test("an end that names an unknown id and a known one ends the known session", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      assert.strictEqual(yield* q.end("unknown", "session of t1"), "released")
    }),
  )

  test("the end of an unknown session frees nothing", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      assert.strictEqual(yield* q.end("unknown"), "unknown")
      assert.strictEqual(yield* q.end("unknown"), "repeat")
      assert.strictEqual(q.stateOf("t1"), "live")
    }),
  )

  test("one end that arrives twenty times at once calls one ticket", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      const queue = yield* FifoQueue
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, () => "session of t1"),
        (id) => queue.end(q.at(), [id]),
        { concurrency: "unbounded" },
      )
      const results = answers.map(({ result }) => result).toSorted()
      assert.deepStrictEqual(results, ["released", ...Array.from({ length: 19 }, () => "repeat")])
      const signals = answers.flatMap((answer) => answer.signals).filter(({ kind }) => kind._tag === "called")
      assert.deepStrictEqual(
        signals.map(({ ticket }) => ticket),
        ["t2"],
      )
    }),
  )

  test("an end that was reported before its session was bound frees the slot on binding", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1", { caller: "1.2.3.4" })
      yield* q.wait("t2")
      assert.strictEqual(yield* q.end("s1"), "unknown")
      assert.strictEqual(yield* q.bind("t1", admitted._tag === "starting" ? admitted.lease : "", ["c1", "s1"]), "ended")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(q.settlements(), [{ kind: "refund", ticket: "t1", caller: "1.2.3.4" }])
      // the other id of that session is known to have ended, too
      assert.strictEqual(yield* q.end("c1"), "repeat")
      assert.strictEqual(q.stateOf("t2"), "called")
    }),
  )

  test("an end that is repeated with a further id is remembered by that id too", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1", { caller: "1.2.3.4" })
      yield* q.wait("t2")
      assert.strictEqual(yield* q.end("conversation"), "unknown")
      assert.strictEqual(yield* q.end("web", "conversation"), "repeat")
      // the platform's answer to the start names only one id
      assert.strictEqual(yield* q.bind("t1", admitted._tag === "starting" ? admitted.lease : "", ["web"]), "ended")
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("a running session ends by an id that was learnt after its start", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      assert.strictEqual(yield* q.alias("session of t1", 'conversation/é"1', "session of t1"), "kept")
      assert.strictEqual(yield* q.alias("session of t1", 'conversation/é"1'), "kept")
      assert.strictEqual(yield* q.bind("t1", lease, ["session of t1"]), "live")
      assert.strictEqual(yield* q.end('conversation/é"1'), "released")
      assert.deepStrictEqual(q.called(), ["t2"])
      // all its ids have ended with it
      assert.strictEqual(yield* q.end("session of t1"), "repeat")
      assert.strictEqual(yield* q.end('conversation/é"1'), "repeat")
      assert.deepStrictEqual([...q.state().sessions], [])
    }),
  )

  test("a session whose end was reported under a still unknown id ends when that id is learnt", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1", { caller: "1.2.3.4" })
      yield* q.wait("t2")
      assert.strictEqual(yield* q.end("conversation"), "unknown")
      assert.strictEqual(q.stateOf("t1"), "live")
      assert.strictEqual(yield* q.alias("session of t1", "conversation"), "ended")
      assert.deepStrictEqual([q.stateOf("t1"), q.called()], ["ended", ["t2"]])
      // the call took place: its quota stays used
      assert.deepStrictEqual(q.settlements(), [])
      assert.strictEqual(yield* q.end("session of t1"), "repeat")
    }),
  )

  test("asking for a session's state records nothing", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      // its start may not be bound yet, or it is of a gate with another store
      assert.deepStrictEqual(
        [yield* q.sessionState("session of t1"), yield* q.sessionState("session of t1")],
        ["unknown", "unknown"],
      )
      yield* q.enter("t1")
      assert.deepStrictEqual([yield* q.sessionState("session of t1"), q.stateOf("t1")], ["held", "live"])
      yield* q.end("session of t1")
      assert.strictEqual(yield* q.sessionState("session of t1"), "ended")
    }),
  )

  test("an id is learnt only for a running session, and never taken from another", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.enter("t2")
      assert.strictEqual(yield* q.alias("nobody's", "x"), "stale")
      assert.strictEqual(yield* q.alias("session of t1", "session of t2"), "kept")
      assert.strictEqual(yield* q.end("session of t2"), "released")
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("t2")], ["live", "ended"])
      assert.strictEqual(yield* q.alias("session of t2", "y"), "stale")
      yield* q.end("session of t1")
      assert.strictEqual(yield* q.alias("session of t1", "z"), "stale")
    }),
  )

  test("an end is remembered for a day, and not forever", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.end("s1")
      yield* q.end("s2")
      yield* TestClock.adjust(ENDED_SESSION_MILLIS - 1)
      yield* q.sweep
      const first = yield* q.admit("t1")
      assert.strictEqual(yield* q.bind("t1", first._tag === "starting" ? first.lease : "", ["s1"]), "ended")
      yield* TestClock.adjust(1)
      yield* q.sweep
      const second = yield* q.admit("t2")
      assert.strictEqual(yield* q.bind("t2", second._tag === "starting" ? second.lease : "", ["s2"]), "live")
    }),
  )

  test(
    "the next attempt to report one end that names the lost one is told once that it freed the slot",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        assert.strictEqual(yield* q.attempted("a1", [], "session of t1"), "released")
        assert.strictEqual(yield* q.attempted("b1", [], "session of t1"), "repeat")
        assert.strictEqual(yield* q.attempted("b2", ["b1"], "session of t1"), "repeat")
        assert.strictEqual(yield* q.attempted("a2", ["a0", "a1"], "session of t1"), "again")
        assert.strictEqual(yield* q.attempted("a3", ["a0", "a1"], "session of t1"), "repeat")
        // the answer to a2 was lost too
        assert.strictEqual(yield* q.attempted("a4", ["a2"], "session of t1"), "again")
        assert.strictEqual(yield* q.end("session of t1"), "repeat")
        assert.strictEqual(q.state().endedSessions.has("=a4"), true)
      }),
  )

  test("a repeat that names a lost attempt which was not carried out frees the slot itself", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      assert.strictEqual(yield* q.attempted("a2", ["a1"], "session of t1"), "released")
      // it arrives late
      assert.strictEqual(yield* q.attempted("a1", [], "session of t1"), "repeat")
      assert.strictEqual(q.stateOf("t2"), "called")
    }),
  )

  test("an attempt that names no session takes the place of a lost one, and ends nothing", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      assert.strictEqual(yield* q.attempted("~s", ["a1"]), "unknown")
      assert.strictEqual(q.stateOf("t1"), "live")
      assert.strictEqual(yield* q.attempted("a1", [], "session of t1"), "released")
      assert.strictEqual(yield* q.attempted("~s", ["a1"]), "again")
      assert.strictEqual(yield* q.attempted("~s", ["a1"]), "unknown")
      assert.strictEqual(yield* q.attempted("b1", ["~s"], "session of t1"), "again")
      assert.strictEqual(yield* q.attempted("a2", ["~s", "a1"], "session of t1"), "repeat")
    }),
  )

  test("an end that the gate itself has found is no attempt of the platform's report", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      assert.strictEqual(yield* q.reported("audit", "session of t1"), "released")
      assert.strictEqual(yield* q.attempted("a2", ["a1"], "session of t1"), "repeat")
    }),
  )

  test("the attempt that freed a slot is remembered for a day, as the session's end is", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.attempted("a1", [], "session of t1")
      yield* TestClock.adjust(ENDED_SESSION_MILLIS - 1)
      yield* q.sweep
      assert.strictEqual(yield* q.attempted("a2", ["a1"], "session of t1"), "again")
      yield* TestClock.adjust(ENDED_SESSION_MILLIS + 1)
      yield* q.sweep
      assert.strictEqual(yield* q.attempted("a3", ["a2"], "session of t1"), "unknown")
    }),
  )

  test("a platform answer that arrives after the slot was freed does not affect its next holder", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      yield* q.wait("t2")
      yield* TestClock.adjust(START_LEASE)
      yield* q.heartbeat("t2")
      yield* TestClock.adjust(1)
      yield* q.sweep
      yield* q.leave("t1")
      yield* q.resolve(`?${lease}`)
      yield* q.resolve(`?${lease}`)
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("t2")], ["left", "called"])
      const before = q.state()
      assert.strictEqual(yield* q.bind("t1", lease, ["s1"]), "stale")
      assert.strictEqual(yield* q.fail("t1", lease), "stale")
      assert.deepStrictEqual(yield* q.rest("t1", lease), { _tag: "stale" })
      assert.strictEqual(yield* q.bind("t2", lease, ["s1"]), "stale")
      assert.deepStrictEqual(q.state(), before)
      assert.strictEqual(yield* q.end("s1"), "unknown")
      assert.strictEqual(q.stateOf("t2"), "called")
    }),
  )

  test("a lease from before a ticket was called again is stale", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      const old = admitted._tag === "starting" ? admitted.lease : ""
      yield* q.rest("t1", old)
      yield* TestClock.adjust(2_000)
      yield* q.sweep
      const lease = yield* q.begin("t1")
      assert.notStrictEqual(lease, old)
      assert.strictEqual(yield* q.bind("t1", old, ["s1"]), "stale")
      assert.strictEqual(yield* q.fail("t1", old), "stale")
      assert.strictEqual(yield* q.bind("t1", lease, ["s1"]), "live")
    }),
  )

  test("a bind whose answer was lost may be repeated, and counts once", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* q.enter("t1")
      assert.strictEqual(yield* q.bind("t1", lease, ["session of t1"]), "live")
      assert.strictEqual(q.state().meta.get("live"), 1)
      yield* q.end("session of t1")
      assert.strictEqual(yield* q.bind("t1", lease, ["session of t1"]), "stale")
    }),
  )

  test("a late report about a running session neither fails it nor requeues it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* q.enter("t1")
      assert.strictEqual(yield* q.fail("t1", lease), "stale")
      assert.deepStrictEqual(yield* q.rest("t1", lease), { _tag: "stale" })
      assert.strictEqual(q.stateOf("t1"), "live")
    }),
  )

  test("a failed start gives its slot to the next ticket, and the quota back to its caller", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1", { caller: "1.2.3.4", holds: true })
      yield* q.wait("t2")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      assert.strictEqual(yield* q.fail("t1", lease), "failed")
      assert.deepStrictEqual(q.signals()[0], { ticket: "t1", kind: { _tag: "ended", state: "failed" } })
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(q.settlements(), [{ kind: "refund", ticket: "t1", caller: "1.2.3.4" }])
      assert.strictEqual(yield* q.fail("t1", lease), "stale")
      assert.deepStrictEqual(q.settlements(), [])
    }),
  )

  test("a start refused for what the caller sent frees the slot, but gives no quota back", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1", { caller: "1.2.3.4", holds: true })
      yield* q.wait("t2")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      assert.strictEqual(yield* q.fail("t1", lease, false), "failed")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller: "1.2.3.4" }])
    }),
  )

  test("an ended call is no longer an open ticket of its caller, and its quota stays used", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      const caller = "2001:db8::/64"
      yield* q.enter("t1", { caller, holds: true })
      yield* q.enter("t2", { caller, holds: false })
      yield* q.end("session of t2")
      assert.deepStrictEqual(q.settlements(), [])
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller }])
    }),
  )

  test("leaving gives no quota back, neither to a waiting caller nor to a called one", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      for (const id of ["t2", "t3", "t4"]) yield* q.admit(id, { caller: id, holds: id !== "t3" })
      yield* q.leave("t3")
      assert.deepStrictEqual(q.settlements(), [])
      yield* q.leave("t4")
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t4", caller: "t4" }])
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["t2"])
      yield* q.leave("t2")
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t2", caller: "t2" }])
    }),
  )

  test(
    "a called ticket that leaves late has missed the turn; leaving early costs what a call does",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        for (const id of ["t2", "t3", "t4"]) yield* q.admit(id, { caller: id, holds: true })
        yield* q.end("session of t1")
        yield* TestClock.adjust(FREE_LEAVE_MILLIS)
        yield* q.sweep
        yield* q.leave("t2")
        assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t2", caller: "t2" }])
        for (let waited = 0; waited < FREE_LEAVE_MILLIS; waited += 1_000) {
          yield* TestClock.adjust(1_000)
          yield* q.sweep
        }
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* q.leave("t3"), "left")
        assert.deepStrictEqual(q.settlements(), [{ kind: "missed", ticket: "t3", caller: "t3" }])
        assert.deepStrictEqual(yield* q.attach("t3"), { _tag: "ended", state: "left" })
        // nobody swept for longer than that: the store was down, and t4 may not have received the call
        yield* TestClock.adjust(FREE_LEAVE_MILLIS + 2_000)
        yield* q.leave("t4")
        assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t4", caller: "t4" }])
      }),
  )

  test("a missed turn costs its caller more than a call, whichever step notices it", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.enter("t2")
      yield* q.admit("t3", { caller: "somebody", holds: true })
      yield* q.admit("t4", { caller: "else", holds: false })
      yield* q.end("session of t1")
      yield* q.end("session of t2")
      for (let n = 0; n < 16; n++) {
        yield* TestClock.adjust(2_000)
        if (n < 15) yield* q.sweep
      }
      assert.deepStrictEqual(yield* q.start("t3"), { _tag: "ended", state: "missed" })
      assert.deepStrictEqual(q.settlements(), [{ kind: "missed", ticket: "t3", caller: "somebody" }])
      yield* q.sweep
      assert.deepStrictEqual(q.settlements(), [{ kind: "missed", ticket: "t4", caller: "else" }])
    }),
  )

  test("the length of calls is measured, and a new call moves the average by an eighth", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      for (const [id, millis, average] of [
        ["t1", 80_000, 80_000],
        ["t2", 160_000, 90_000],
        ["t3", 0, 78_750],
      ] as const) {
        yield* q.enter(id)
        yield* TestClock.adjust(millis)
        yield* q.end(`session of ${id}`)
        assert.strictEqual((yield* q.heartbeat()).averageMillis, average)
      }
      yield* q.enter("t4")
      assert.deepStrictEqual(yield* q.admit("t5"), {
        _tag: "waiting",
        position: 1,
        length: 1,
        averageMillis: 78_750,
        disrupted: false,
      })
    }),
  )
}
