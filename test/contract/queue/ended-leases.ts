/** Leases that an operator ends: of calls, which the platform ends first, of starts, and of called tickets. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Store } from "../../../src/store/Store.ts"
import { OPERATOR } from "../../support/queue-bench.ts"
import { hash, ids, leaseOf, type QueueTest } from "./harness.ts"

export const endedLeases = (test: QueueTest): void => {
  test(
    "when an operator ends the lease of a live session its slot goes to the next, and its webhook is a repeat",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        assert.deepStrictEqual(yield* q.operator.endLease(...leaseOf(q, "t1")), { result: "freed", ticket: hash("t1") })
        assert.deepStrictEqual(q.called(), ["t2"])
        assert.strictEqual(q.stateOf("t1"), "stopped")
        assert.strictEqual(yield* q.end("session of t1"), "repeat")
        // a call that an operator ended is not measured
        assert.strictEqual(q.state().meta.get("averageMillis"), undefined)
      }),
  )

  test("a call that an operator ends holds its slot until the platform has ended it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const now = yield* (yield* Store).now
      yield* q.enter("t1")
      yield* q.wait("t2")
      const [lease, longest] = leaseOf(q, "t1")
      const asked = yield* q.operator.endCall(lease, longest)
      const deadline = now + 60_000
      assert.strictEqual(asked.result, "ending")
      assert.strictEqual(asked.session?.deadline, deadline)
      assert.include(asked.session?.data, "session of t1")
      const { slotPage } = yield* q.operator.snapshot()
      assert.deepInclude(slotPage[0], { ticket: hash("t1"), state: "ending", deadline })
      assert.deepStrictEqual(q.called(), [])
      // the gate that asked has died, and another one asks
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), [])
      yield* TestClock.adjust(20_000)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), ["session of t1"])
      assert.strictEqual(yield* q.end("session of t1"), "released")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.strictEqual(q.stateOf("t1"), "stopped")
      assert.strictEqual(yield* q.end("session of t1"), "repeat")
      assert.strictEqual(q.state().meta.get("averageMillis"), undefined)
      const { lines } = yield* q.operator.auditLog()
      assert.deepStrictEqual(
        lines.map(({ result, target, who }) => [who, target, result]),
        [
          [OPERATOR, hash("t1"), "ended_at_platform"],
          [OPERATOR, hash("t1"), "ending_live"],
        ],
      )
    }),
  )

  test("a call that the platform does not end gives its slot back within a minute", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.operator.endCall(...leaseOf(q, "t1"))
      for (let i = 0; i < 3; i++) {
        yield* TestClock.adjust(19_999)
        yield* q.heartbeat("t2")
        yield* q.sweep
      }
      assert.strictEqual(q.stateOf("t1"), "live")
      yield* TestClock.adjust(4)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "stopped")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), [])
      assert.strictEqual((yield* q.operator.auditLog()).lines[0]?.result, "freed_live")
    }),
  )

  test("a call that is being ended is freed when the platform cannot do it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.operator.endCall(...leaseOf(q, "t1"))
      assert.strictEqual((yield* q.operator.endLease(...leaseOf(q, "t1"))).result, "freed")
      assert.deepStrictEqual(
        (yield* q.operator.auditLog()).lines.map(({ result }) => result),
        ["freed_live", "ending_live"],
      )
      assert.strictEqual((yield* q.admit("t2"))._tag, "starting")
    }),
  )

  test("a start whose lease an operator ended finds it stale", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      yield* q.operator.endLease(...leaseOf(q, "t1"))
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      assert.strictEqual(yield* q.bind("t1", lease, ["s1"]), "stale")
      assert.strictEqual(yield* q.fail("t1", lease), "stale")
      assert.strictEqual((yield* q.admit("t2"))._tag, "starting")
    }),
  )

  test("when an operator ends the lease of a called ticket the slot goes to the next", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.end("session of t1")
      yield* q.operator.endLease(...leaseOf(q, "t2"))
      assert.deepStrictEqual(q.called(), ["t3"])
    }),
  )

  test("a lease that has changed since the operator saw it is not ended", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const seen = leaseOf(q, "t1")
      yield* q.bind("t1", seen[0], ["s1"])
      assert.strictEqual((yield* q.operator.endLease(...seen)).result, "gone")
      assert.strictEqual((yield* q.operator.endLease("77", leaseOf(q, "t1")[1])).result, "gone")
      assert.strictEqual(q.stateOf("t1"), "live")
    }),
  )

  test("the right one of several leases with the same deadline is ended", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(3)) yield* q.admit(id)
      yield* q.operator.endLease(...leaseOf(q, "t2"))
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("t2"), q.stateOf("t3")], ["starting", "removed", "starting"])
    }),
  )
}
