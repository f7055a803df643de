/** A gate that cannot reach the store, is stalled or dies costs its callers no place. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { TICK_MILLIS } from "../../../src/fifo-queue/FifoQueue.ts"
import { DEAD_MILLIS } from "../../../src/fifo-queue/rules/shared/outage.ts"
import { GRACE, ids, type QueueTest, START_LEASE, WINDOW } from "./harness.ts"
import { calling, SECOND, sweeping } from "./passing-time.ts"

export const outagePlaces = (test: QueueTest): void => {
  test(
    "a caller connected to a gate that cannot reach the store keeps the place, whichever gate sweeps",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2", "t3", "t4")
        q.on(q.there)
        yield* q.attach("t2")
        yield* q.attach("t3", false)
        q.on(q.here)
        yield* q.attach("t4")
        yield* sweeping(q, SECOND)
        q.setBroken(q.there, true)
        // t4's gate is healthy, and t4 is absent
        yield* sweeping(q, GRACE + 10 * SECOND, [q.here])
        assert.deepStrictEqual(q.line(), ["t2", "t3"])
        // a slot that opens meanwhile goes to the oldest, which is not absent
        yield* q.end("session of t1")
        assert.deepStrictEqual(q.called(), ["t2"])
      }),
  )

  test("the callers of a returning gate are present before it can find them absent", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      q.on(q.there)
      yield* q.attach("t2")
      yield* q.attach("t3")
      yield* sweeping(q, SECOND)
      const shown = yield* q.now
      q.setBroken(q.there, true)
      yield* sweeping(q, GRACE + 5 * SECOND, [q.here])
      q.on(q.there)
      q.setBroken(q.there, false)
      // its first sweep comes before its tick: the grace is new, and its last heartbeat is old
      yield* q.sweepShown(shown)
      assert.deepStrictEqual(q.line(), ["t2", "t3"])
      yield* sweeping(q, GRACE + 2 * TICK_MILLIS, [q.here, q.there], () => q.heartbeat("t2"))
      assert.deepStrictEqual(q.line(), ["t2"])
    }),
  )

  test("what a gate has touched counts even if no new grace was granted", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.attach("t2")
      yield* q.sweep
      const shown = yield* q.now
      for (let waited = 0; waited < GRACE + 2 * TICK_MILLIS; waited += SECOND) {
        yield* TestClock.adjust(SECOND)
        yield* q.sweepShown(shown)
      }
      assert.deepStrictEqual(q.line(), ["t2"])
      yield* q.sweepShown(shown + GRACE + TICK_MILLIS)
      assert.deepStrictEqual(q.line(), [])
    }),
  )

  test("the callers of a dead gate are abandoned after a while, if they do not return", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      q.on(q.there)
      yield* q.attach("t2")
      yield* q.attach("t3")
      yield* sweeping(q, SECOND)
      yield* sweeping(q, DEAD_MILLIS, [q.here], () => q.attach("t3"))
      assert.deepStrictEqual(q.line(), ["t2", "t3"])
      yield* sweeping(q, SECOND, [q.here], () => q.attach("t3"))
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test(
    "a flapping gate does not keep places forever: after each grace absent tickets are abandoned",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        let rounds = 0
        while (q.line().length > 0) {
          assert.isBelow(rounds++, 3 * Math.ceil(GRACE / (4 * SECOND)))
          yield* sweeping(q, 3 * SECOND)
          q.setBroken(q.there, true)
          q.on(q.there)
          yield* Effect.flip(q.sweep)
          yield* sweeping(q, SECOND, [q.here])
          q.setBroken(q.there, false)
        }
      }),
  )

  test("a stalled gate reports that before its next step", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      q.on(q.there)
      yield* q.attach("t2")
      yield* sweeping(q, WINDOW - 2 * SECOND, [q.here, q.there], () => q.heartbeat("t3"))
      // it is stopped for 8 s, during which none of its steps fails; the other one sweeps
      yield* sweeping(q, 8 * SECOND, [q.here], () => q.heartbeat("t3"))
      q.on(q.there)
      assert.strictEqual((yield* q.start("t2"))._tag, "starting")
    }),
  )

  test("a start in flight is in doubt from its deadline on, whichever gate is silent", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* sweeping(q, SECOND)
      q.setBroken(q.there, true)
      yield* sweeping(q, START_LEASE, [q.here])
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("?1")], ["waiting", "doubt"])
    }),
  )

  test("a newcomer of a gate whose clock stood still has the whole grace to connect", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* sweeping(q, SECOND)
      // longer than the grace; the gate is not dead yet
      yield* sweeping(q, GRACE + 10 * SECOND, [q.here])
      q.on(q.there)
      yield* q.admitSentBefore(GRACE + 10 * SECOND, "t2")
      q.on(q.here)
      // by then the gate is dead, unless it has noticed that its clock stood still
      yield* sweeping(q, GRACE - 2 * SECOND, [q.here])
      assert.strictEqual(q.stateOf("t2"), "waiting")
      yield* sweeping(q, 4 * SECOND, [q.here])
      assert.strictEqual(q.stateOf("t2"), "abandoned")
    }),
  )

  test("a delayed sweep does not set the time back", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* sweeping(q, 10 * SECOND)
      const swept = q.state().meta.get("sweptAt")
      assert.strictEqual(swept, yield* q.now)
      yield* q.sweepSentBefore(8 * SECOND)
      assert.strictEqual(q.state().meta.get("sweptAt"), swept)
    }),
  )

  test(
    "tickets of a silent gate do not keep a sweep from those behind them, nor make it ask to continue",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t0")
        yield* q.waitTogether(ids(300))
        q.on(q.there)
        for (const id of ids(300)) yield* q.unchecked.attach(id)
        q.on(q.here)
        yield* q.wait("last")
        yield* q.attach("last")
        yield* sweeping(q, SECOND)
        q.setBroken(q.there, true)
        for (let waited = 0; waited <= GRACE + 2 * TICK_MILLIS; waited += SECOND) {
          yield* TestClock.adjust(SECOND)
          assert.isFalse((yield* q.sweep).more)
        }
        assert.deepStrictEqual([q.line().length, q.stateOf("last")], [300, "abandoned"])
      }),
  )
}
