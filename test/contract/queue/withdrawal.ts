/**
 * What becomes of tickets whose callers do not know of them, because their requests were answered with 503 or not at
 * all.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { RETENTION_MILLIS } from "../../../src/fifo-queue/rules/shared/line.ts"
import type { QueueTest } from "./harness.ts"

const CALLER = "1.2.3.4"

export const withdrawal = (test: QueueTest): void => {
  test("a withdrawn ticket gives up its place, its slot or its reserved slot, and its quota", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("live", { caller: CALLER })
      yield* q.admit("starts", { caller: CALLER })
      yield* q.admit("called", { caller: CALLER })
      yield* q.admit("waits", { caller: CALLER })
      yield* q.wait("other", "last")
      yield* q.end("session of live")
      assert.strictEqual(q.stateOf("called"), "called")
      assert.strictEqual(yield* q.withdraw("waits", "called", "starts", "live"), 3)
      assert.deepStrictEqual(["starts", "called", "waits", "live"].map(q.stateOf), ["left", "left", "left", "ended"])
      assert.deepStrictEqual(
        q.settlements(),
        ["waits", "called", "starts"].map((ticket) => ({ kind: "refund" as const, ticket, caller: CALLER })),
      )
      assert.deepStrictEqual(q.called(), ["other", "last"])
    }),
  )

  test("none of the tickets withdrawn together is called by the slot of another", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("starts")
      yield* q.wait("t1", "t2", "known")
      assert.strictEqual(yield* q.withdraw("starts", "t1", "t2"), 3)
      assert.deepStrictEqual(q.called(), ["known"])
    }),
  )

  test("a ticket that is withdrawn before its admission arrives is not admitted", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* q.withdraw("late"), 0)
      yield* TestClock.adjust(RETENTION_MILLIS - 1)
      yield* q.sweep
      yield* q.admit("late", { caller: CALLER, holds: true })
      assert.deepStrictEqual([q.stateOf("late"), q.state().leases.size, q.line()], [undefined, 0, []])
      // what it took meanwhile
      assert.deepStrictEqual(q.settlements(), [{ kind: "refund", ticket: "late", caller: CALLER }])
      assert.strictEqual((yield* q.admit("next"))._tag, "starting")
    }),
  )

  test("withdrawing a withdrawn, ended or running ticket changes nothing", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("live")
      yield* q.enter("over")
      yield* q.wait("t1")
      yield* q.withdraw("t1")
      yield* q.end("session of over")
      assert.strictEqual(yield* q.withdraw("live", "over", "t1"), 0)
      assert.deepStrictEqual(["live", "over", "t1"].map(q.stateOf), ["live", "ended", "left"])
      assert.strictEqual(yield* q.end("session of live"), "released")
    }),
  )

  test("a start whose ticket was withdrawn binds nothing and restores no place", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const starts = yield* q.admit("starts")
      const lease = starts._tag === "starting" ? starts.lease : ""
      yield* q.withdraw("starts")
      assert.strictEqual((yield* q.rest("starts", lease))._tag, "stale")
      assert.strictEqual(yield* q.bind("starts", lease, ["session"]), "stale")
      assert.strictEqual((yield* q.admit("next"))._tag, "starting")
    }),
  )
}
