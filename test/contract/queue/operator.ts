/** What an operator sees of a campaign, calls and removes, and the log of it. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Store } from "../../../src/store/Store.ts"
import { type Bench, OPERATOR } from "../../support/queue-bench.ts"
import { EMPTY_VIEW } from "../../support/queue-view.ts"
import { GRACE, hash, ids, leaseOf, type QueueTest, WINDOW } from "./harness.ts"

const seqOf = (q: Bench, id: string): number => q.state().tickets.get(id)?.seq ?? 0

export const operator = (test: QueueTest): void => {
  test("an operator sees an empty campaign", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* q.operator.snapshot(), EMPTY_VIEW)
      assert.deepStrictEqual(yield* q.operator.auditLog(), { total: 0, lines: [] })
    }),
  )

  test(
    "an operator sees since when each slot is held and how long each ticket waits, but no ticket's id",
    { slots: 2 },
    (q) =>
      Effect.gen(function* () {
        const began = yield* (yield* Store).now
        yield* q.enter("first-secret-ticket")
        yield* q.enter("second-secret-ticket")
        yield* TestClock.adjust(2_000)
        yield* q.wait("third-secret-ticket", "fourth-secret-ticket")
        yield* q.end("session of second-secret-ticket")
        yield* q.attach("third-secret-ticket")
        const seen = yield* q.operator.snapshot()
        assert.deepInclude(seen, {
          waiting: 1,
          present: 1,
          held: 2,
          live: 1,
          accepted: 4,
          firstAcceptedAt: began + 2_000,
        })
        assert.deepStrictEqual(seen.slotPage, [
          {
            ticket: hash("third-secret-ticket"),
            state: "called",
            lease: "3",
            since: began + 2_000,
            deadline: began + 2_000 + WINDOW,
            acceptedAt: began + 2_000,
            attached: true,
          },
          {
            ticket: hash("first-secret-ticket"),
            state: "live",
            lease: "1",
            since: began,
            deadline: q.state().leases.get("first-secret-ticket") ?? 0,
            acceptedAt: began,
            attached: false,
          },
        ])
        assert.deepStrictEqual(seen.waitingPage, [
          {
            ticket: hash("fourth-secret-ticket"),
            seq: 4,
            position: 1,
            acceptedAt: began + 2_000,
            presentUntil: began + 2_000 + GRACE,
          },
        ])
        assert.notInclude(JSON.stringify(seen), "secret")
      }),
  )

  test("an operator sees pages: slots by deadline, and places in the queue", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(3)) yield* q.enter(id)
      yield* q.wait("w1", "w2", "w3", "w4", "w5")
      const seen = yield* q.operator.snapshot({ firstSlot: 1, slots: 1, firstPlace: 2, places: 2 })
      assert.deepStrictEqual(
        seen.waitingPage.map(({ position, ticket }) => [ticket, position]),
        [
          [hash("w3"), 3],
          [hash("w4"), 4],
        ],
      )
      assert.lengthOf(seen.slotPage, 1)
      assert.strictEqual(seen.waiting, 5)
      assert.deepStrictEqual((yield* q.operator.snapshot({ firstPlace: 5 })).waitingPage, [])
    }),
  )

  test("an operator gets at most 100 of 10,000 waiting tickets at once, from any place on", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* Effect.forEach(ids(10_000), (id) => q.unchecked.admit(id), { concurrency: 200, discard: true })
      const seen = yield* q.unchecked.snapshot({ firstSlot: 0, slots: 100, firstPlace: 9_950, places: 5_000 })
      assert.strictEqual(seen.waiting, 10_000)
      assert.lengthOf(seen.waitingPage, 50)
      const first = yield* q.unchecked.snapshot({ firstSlot: 0, slots: 100, firstPlace: 0, places: 5_000 })
      assert.lengthOf(first.waitingPage, 100)
    }),
  )

  test("an absent waiting ticket counts as waiting, not as present", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.wait("t1", "t2")
      yield* TestClock.adjust(GRACE - 1)
      yield* q.heartbeat("t2")
      yield* TestClock.adjust(2)
      assert.deepInclude(yield* q.operator.snapshot(), { waiting: 2, present: 1 })
    }),
  )

  test("an operator's call calls one ticket, and never exceeds the slots", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.operator.turn("pause")
      assert.strictEqual((yield* q.operator.callOne).result, "nobody")
      yield* q.wait("t1", "t2", "t3")
      yield* q.operator.callOne
      assert.deepStrictEqual(q.called(), ["t1"])
      yield* q.operator.callOne
      assert.deepStrictEqual(yield* q.operator.callOne, { result: "no_slot", ticket: "-" })
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test("an operator's call passes over absent tickets, like any call", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.wait("t1", "t2")
      yield* TestClock.adjust(GRACE - 1)
      yield* q.heartbeat("t2")
      yield* TestClock.adjust(2)
      q.setSlots(1)
      assert.deepStrictEqual(yield* q.operator.callOne, { result: "called", ticket: hash("t2") })
      assert.strictEqual(q.stateOf("t1"), "abandoned")
    }),
  )

  test("a ticket removed from the queue is notified, and the others move up", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      q.on(q.there)
      yield* q.attach("t2")
      q.on(q.here)
      assert.deepStrictEqual(yield* q.operator.remove(seqOf(q, "t2")), { result: "removed", ticket: hash("t2") })
      assert.deepStrictEqual(q.published(), [{ ticket: "t2", kind: { _tag: "ended", state: "removed" } }])
      assert.deepStrictEqual(yield* q.start("t2"), { _tag: "ended", state: "removed" })
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test("a removed ticket gets back its concurrent unit but no quota", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1", { caller: "192.0.2.1", holds: true })
      yield* q.admit("t2", { caller: "192.0.2.1", holds: false })
      yield* q.operator.remove(seqOf(q, "t1"))
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller: "192.0.2.1" }])
      yield* q.operator.remove(seqOf(q, "t2"))
      assert.deepStrictEqual(q.settlements(), [])
    }),
  )

  test("a ticket that was called meanwhile is not removed", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      const seq = seqOf(q, "t2")
      yield* q.end("session of t1")
      assert.strictEqual((yield* q.operator.remove(seq)).result, "gone")
      assert.strictEqual((yield* q.operator.remove(99)).result, "gone")
      assert.strictEqual(q.stateOf("t2"), "called")
    }),
  )

  test("every action of an operator is logged: when, who, what, on what, with what result", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const now = yield* (yield* Store).now
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      const lease = leaseOf(q, "t1")
      yield* q.operator.turn("pause")
      yield* q.operator.turn("pause")
      yield* q.operator.callOne
      yield* q.operator.remove(seqOf(q, "t2"))
      yield* q.operator.remove(2)
      yield* TestClock.adjust(5)
      yield* q.operator.endLease(...lease)
      const line = (n: number, at: number, action: string, target: string, result: string) => ({
        n,
        at,
        who: OPERATOR,
        action,
        target,
        result,
      })
      const changes = '{"settings":[{"setting":"Queue.MaxLength"}],"more":0}'
      yield* q.unchecked.act({ type: "settings", changed: "Queue.MaxLength", changes })
      const all = [
        { ...line(7, now + 5, "settings", "Queue.MaxLength", "done"), changes },
        line(6, now + 5, "end", hash("t1"), "freed_live"),
        line(5, now, "remove", "#2", "gone"),
        line(4, now, "remove", hash("t2"), "removed"),
        line(3, now, "call", "-", "no_slot"),
        line(2, now, "pause", "-", "already"),
        line(1, now, "pause", "-", "done"),
      ]
      assert.deepStrictEqual(yield* q.operator.auditLog(), { total: 7, lines: all })
      assert.deepStrictEqual(yield* q.operator.auditLog(2, 3), { total: 7, lines: all.slice(2, 5) })
    }),
  )

  test("the last 1,000 lines of the audit log are kept", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* Effect.forEach(ids(1_003), () => q.unchecked.act({ type: "pause" }), { discard: true })
      const { lines, total } = yield* q.operator.auditLog(990, 100)
      assert.strictEqual(total, 1_000)
      assert.deepStrictEqual(
        lines.map(({ n }) => n),
        [13, 12, 11, 10, 9, 8, 7, 6, 5, 4],
      )
    }),
  )
}
