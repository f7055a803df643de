/** Starts in doubt: nobody knows whether their session runs. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DOUBT_MILLIS } from "../../../src/fifo-queue/bounds.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { LONGEST_CALL, type QueueTest, START_LEASE } from "./harness.ts"

const leaseOf = (q: Bench, id: string): string => q.state().tickets.get(id)?.lease ?? ""

/** A first ticket whose start is in doubt, and a second that was called meanwhile if there is a slot for it. */
const doubted = Effect.fnUntraced(function* (q: Bench) {
  yield* q.admit("t1", { caller: "1.2.3.4", holds: true, network: "9.8.7", data: '{"clientIdentifier":"ada"}' })
  yield* q.wait("t2")
  const lease = leaseOf(q, "t1")
  assert.deepInclude(yield* q.startFails("t1", lease, "doubt"), { _tag: "waiting", position: 1 })
  return lease
})

export const doubts = (test: QueueTest): void => {
  test("hold their slot, and the ticket keeps its place but is not called", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      assert.deepStrictEqual([q.line(), [...q.state().leases.keys()]], [["t1", "t2"], [`?${lease}`]])
      assert.deepStrictEqual([q.called(), q.settlements()], [[], []])
      q.setSlots(2)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("do not keep the slot forever from those behind, when all starts of a ticket end in doubt", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.wait("t2", "t3")
      const doubtAgain = Effect.gen(function* () {
        const lease = leaseOf(q, "t1")
        yield* q.startFails("t1", lease, "doubt")
        yield* q.resolve(`?${lease}`)
        yield* q.resolve(`?${lease}`)
      })
      yield* doubtAgain
      assert.deepStrictEqual(q.called(), ["t1"])
      yield* q.begin("t1")
      yield* doubtAgain
      assert.deepStrictEqual([q.called(), q.line()], [["t2"], ["t1", "t3"]])
      // it keeps its place
      yield* q.run("t2")
      yield* TestClock.adjust(5_000)
      yield* q.heartbeat("t1", "t3")
      yield* q.sweep
      yield* q.end("session of t2")
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test(
    "keep their callers' units: a caller who leaves gets nothing back before the doubt is resolved",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        const one = yield* doubted(q)
        yield* q.leave("t1")
        assert.deepStrictEqual(q.settlements(), [])
        yield* q.resolve(`?${one}`)
        assert.deepStrictEqual(q.settlements(), [])
        yield* q.resolve(`?${one}`)
        assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller: "1.2.3.4" }])
      }),
  )

  test("keep their callers' units until a deadline, or a running session, resolves them", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ["t1", "t2"]) yield* q.admit(id, { caller: `caller of ${id}`.replaceAll(" ", "-"), holds: true })
      const [one, two] = [leaseOf(q, "t1"), leaseOf(q, "t2")]
      yield* q.startFails("t1", one, "doubt")
      yield* q.startFails("t2", two, "doubt")
      yield* q.withdraw("t1", "t2")
      assert.deepStrictEqual(q.settlements(), [])
      yield* q.resolve(`?${one}`, [["s1"]])
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller: "caller-of-t1" }])
      yield* TestClock.adjust(DOUBT_MILLIS + 1)
      yield* q.sweep
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t2", caller: "caller-of-t2" }])
      yield* q.end("s1")
      assert.deepStrictEqual(q.settlements(), [])
    }),
  )

  test("keep their ticket from being called even if another start is answered", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* doubted(q)
      q.setSlots(3)
      for (let millis = 0; millis < DOUBT_MILLIS - 10_000; millis += 10_000) {
        yield* TestClock.adjust(10_000)
        yield* q.heartbeat("t1", "t2")
        yield* q.sweep
      }
      yield* q.admit("t3")
      yield* q.sweep
      yield* q.startFails("t3", yield* q.begin("t3"), "disrupted")
      yield* TestClock.adjust(1_001)
      yield* q.heartbeat("t1", "t3")
      yield* q.sweep
      assert.strictEqual(yield* q.bind("t3", yield* q.begin("t3"), ["s3"]), "live")
      assert.strictEqual(q.stateOf("t1"), "waiting")
    }),
  )

  test("are resolved by the platform's answer even if it arrives after the start's deadline", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const lease = leaseOf(q, "t1")
      yield* TestClock.adjust(START_LEASE + 1)
      yield* q.sweep
      assert.deepStrictEqual([...q.state().leases.keys()], [`?${lease}`])
      assert.deepStrictEqual(yield* q.startFails("t1", lease, "capacity"), { _tag: "stale" })
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("expire after a while, whatever the platform reports, and the ticket is called", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* doubted(q)
      for (let millis = 0; millis < DOUBT_MILLIS; millis += 20_000) {
        yield* q.heartbeat("t1", "t2")
        yield* q.sweep
        assert.deepStrictEqual(q.called(), [])
        yield* TestClock.adjust(20_000)
      }
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("are listed for checking by one instance at a time", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      assert.deepStrictEqual(yield* q.doubts(1_000, 5_000), [])
      yield* TestClock.adjust(5_000)
      const [found] = yield* q.doubts(1_000, 5_000)
      assert.deepInclude(found, { id: `?${lease}`, ticket: "t1", data: '{"clientIdentifier":"ada"}' })
      assert.deepStrictEqual(yield* q.doubts(1_000, 5_000), [])
      yield* TestClock.adjust(5_000)
      assert.strictEqual((yield* q.doubts(1_000, 5_000)).length, 1)
    }),
  )

  test("are freed when the platform has reported twice that it has no such session", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      assert.strictEqual(yield* q.resolve(`?${lease}`), "open")
      assert.strictEqual(yield* q.resolve(`?${lease}`), "free")
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.strictEqual(yield* q.resolve(`?${lease}`), "stale")
    }),
  )

  test("hold their slot until the running session has ended, reported by any of its ids", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      assert.strictEqual(yield* q.resolve(`?${lease}`, [["web", "conversation"]]), "running")
      assert.strictEqual(q.stateOf(`?${lease}`), "live")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      assert.strictEqual(yield* q.end("conversation"), "released")
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.strictEqual(yield* q.end("web"), "repeat")
      // nobody talked, so the call is not measured
      assert.strictEqual((yield* q.heartbeat()).averageMillis, 0)
    }),
  )

  test("are reclaimed at the maximum call length if their session never ends", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      yield* q.resolve(`?${lease}`, [["web"]])
      yield* TestClock.adjust(LONGEST_CALL + 1)
      yield* q.sweep
      assert.strictEqual(q.state().leases.has(`?${lease}`), false)
    }),
  )

  test("do not match another ticket's session, nor one that has ended", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("other")
      yield* q.enter("past")
      yield* q.end("session of past")
      yield* q.admit("t1")
      const lease = leaseOf(q, "t1")
      yield* q.startFails("t1", lease, "doubt")
      const known = [["session of other", "second name"], ["session of past"]]
      assert.strictEqual(yield* q.resolve(`?${lease}`, known), "open")
      assert.strictEqual(yield* q.resolve(`?${lease}`, known), "free")
      assert.strictEqual(yield* q.end("session of other"), "released")
    }),
  )

  test("do not match a session while another start is in flight that it may belong to", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const lease = leaseOf(q, "t1")
      yield* q.startFails("t1", lease, "doubt")
      yield* q.admit("t2")
      yield* q.sweep
      const other = yield* q.begin("t2")
      assert.strictEqual(yield* q.resolve(`?${lease}`, [["of t2"]]), "open")
      yield* q.bind("t2", other, ["of t2"])
      assert.strictEqual(yield* q.resolve(`?${lease}`, [["of t2"]]), "open")
      assert.strictEqual(yield* q.resolve(`?${lease}`, [["of t2"]]), "free")
      assert.strictEqual(yield* q.end("of t2"), "released")
      assert.strictEqual(q.stateOf("t2"), "ended")
    }),
  )

  test("end when the answer arrives after all: the ticket becomes live if it still waits", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      assert.strictEqual(yield* q.bind("t1", lease, ["late"]), "live")
      assert.deepStrictEqual([q.stateOf("t1"), q.line()], ["live", ["t2"]])
      assert.strictEqual(q.state().leases.size, 1)
      assert.strictEqual(yield* q.end("late"), "released")
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("hold the slot for a late answer whose ticket has left, until its session ends", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      yield* q.leave("t1")
      assert.strictEqual(yield* q.bind("t1", lease, ["late"]), "stale")
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf(`?${lease}`), q.called()], ["left", "live", []])
      assert.strictEqual(yield* q.end("late"), "released")
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("are not affected by a late answer after the ticket was called again", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const lease = leaseOf(q, "t1")
      yield* q.startFails("t1", lease, "doubt")
      yield* TestClock.adjust(DOUBT_MILLIS + 1)
      yield* q.heartbeat("t1")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.strictEqual(yield* q.bind("t1", lease, ["late"]), "stale")
      assert.strictEqual(q.stateOf("t1"), "called")
    }),
  )

  test("free the slot when a late answer names a session that has already ended", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      yield* q.end("late")
      assert.strictEqual(yield* q.bind("t1", lease, ["late"]), "ended")
      assert.deepStrictEqual([q.stateOf("t1"), q.called()], ["failed", ["t2"]])
    }),
  )

  test("count toward their network's share, and an operator may free them", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1", { network: "9.8.7" })
      const lease = leaseOf(q, "t1")
      yield* q.startFails("t1", lease, "doubt")
      assert.strictEqual(q.state().networks.get("h9.8.7"), 1)
      const deadline = q.state().leases.get(`?${lease}`) ?? 0
      assert.strictEqual((yield* q.operator.snapshot()).slotPage[0]?.state, "in_doubt")
      assert.strictEqual((yield* q.operator.endLease(lease, deadline)).result, "freed")
      assert.strictEqual(q.state().leases.size, q.called().length)
    }),
  )

  test("are ended like a call when an operator ends one whose session the platform reports", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* doubted(q)
      const doubt = yield* q.operator.doubt(lease)
      assert.deepInclude(doubt, { id: `?${lease}`, ticket: "t1", data: '{"clientIdentifier":"ada"}' })
      const deadline = q.state().leases.get(`?${lease}`) ?? 0
      const asked = yield* q.operator.endCall(lease, deadline, [["s1", "s2"]])
      assert.strictEqual(asked.result, "ending")
      assert.include(asked.session?.data, "s1")
      // the slot is held until the platform has ended it, and the caller keeps the place
      assert.deepStrictEqual([q.called(), q.line()], [[], ["t1", "t2"]])
      assert.strictEqual((yield* q.operator.snapshot()).slotPage[0]?.state, "ending")
      assert.strictEqual(yield* q.operator.doubt(lease), undefined)
      assert.strictEqual(yield* q.end("s2"), "released")
      assert.deepStrictEqual(q.called(), ["t1"])
      const { lines } = yield* q.operator.auditLog()
      assert.deepStrictEqual(
        lines.map(({ result }) => result),
        ["ended_at_platform", "ending_live"],
      )
      assert.strictEqual(new Set(lines.map(({ target }) => target)).size, 1)
    }),
  )

  test("free the slot at an operator's wish when every reported session is known already", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t0")
      yield* q.bind("t0", leaseOf(q, "t0"), ["s0"])
      yield* q.admit("t1")
      const lease = leaseOf(q, "t1")
      yield* q.startFails("t1", lease, "doubt")
      yield* q.end("s9")
      const deadline = q.state().leases.get(`?${lease}`) ?? 0
      assert.strictEqual((yield* q.operator.endCall(lease, deadline, [["s0"], ["s9"]])).result, "freed")
      assert.strictEqual(q.stateOf("t0"), "live")
    }),
  )
}
