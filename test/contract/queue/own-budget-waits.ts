/**
 * Callers who wait for budgets of their own (`OnLimit: wait`, `Of: caller`): each keeps his place and holds up nobody, whichever gate acts.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { MAX_UNPAID, OWN_TOLD_MILLIS } from "../../../src/fifo-queue/rules/shared/own-budgets.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { GRACE, ids, leaseOf, type QueueTest } from "./harness.ts"

const HOUR = 3_600_000

/** `t1` waits for a budget of its caller until the returned time, and nobody else does. */
const begin = Effect.fnUntraced(function* (q: Bench, millis = HOUR) {
  q.setAwaitsOwn(true)
  const until = (yield* q.now) + millis
  yield* q.enter("busy")
  yield* q.admit("t1", { caller: "ada", holds: true, network: "9.8.7" })
  assert.deepInclude(yield* q.awaitBudget("t1", until), { _tag: "waiting", resumesAt: until, heldMillis: millis })
  return until
})

export const ownBudgetWaits = (test: QueueTest): void => {
  test("who waits for his own budget is passed over, keeps his place and is told until when", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = yield* begin(q)
      yield* q.wait("t2", "t3")
      yield* q.end("session of busy")
      yield* q.sweep
      assert.deepStrictEqual(q.stateOf("t2"), "called")
      const told = { resumesAt: until, position: 1 }
      assert.deepInclude(yield* q.attach("t1"), told)
      const { tickets } = yield* q.heartbeat("t1", "t3")
      assert.deepInclude(tickets[0], { ...told, state: "waiting" })
      assert.notProperty(tickets[1], "resumesAt")
      assert.deepStrictEqual(q.line(), ["t1", "t3"])
      const { waitingPage = [] } = yield* q.operator.snapshot()
      assert.deepStrictEqual(
        waitingPage.map(({ passedOver, resumesAt }) => [passedOver, resumesAt]),
        [
          ["budget", until],
          [undefined, undefined],
        ],
      )
    }),
  )

  for (const share of [0.25, 1]) {
    test(`he counts in nobody's place (with a share of ${share})`, { slots: 1, share }, (q) =>
      Effect.gen(function* () {
        const until = yield* begin(q)
        assert.deepInclude(yield* q.admit("t2"), { _tag: "waiting", position: 1 })
        assert.deepInclude(yield* q.admit("t3"), { _tag: "waiting", position: 2 })
        yield* q.awaitBudget("t2", until)
        assert.deepInclude(yield* q.attach("t3"), { position: 1 })
        assert.deepInclude(yield* q.attach("t2"), { position: 1 })
        const { changes } = yield* q.hold(["t1", "t2", "t3"], { places: true })
        if (share === 1) assert.deepStrictEqual(changes?.places?.first, [q.state().waiting.get("t3") ?? 0])
        yield* q.payOwn("t1")
        assert.deepInclude(yield* q.attach("t3"), { position: 2 })
      }),
    )
  }

  test("a newcomer starts while nobody waits but for a budget of his own", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q)
      q.setSlots(2)
      assert.deepInclude(yield* q.admit("t2"), { _tag: "starting" })
    }),
  )

  test("those behind him are called in their order", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q)
      yield* q.wait("t2")
      yield* q.operator.turn("pause")
      yield* q.end("session of busy")
      yield* q.operator.turn("resume")
      assert.deepStrictEqual(q.called(), ["t2"])
      yield* q.wait("t3")
      assert.deepInclude(yield* q.admit("t4"), { _tag: "waiting", position: 2 })
    }),
  )

  test("when his budget begins anew, the next sweep of any gate calls him at his place", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q, 20_000)
      yield* q.wait("t2")
      yield* TestClock.adjust(20_000)
      yield* q.sweep
      assert.property(yield* q.attach("t1"), "resumesAt")
      yield* TestClock.adjust(1)
      q.on(q.there)
      yield* q.sweep
      assert.notProperty(yield* q.attach("t1"), "resumesAt")
      yield* q.end("session of busy")
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("when a gate finds that his budget has enough again, he is called at his place at once", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q)
      yield* q.wait("t2")
      assert.strictEqual(yield* q.payOwn("t1"), 1)
      assert.deepStrictEqual(q.called(), [])
      yield* q.end("session of busy")
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.strictEqual(yield* q.payOwn("t1", "t2", "nobody"), 0)
    }),
  )

  test("and a slot that is free calls him in the same step", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q)
      q.setSlots(2)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* q.payOwn("t1")
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("one gate at a time looks after him, and another one when that has died", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = yield* begin(q)
      for (const [id, caller] of [
        ["t2", "ada"],
        ["t3", "bob"],
      ] as const) {
        yield* q.admit(id, { caller })
        yield* q.awaitBudget(id, until)
      }
      // one for each caller, the oldest
      assert.deepStrictEqual(yield* q.findUnpaid(3_000), ["t1", "t3"])
      q.on(q.there)
      assert.deepStrictEqual(yield* q.findUnpaid(3_000), [])
      yield* TestClock.adjust(3_001)
      assert.deepStrictEqual(yield* q.findUnpaid(3_000), ["t1", "t3"])
    }),
  )

  test("a start that finds his budget used up gives its slot to the next, and he keeps his place", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      q.setAwaitsOwn(true)
      const until = (yield* q.now) + HOUR
      const admitted = yield* q.admit("t1")
      yield* q.wait("t2")
      const failed = yield* q.startUnpaid("t1", admitted._tag === "starting" ? admitted.lease : "", until)
      assert.deepInclude(failed, { _tag: "waiting", position: 1, resumesAt: until })
      assert.deepStrictEqual([q.called(), q.line()], [["t2"], ["t1"]])
      // a repeated report changes nothing
      assert.deepInclude(yield* q.startUnpaid("t1", "1", until + 1), { _tag: "stale" })
    }),
  )

  test("a platform that answers again does not have him called", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      q.setAwaitsOwn(true)
      const admitted = yield* q.admit("t0")
      yield* q.wait("t1", "t2")
      yield* q.awaitBudget("t1", (yield* q.now) + 10_000)
      yield* q.startFails("t0", admitted._tag === "starting" ? admitted.lease : "", "disrupted", 1)
      yield* TestClock.adjust(2_000)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t0"])
      yield* q.start("t0")
      yield* q.bind("t0", leaseOf(q, "t0")[0], ["s0"])
      yield* q.end("s0")
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("whoever leaves, vanishes or is removed meanwhile waits no longer", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = yield* begin(q)
      yield* q.wait("t2", "t3")
      yield* q.awaitBudget("t2", until)
      yield* q.awaitBudget("t3", until)
      yield* q.leave("t1")
      yield* q.operator.remove(q.state().waiting.get("t2") ?? 0)
      yield* TestClock.adjust(GRACE)
      yield* q.sweep
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t3"), "abandoned")
      assert.deepStrictEqual([...q.state().unpaid], [])
      assert.deepInclude(yield* q.awaitBudget("t1", until), { _tag: "stale" })
    }),
  )

  test(`no more than ${MAX_UNPAID} wait for budgets of their own: the next one is refused`, { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = yield* begin(q)
      for (const id of ids(MAX_UNPAID + 1).slice(1)) {
        yield* q.admit(id, { caller: id })
        yield* q.awaitBudget(id, until)
      }
      const last = `t${MAX_UNPAID + 1}`
      assert.strictEqual(q.stateOf(last), "budget")
      assert.deepStrictEqual(
        q.settlements().map(({ kind, ticket }) => [kind, ticket]),
        [["refund", last]],
      )
      yield* q.end("session of busy")
      const admitted = yield* q.admit("next")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      assert.deepInclude(yield* q.startUnpaid("next", lease, until), { _tag: "failed" })
      assert.strictEqual(q.stateOf("next"), "budget")
    }),
  )

  test("when no gate has such a budget any more, all are called", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q)
      yield* q.wait("t2")
      q.on(q.there)
      q.setAwaitsOwn(false)
      yield* TestClock.adjust(OWN_TOLD_MILLIS + 1)
      yield* q.sweep
      assert.deepInclude(yield* q.attach("t2"), { position: 2 })
      yield* q.end("session of busy")
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("while another gate has such a budget, a gate without it calls only others", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q)
      yield* q.wait("t2")
      for (let seconds = 0; seconds < 12; seconds++) {
        q.on(seconds % 2 === 0 ? q.there : q.here)
        q.setAwaitsOwn(seconds % 2 === 1)
        yield* TestClock.adjust(1_000)
        yield* q.sweep
      }
      assert.deepStrictEqual([...q.state().unpaid.keys()], ["t1"])
      yield* q.end("session of busy")
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("a removed campaign sends him away", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* begin(q)
      yield* TestClock.adjust(60_000)
      q.setAwaitsOwn(false)
      yield* q.clear(60_000)
      assert.strictEqual(q.stateOf("t1"), "removed")
      assert.deepStrictEqual([...q.state().unpaid], [])
    }),
  )
}
