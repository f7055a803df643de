/** After an outage the gates return one by one: no ticket is called whose request another gate answered with 503. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { MAX_WITHDRAWN_PER_STEP } from "../../../src/fifo-queue/bounds.ts"
import { HOLD_INTERVAL_MILLIS, MAX_HOLD_MILLIS } from "../../../src/fifo-queue/rules/shared/hold.ts"
import { DEAD_MILLIS } from "../../../src/fifo-queue/rules/shared/outage.ts"
import { STALL_MILLIS } from "../../../src/fifo-queue/rules/shared/stall.ts"
import type { Bench } from "../../support/queue-bench.ts"
import type { QueueTest } from "./harness.ts"

const SECOND = 1_000
const CALLER = "1.2.3.4"

const sweepOn = (q: Bench, gate: string) =>
  Effect.suspend(() => {
    q.on(gate)
    return q.sweep
  })

/** A gate cannot reach the store, notices that, and can reach it again after a second. */
const outage = (q: Bench, ...gates: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    for (const gate of gates) {
      q.setBroken(gate, true)
      assert.match(String(yield* Effect.flip(sweepOn(q, gate))), /StoreUnavailable/)
    }
    yield* TestClock.adjust(SECOND)
    for (const gate of gates) q.setBroken(gate, false)
  })

/**
 * Both gates are up. The first is starting a ticket whose request it answers with 503, and each gate does the same to
 * one waiting ticket.
 */
const beginning = (q: Bench) =>
  Effect.gen(function* () {
    yield* sweepOn(q, q.there)
    yield* sweepOn(q, q.here)
    yield* q.admit("a1", { caller: CALLER })
    yield* q.wait("a2", "b1", "known")
    q.setWithdrawing(q.here, "a1", "a2")
    q.setWithdrawing(q.there, "b1")
  })

export const holds = (test: QueueTest): void => {
  test(
    "a returning gate withdraws with its first step, and nobody is called until the other has returned",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* beginning(q)
        yield* outage(q, q.here, q.there)
        yield* sweepOn(q, q.here)
        assert.deepStrictEqual(["a1", "a2", "b1", "known"].map(q.stateOf), ["left", "left", "waiting", "waiting"])
        assert.deepStrictEqual(q.settlements(), [{ kind: "refund", ticket: "a1", caller: CALLER }])
        assert.deepStrictEqual([q.withdrawing(q.here), q.called()], [[], []])
        // a newcomer overtakes nobody meanwhile
        yield* q.wait("late")
        yield* sweepOn(q, q.there)
        assert.deepStrictEqual([q.stateOf("b1"), q.called()], ["left", ["known"]])
      }),
  )

  test("a gate that does not return holds calls only briefly", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* beginning(q)
      yield* outage(q, q.here, q.there)
      yield* sweepOn(q, q.here)
      yield* TestClock.adjust(MAX_HOLD_MILLIS - 1)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["b1"])
    }),
  )

  for (const [what, leaves] of [
    [
      "stopped",
      (q: Bench) =>
        Effect.andThen(
          Effect.sync(() => q.on(q.there)),
          q.gone,
        ),
    ],
    ["died", () => TestClock.adjust(DEAD_MILLIS + 1)],
  ] as const) {
    test(`calls are not held for a gate that has ${what}`, { slots: 1 }, (q) =>
      Effect.gen(function* () {
        yield* sweepOn(q, q.there)
        yield* leaves(q)
        q.on(q.here)
        yield* q.admit("a1")
        yield* q.wait("known")
        q.setWithdrawing(q.here, "a1")
        yield* outage(q, q.here)
        yield* sweepOn(q, q.here)
        assert.deepStrictEqual(q.called(), ["known"])
      }),
    )
  }

  test("a flapping gate holds calls only once per interval", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      const heldAfter = (id: string) =>
        Effect.gen(function* () {
          yield* outage(q, q.here)
          yield* sweepOn(q, q.here)
          yield* q.end(`session of ${id}`)
          return q.called().length === 0
        })
      yield* sweepOn(q, q.there)
      q.on(q.here)
      for (const id of ["t1", "t2", "t3"]) yield* q.enter(id)
      yield* q.wait("t4", "t5", "t6")
      assert.isTrue(yield* heldAfter("t1"))
      assert.isFalse(yield* heldAfter("t2"))
      for (let left = HOLD_INTERVAL_MILLIS; left > 0; left -= SECOND) {
        yield* TestClock.adjust(SECOND)
        yield* sweepOn(q, q.there)
        yield* sweepOn(q, q.here)
      }
      assert.isTrue(yield* heldAfter("t3"))
    }),
  )

  test("gates whose outages overlap hold calls once in a while only", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("known")
      yield* sweepOn(q, q.there)
      yield* sweepOn(q, q.here)
      yield* outage(q, q.here)
      yield* sweepOn(q, q.here)
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), [])
      // each reports an outage that began before the other's report, and is not seen otherwise
      for (let n = 0; n < 2; n++) {
        yield* TestClock.adjust(1_200)
        q.on(n % 2 === 0 ? q.there : q.here)
        yield* q.reportUnheard((yield* q.now) - 1_300)
      }
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["known"])
    }),
  )

  test(
    "after an outage longer than a gate lives unseen, calls are held for the gates that lived when it began",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* beginning(q)
        yield* outage(q, q.here, q.there)
        yield* TestClock.adjust(2 * DEAD_MILLIS)
        yield* sweepOn(q, q.here)
        assert.deepStrictEqual([q.stateOf("a2"), q.stateOf("b1"), q.called()], ["left", "waiting", []])
        yield* sweepOn(q, q.there)
        assert.deepStrictEqual([q.stateOf("b1"), q.called()], ["left", ["known"]])
      }),
  )

  test("a step that comes after the store stood still for a minute calls nobody", { slots: 1, ahead: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("stranger")
      yield* sweepOn(q, q.there)
      yield* sweepOn(q, q.here)
      yield* TestClock.adjust(2)
      yield* q.endSentBefore(60 * SECOND, "session of t1")
      assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("stranger")], ["ended", "waiting"])
    }),
  )

  test("calls go on in a store that is slow all the time", { slots: 1, ahead: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("first", "second")
      const slowly = (seconds: number) =>
        Effect.gen(function* () {
          for (let n = 0; n < seconds; n++) {
            yield* TestClock.adjust(SECOND)
            for (const gate of [q.here, q.there]) {
              q.on(gate)
              yield* q.sweepSentBefore(2 * STALL_MILLIS)
            }
          }
        })
      yield* slowly(8)
      yield* q.endSentBefore(2 * STALL_MILLIS, "session of t1")
      assert.strictEqual(q.stateOf("first"), "called")
    }),
  )

  test("a step delayed by an outage calls nobody until the gates have returned", { slots: 2, ahead: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.enter("t2")
      yield* q.wait("known", "next")
      yield* sweepOn(q, q.there)
      yield* sweepOn(q, q.here)
      // a step without delay calls
      yield* q.endSentBefore(100, "session of t1")
      assert.strictEqual(q.stateOf("known"), "called")
      yield* TestClock.adjust(2)
      yield* q.endSentBefore(2 * STALL_MILLIS, "session of t2")
      assert.deepStrictEqual([q.stateOf("t2"), q.stateOf("next")], ["ended", "waiting"])
      yield* TestClock.adjust(SECOND)
      yield* sweepOn(q, q.there)
      yield* sweepOn(q, q.here)
      assert.strictEqual(q.stateOf("next"), "called")
    }),
  )

  test("many tickets are withdrawn in several steps, and none of them is called", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const many = Array.from({ length: 2 * MAX_WITHDRAWN_PER_STEP + 1 }, (_, n) => `m${n}`)
      yield* q.admit("a1")
      yield* q.waitTogether([...many, "known"])
      q.setWithdrawing(q.here, "a1", ...many)
      yield* outage(q, q.here)
      yield* sweepOn(q, q.here)
      assert.deepStrictEqual(q.called(), ["known"])
      assert.deepStrictEqual([...q.state().waiting.keys()], [])
    }),
  )
}
