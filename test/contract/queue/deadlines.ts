/** What deadlines enforce after crashes, lost webhooks and lost messages. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DOUBT_MILLIS } from "../../../src/fifo-queue/bounds.ts"
import { TICK_MILLIS } from "../../../src/fifo-queue/FifoQueue.ts"
import { FREE_LEAVE_MILLIS } from "../../../src/fifo-queue/rules/leave.ts"
import { MAX_EARLY_MILLIS } from "../../../src/fifo-queue/rules/shared/ending.ts"
import { SETTLE_AFTER_MILLIS } from "../../../src/fifo-queue/rules/shared/expiry.ts"
import { RETENTION_MILLIS } from "../../../src/fifo-queue/rules/shared/line.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { GRACE, LONGEST_CALL, type QueueTest, START_LEASE, WINDOW } from "./harness.ts"

/** `t1` hangs up, so that it is the turn of `t2`; `t3` waits behind it. */
const callSecond = (q: Bench) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(1_000)
    yield* q.enter("t1")
    yield* q.wait("t2", "t3")
    yield* q.end("session of t1")
  })

/** The turn of `t2` lasts so long, and then `t3` is called. */
const turnLasts = (q: Bench, millis: number) =>
  Effect.gen(function* () {
    for (let elapsed = 0; elapsed < millis; elapsed += 1_000) {
      yield* TestClock.adjust(1_000)
      yield* q.heartbeat("t3")
      yield* q.sweep
    }
    assert.strictEqual(q.stateOf("t2"), "called")
    yield* TestClock.adjust(1)
    yield* q.sweep
    assert.deepStrictEqual([q.stateOf("t2"), q.stateOf("t3")], ["missed", "called"])
  })

export const deadlines = (test: QueueTest): void => {
  test(
    "a called ticket gets a new start window after the store was down for longer than its window",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* callSecond(q)
        yield* q.sweep
        assert.strictEqual(q.stateOf("t2"), "called")
        // nobody sweeps, so nobody could start
        yield* TestClock.adjust(WINDOW + 10_000)
        yield* q.sweep
        assert.strictEqual(q.stateOf("t2"), "called")
        yield* turnLasts(q, WINDOW)
      }),
  )

  test(
    "a turn lasts two start windows for a caller whose page is hidden, however often it says so",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* callSecond(q)
        const startBefore = q.state().leases.get("t2") ?? 0
        yield* TestClock.adjust(WINDOW - 1_000)
        const lease = q.state().tickets.get("t2")?.lease ?? ""
        for (let asked = 0; asked < 3; asked++) {
          assert.deepStrictEqual(yield* q.attach("t2", true, true), {
            _tag: "called",
            startBefore: startBefore + WINDOW,
            lease,
          })
        }
        // a page that is seen does not change it
        assert.strictEqual(q.state().leases.get("t2"), startBefore + WINDOW)
        assert.include(yield* q.attach("t2"), { startBefore: startBefore + WINDOW })
        yield* turnLasts(q, WINDOW + 1_000)
      }),
  )

  test(
    "a hidden page changes nothing for a caller who waits, and makes no late leave an early one",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(1_000)
        yield* q.enter("t1")
        yield* q.admit("t2", { caller: "1.2.3.4" })
        yield* q.wait("t3")
        assert.include(yield* q.attach("t2", true, true), { _tag: "waiting", position: 1 })
        yield* q.end("session of t1")
        const startBefore = q.state().leases.get("t2") ?? 0
        yield* q.attach("t2", true, true)
        yield* TestClock.adjust(FREE_LEAVE_MILLIS + 1)
        yield* q.sweep
        q.settlements()
        assert.strictEqual(yield* q.leave("t2"), "left")
        assert.deepStrictEqual(q.settlements(), [{ kind: "missed", ticket: "t2", caller: "1.2.3.4" }])
        // the next turn is as long as ever
        assert.strictEqual(q.state().leases.get("t3"), startBefore + FREE_LEAVE_MILLIS + 1)
      }),
  )

  test("a start that is the first step after the store was down is not too late", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* TestClock.adjust(1_000)
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.end("session of t1")
      yield* q.sweep
      yield* TestClock.adjust(WINDOW + 10_000)
      assert.strictEqual((yield* q.start("t2"))._tag, "starting")
    }),
  )

  test(
    "a start whose process died may have happened: its slot is held, and its ticket returns to its place",
    { slots: 2 },
    (q) =>
      Effect.gen(function* () {
        yield* q.admit("t1", { caller: "1.2.3.4" })
        yield* q.enter("other")
        yield* q.wait("t2")
        yield* TestClock.adjust(START_LEASE)
        yield* q.heartbeat("t2")
        yield* q.sweep
        assert.strictEqual(q.stateOf("t1"), "starting")
        yield* TestClock.adjust(1)
        yield* q.sweep
        assert.deepStrictEqual([q.signals(), q.settlements()], [[], []])
        assert.deepStrictEqual(q.line(), ["t1", "t2"])
        assert.deepStrictEqual([q.stateOf("?1"), q.state().leases.size], ["doubt", 2])
        // the first is not called while its session may run
        yield* q.end("session of other")
        assert.deepStrictEqual(q.called(), ["t2"])
      }),
  )

  test(
    "a session whose webhook was lost is reclaimed at the maximum call length, and its late end is a repeat",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1", { caller: "1.2.3.4", holds: true })
        yield* TestClock.adjust(LONGEST_CALL)
        yield* q.sweep
        assert.strictEqual(q.stateOf("t1"), "live")
        yield* TestClock.adjust(1)
        yield* q.sweep
        assert.deepStrictEqual(q.signals(), [{ ticket: "t1", kind: { _tag: "ended", state: "reclaimed" } }])
        assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller: "1.2.3.4" }])
        // a reclaimed call is not measured
        assert.strictEqual((yield* q.heartbeat()).averageMillis, 0)
        yield* q.enter("t2")
        assert.strictEqual(yield* q.end("session of t1"), "repeat")
        assert.strictEqual(q.stateOf("t2"), "live")
      }),
  )

  test("a sweep calls the ticket that a freed slot did not call, even if every message was lost", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      q.setSlots(2)
      const swept = yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(swept, {
        more: false,
        waiting: 0,
        leases: 2,
        live: 1,
        averageMillis: 0,
        owed: [],
        doubts: 0,
        disrupted: false,
        quarantined: { count: 0, at: 0, key: "" },
      })
      assert.strictEqual((yield* q.attach("t2"))._tag, "called")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
    }),
  )

  test("after all instances died, sweeps alone free all slots and leave nothing behind", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("live")
      yield* q.enter("ending")
      const started = yield* q.admit("starting")
      yield* q.enter("other")
      yield* q.wait("called", "waiting", "also waiting")
      yield* q.end("session of ending")
      assert.deepStrictEqual([started._tag, q.called()], ["starting", ["called"]])
      for (const millis of [WINDOW + 1, START_LEASE, GRACE, TICK_MILLIS, DOUBT_MILLIS]) {
        yield* TestClock.adjust(millis)
        yield* q.sweep
      }
      assert.deepStrictEqual(["ending", "starting", "called", "waiting", "also waiting"].map(q.stateOf), [
        "ended",
        "abandoned",
        "missed",
        "abandoned",
        "abandoned",
      ])
      yield* TestClock.adjust(LONGEST_CALL)
      yield* q.sweep
      assert.deepStrictEqual([q.stateOf("live"), q.stateOf("other")], ["reclaimed", "reclaimed"])
      assert.deepStrictEqual([q.state().leases.size, q.state().waiting.size], [0, 0])
      yield* q.enter("new")
      yield* TestClock.adjust(RETENTION_MILLIS + 1)
      yield* q.sweep
      assert.deepStrictEqual([...q.state().tickets.keys()], ["new"])
    }),
  )

  test("the end of a ticket is known during the retention, and unknown afterwards", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.end("session of t1")
      yield* TestClock.adjust(RETENTION_MILLIS)
      yield* q.sweep
      assert.deepStrictEqual(yield* q.attach("t1"), { _tag: "ended", state: "ended" })
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(yield* q.attach("t1"), { _tag: "unknown" })
      assert.deepStrictEqual(yield* q.start("t1"), { _tag: "unknown" })
    }),
  )

  test(
    "a settlement that a dead process owed is returned by sweeps after 5 s, until it is acknowledged",
    { slots: 2 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1", { caller: "1.2.3.4", holds: true })
        const admitted = yield* q.admit("t2", { caller: "2001:db8::/64" })
        yield* q.end("session of t1")
        yield* q.fail("t2", admitted._tag === "starting" ? admitted.lease : "")
        yield* TestClock.adjust(SETTLE_AFTER_MILLIS - 1)
        assert.deepStrictEqual((yield* q.sweep).owed, [])
        yield* TestClock.adjust(1)
        const release = { kind: "release" as const, ticket: "t1", caller: "1.2.3.4" }
        const refund = { kind: "refund" as const, ticket: "t2", caller: "2001:db8::/64" }
        const { owed } = yield* q.sweep
        assert.sameDeepMembers([...owed], [release, refund])
        yield* q.acknowledge([release])
        yield* q.acknowledge([release])
        assert.deepStrictEqual((yield* q.sweep).owed, [refund])
        yield* q.acknowledge([refund])
        assert.deepStrictEqual((yield* q.sweep).owed, [])
      }),
  )

  test("a settlement that is acknowledged at once is never returned as owed", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1", { caller: "1.2.3.4", holds: true })
      yield* q.end("session of t1")
      yield* q.acknowledge(q.settlements())
      yield* TestClock.adjust(SETTLE_AFTER_MILLIS)
      assert.deepStrictEqual((yield* q.sweep).owed, [])
    }),
  )

  test("a session that nears the end of its lease is ended by one instance at a time", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(1_000)
      yield* q.enter("t2")
      yield* TestClock.adjust(LONGEST_CALL - MAX_EARLY_MILLIS - 1_001)
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), ["session of t1"])
      q.on(q.there)
      yield* TestClock.adjust(19_999)
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), ["session of t2"])
      // the instance that claimed it has died, or the platform has not confirmed the end
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), ["session of t1"])
      yield* q.end("session of t1")
      yield* TestClock.adjust(20_000)
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), ["session of t2"])
      yield* TestClock.adjust(60_000)
      yield* q.sweep
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("t2")], ["ended", "reclaimed"])
      assert.deepStrictEqual(yield* q.dueEnds("all", 20_000), [])
    }),
  )

  test("where the platform limits calls, only sessions without a caller are to be ended", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      const admitted = yield* q.admit("t2")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      yield* q.startFails("t2", lease, "doubt")
      assert.strictEqual(yield* q.resolve(`?${lease}`, [["orphan"]], true), "running")
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), ["orphan"])
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), [])
      yield* TestClock.adjust(LONGEST_CALL - 1_000)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), ["orphan"])
      assert.strictEqual(yield* q.end("orphan"), "released")
    }),
  )

  test("a session whose start is bound after its ticket has left is to be ended at once", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      yield* q.startFails("t1", lease, "doubt")
      yield* q.leave("t1")
      assert.strictEqual(yield* q.bind("t1", lease, ["late"]), "stale")
      assert.deepStrictEqual(yield* q.dueEnds("at_once", 20_000), ["late"])
    }),
  )

  test("old sessions are checked by one instance at a time, by one id each", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      yield* q.bind("t1", admitted._tag === "starting" ? admitted.lease : "", ["web 1", "conversation 1"])
      yield* TestClock.adjust(1_000)
      yield* q.enter("t2")
      yield* q.admit("t3")
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual(yield* q.audit(61_000, 30_000), ["web 1"])
      q.on(q.there)
      assert.deepStrictEqual(yield* q.audit(60_000, 30_000), [])
      yield* TestClock.adjust(30_000)
      assert.deepStrictEqual(yield* q.audit(60_000, 30_000), ["web 1", "session of t2"])
    }),
  )
}
