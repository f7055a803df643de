/** Where a signal goes: it is published to the instance that holds the ticket's connection, else returned. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ids, type QueueTest, WINDOW } from "./harness.ts"

export const signals = (test: QueueTest): void => {
  test("a call for a ticket on another instance is published there and not returned", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      q.on(q.there)
      yield* q.attach("t2")
      q.on(q.here)
      yield* q.end("session of t1")
      assert.deepStrictEqual(
        q.signals().map(({ ticket }) => ticket),
        ["t1"],
      )
      const startBefore = q.state().leases.get("t2") ?? 0
      assert.deepStrictEqual(q.published(), [{ ticket: "t2", kind: { _tag: "called", startBefore, lease: "2" } }])
    }),
  )

  test("a call for a ticket on this instance, or on none, is returned and not published", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      yield* q.attach("t2")
      yield* q.attach("t3", false)
      yield* q.end("session of t1")
      yield* q.leave("t2")
      assert.deepStrictEqual(
        q.signals().map(({ ticket }) => ticket),
        ["t3"],
      )
      assert.deepStrictEqual(q.published(), [])
    }),
  )

  test("a ticket is notified where it was attached last", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* q.attach("t2")
      q.on(q.there)
      yield* q.attach("t2")
      yield* q.attach("t2", false)
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.published(), [])
      q.on(q.here)
      yield* TestClock.adjust(WINDOW + 1)
      yield* q.sweep
      assert.deepStrictEqual(q.published(), [{ ticket: "t2", kind: { _tag: "ended", state: "missed" } }])
    }),
  )

  test("the end of a call is signalled to the instance that holds its connection", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      q.on(q.there)
      yield* q.attach("t1")
      q.on(q.here)
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.signals(), [])
      assert.deepStrictEqual(q.published(), [{ ticket: "t1", kind: { _tag: "ended", state: "ended" } }])
    }),
  )

  test("one step may signal many tickets on several instances, each exactly once", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* q.wait(...ids(9))
      for (const [i, id] of ids(9).entries()) {
        q.on(i % 2 === 0 ? q.here : q.there)
        yield* q.attach(id)
      }
      q.on(q.here)
      q.setSlots(10)
      yield* q.sweep
      assert.deepStrictEqual(
        q.signals().map(({ ticket }) => ticket),
        ["t1", "t3", "t5", "t7", "t9"],
      )
      assert.deepStrictEqual(
        q.published().map(({ ticket }) => ticket),
        ["t2", "t4", "t6", "t8"],
      )
    }),
  )

  test("one heartbeat returns the places of 3,000 waiting tickets", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      const all = ids(3_000)
      const { admit, heartbeat } = q.unchecked
      yield* Effect.forEach(all, (id) => admit(id), { concurrency: 100, discard: true })
      const backwards = all.toReversed()
      const { length, tickets } = yield* heartbeat(backwards)
      assert.strictEqual(length, 3_000)
      assert.deepStrictEqual(
        tickets.map(({ position, ticket }) => [ticket, position]),
        backwards.map((ticket, i) => [ticket, 3_000 - i]),
      )
    }),
  )
}
