/** A campaign whose callers wait for a budget (`OnLimit: wait`): while that has too little, nobody is called, whichever gate acts. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { QueueTest } from "./harness.ts"

const HOUR = 3_600_000

export const budgetWaits = (test: QueueTest): void => {
  test("a campaign whose budget has no time calls and admits nobody, and says until when", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      const until = (yield* q.now) + HOUR
      q.awaits({ until })
      const told = { resumesAt: until, heldMillis: HOUR }
      assert.deepInclude(yield* q.admit("t1"), { _tag: "waiting", position: 1, ...told })
      assert.deepInclude(yield* q.admit("t2"), { _tag: "waiting", position: 2, ...told })
      assert.deepInclude(yield* q.attach("t1"), told)
      assert.deepInclude(yield* q.heartbeat("t1"), told)
      assert.deepInclude(yield* q.operator.snapshot(), { resumesAt: until, paused: false })
      assert.deepInclude(yield* q.sweep, told)
      assert.deepStrictEqual([q.called(), q.line()], [[], ["t1", "t2"]])
    }),
  )

  test("it goes on with the next step of any gate when there is more, in order", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      q.awaits({ until: (yield* q.now) + HOUR })
      yield* q.wait("t1", "t2")
      yield* q.pay(80)
      q.on(q.there)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1", "t2"])
      assert.notProperty(yield* q.attach("t1"), "resumesAt")
    }),
  )

  test("no more are called than it has time for, until they run or are gone", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      q.awaits({ until: (yield* q.now) + HOUR })
      yield* q.wait("t1", "t2", "t3")
      // a block and less than another call needs
      yield* q.pay(79)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.notProperty(yield* q.attach("t2"), "resumesAt")
      yield* q.leave("t1")
      assert.deepStrictEqual(q.called(), ["t2"])
      yield* q.run("t2")
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t3"])
    }),
  )

  test("newcomers start at once only as far as it has time", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      q.awaits({ until: (yield* q.now) + HOUR })
      yield* q.pay(20)
      yield* q.enter("t1")
      yield* q.pay(-20)
      assert.deepInclude(yield* q.admit("t2"), { _tag: "waiting", position: 1 })
    }),
  )

  test("a start that finds nothing waits again at its own place", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const until = (yield* q.now) + HOUR
      q.awaits({ until })
      yield* q.pay(20)
      const admitted = yield* q.admit("t1")
      yield* q.wait("t2")
      yield* q.pay(-20)
      const failed = yield* q.startFails("t1", admitted._tag === "starting" ? admitted.lease : "", "unpaid")
      assert.deepInclude(failed, { _tag: "waiting", position: 1, resumesAt: until })
      assert.deepStrictEqual(q.line(), ["t1", "t2"])
      yield* TestClock.adjust(2_000)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* q.pay(20)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("a budget of the account is read from the account's ledger", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      q.awaits({ until: (yield* q.now) + HOUR, ofAccount: true })
      yield* q.wait("t1")
      yield* q.pay(60)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* q.pay(60, true)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("an operator calls one caller anyway", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      q.awaits({ until: (yield* q.now) + HOUR })
      yield* q.wait("t1")
      assert.strictEqual((yield* q.operator.callOne).result, "called")
    }),
  )
}
