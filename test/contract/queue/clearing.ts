/** The clearing of a campaign that no gate serves any more. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DOUBT_MILLIS } from "../../../src/fifo-queue/bounds.ts"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { MAX_PER_STEP } from "../../../src/fifo-queue/rules/shared/expiry.ts"
import { RETENTION_MILLIS } from "../../../src/fifo-queue/rules/shared/line.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { type Rule, Store } from "../../../src/store/Store.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { ids, LONGEST_CALL, type QueueTest, START_LEASE } from "./harness.ts"

const UNSERVED = 60_000

/** How many ended sessions a campaign remembers. Keys: the queue's */
const remembered: Rule<object, object, number> = {
  name: "test.remembered",
  run: (db, keys) => [db.zcard(keys[7] ?? "")],
  lua: "return cjson.encode({redis.call('ZCARD', KEYS[8])})",
  decode: Number,
  batch: false,
}

/** What a clearing did; the test fails when a gate serves the campaign. */
const clear = (q: Bench, unservedMillis: number) =>
  Effect.map(q.clear(unservedMillis), (cleared) => {
    if (cleared._tag === "served") return assert.fail("the campaign is served")
    const { _tag, ...rest } = cleared
    return rest
  })

export const clearing = (test: QueueTest): void => {
  test("clearing removes waiting tickets with a refund, and lets calls continue", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("call")
      yield* q.admit("a", { caller: "1.2.3.4", holds: true })
      yield* q.admit("b", { caller: "1.2.3.5" })
      yield* q.wait("c")
      yield* TestClock.adjust(UNSERVED)
      assert.deepStrictEqual(yield* clear(q, UNSERVED), {
        more: false,
        sent: 3,
        left: true,
        waiting: 0,
        leases: 1,
        live: 1,
        owed: [],
      })
      assert.deepStrictEqual(["a", "b", "c", "call"].map(q.stateOf), ["removed", "removed", "removed", "live"])
      assert.deepStrictEqual(
        q.settlements().map(({ kind, ticket }) => `${kind} ${ticket}`),
        ["refund a", "refund b"],
      )
      // a repeated clearing has nothing to do
      assert.strictEqual((yield* clear(q, UNSERVED)).sent, 0)
      q.setSlots(0)
      assert.strictEqual(yield* q.end("session of call"), "released")
    }),
  )

  test("clearing notifies each holder where the connection is", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.wait("a", "b")
      q.on(q.there)
      yield* q.attach("b")
      q.on(q.here)
      yield* TestClock.adjust(UNSERVED)
      yield* q.clear(UNSERVED)
      assert.deepStrictEqual(q.signals(), [{ ticket: "a", kind: { _tag: "ended", state: "removed" } }])
      assert.deepStrictEqual(q.published(), [{ ticket: "b", kind: { _tag: "ended", state: "removed" } }])
    }),
  )

  test("clearing frees the slots of called tickets, and leaves starts alone", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("one")
      yield* q.enter("two")
      yield* q.admit("called", { caller: "1.2.3.4" })
      yield* q.wait("starting")
      yield* q.end("session of one")
      yield* q.end("session of two")
      const lease = yield* q.begin("starting")
      yield* TestClock.adjust(START_LEASE - 1)
      assert.deepStrictEqual(yield* clear(q, START_LEASE - 1), {
        more: false,
        sent: 1,
        left: true,
        waiting: 0,
        leases: 1,
        live: 0,
        owed: [],
      })
      assert.strictEqual(q.stateOf("called"), "removed")
      assert.deepStrictEqual(
        q.settlements().map(({ kind }) => kind),
        ["refund"],
      )
      assert.strictEqual(yield* q.bind("starting", lease, ["late"]), "live")
    }),
  )

  test("clearing leaves alone tickets that were accepted or called since", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("call")
      yield* q.wait("old", "older")
      yield* TestClock.adjust(UNSERVED - 1)
      yield* q.heartbeat("old", "older")
      yield* q.wait("young")
      yield* q.end("session of call")
      yield* TestClock.adjust(1)
      // the called one was accepted long ago, but called just now
      assert.strictEqual((yield* clear(q, UNSERVED)).sent, 1)
      assert.deepStrictEqual(["old", "older", "young"].map(q.stateOf), ["called", "removed", "waiting"])
      yield* TestClock.adjust(UNSERVED)
      assert.strictEqual((yield* clear(q, UNSERVED)).sent, 2)
    }),
  )

  test("a ticket that returns to its place after a clearing is removed by the next one", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const unserved = START_LEASE - 1
      const admission = yield* q.admit("a", { caller: "1.2.3.4" })
      const lease = admission._tag === "starting" ? admission.lease : ""
      yield* TestClock.adjust(unserved)
      assert.strictEqual((yield* clear(q, unserved)).sent, 0)
      yield* q.rest("a", lease)
      assert.strictEqual((yield* clear(q, unserved)).sent, 1)
      assert.strictEqual(q.stateOf("a"), "removed")
    }),
  )

  test("more waiting tickets than one step handles are removed in further steps, none twice", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.waitTogether(ids(450))
      yield* TestClock.adjust(UNSERVED)
      const sent: Array<number> = []
      for (let more = true; more; ) {
        const cleared = yield* clear(q, UNSERVED)
        sent.push(cleared.sent)
        more = cleared.more
      }
      const last = 450 % MAX_PER_STEP
      assert.deepStrictEqual(sent, [...Array.from({ length: (450 - last) / MAX_PER_STEP }, () => MAX_PER_STEP), last])
    }),
  )

  test("clearing does nothing to a campaign that was swept since", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("call")
      yield* q.wait("a")
      yield* TestClock.adjust(1_000)
      yield* q.sweep
      yield* TestClock.adjust(UNSERVED - 1)
      const before = q.state()
      assert.deepStrictEqual(yield* q.clear(UNSERVED), { _tag: "served" })
      assert.deepStrictEqual(q.state(), before)
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* clear(q, UNSERVED)).sent, 1)
    }),
  )

  test(
    "clearing reclaims the slot of a call beyond the maximum length, and puts an unfinished start in doubt",
    { slots: 2 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("call")
        yield* q.admit("starting", { caller: "1.2.3.4" })
        yield* TestClock.adjust(LONGEST_CALL)
        assert.strictEqual((yield* clear(q, UNSERVED)).leases, 2)
        assert.strictEqual(q.stateOf("starting"), "waiting")
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* clear(q, UNSERVED)).leases, 1)
        assert.deepStrictEqual(["call", "starting"].map(q.stateOf), ["reclaimed", "removed"])
        yield* TestClock.adjust(DOUBT_MILLIS)
        assert.strictEqual((yield* clear(q, UNSERVED)).leases, 0)
      }),
  )

  test("clearing returns the settlements that a dead process still owed", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("a", { caller: "1.2.3.4" })
      yield* TestClock.adjust(UNSERVED)
      yield* q.clear(UNSERVED)
      yield* TestClock.adjust(5_000)
      const { left, owed } = yield* clear(q, UNSERVED)
      assert.deepStrictEqual(owed, [{ kind: "refund", ticket: "a", caller: "1.2.3.4" }])
      assert.isTrue(left)
    }),
  )

  test(
    "once its tickets are forgotten a campaign has nothing left, and its ended sessions are forgotten",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        const store = yield* Store
        const count = store.run(remembered, { keys: keysOf(q.at().campaign), now: 0, context: NO_CONTEXT, call: {} })
        yield* q.enter("call", { caller: "1.2.3.4" })
        yield* q.end("session of call")
        yield* q.end("session of nobody")
        assert.isTrue((yield* clear(q, UNSERVED)).left)
        assert.strictEqual(yield* count, 2)
        yield* TestClock.adjust(RETENTION_MILLIS)
        yield* q.acknowledge(q.settlements())
        assert.isTrue((yield* clear(q, UNSERVED)).left)
        yield* TestClock.adjust(1)
        assert.isFalse((yield* clear(q, UNSERVED)).left)
        assert.strictEqual(yield* count, 0)
      }),
  )

  test("a campaign that never existed has nothing left", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* clear(q, UNSERVED), {
        more: false,
        sent: 0,
        left: false,
        waiting: 0,
        leases: 0,
        live: 0,
        owed: [],
      })
    }),
  )
}
