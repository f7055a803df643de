/** How many slots and places one network may take while others want them. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { RECOUNT_MILLIS } from "../../../src/fifo-queue/rules/recount.ts"
import { MAX_CLEARED_PER_STEP } from "../../../src/fifo-queue/rules/shared/call-next.ts"
import { shortHash } from "../../../src/fifo-queue/short-hash.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { type Rule, Store } from "../../../src/store/Store.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { GRACE, ids, type QueueTest, WINDOW } from "./harness.ts"

/** Slots of which a network may hold two while others wait, with a share of a quarter. */
const SLOTS = 8

/** Takes all slots with callers that have no network, named `s1` to `s8`. */
const occupied = (q: Bench) => Effect.forEach(ids(SLOTS), (id) => q.enter(id.replace("t", "s")), { discard: true })

/** Newcomers of one network, named after it and numbered from 1. */
const crowd = (q: Bench, network: string, count: number) =>
  Effect.forEach(ids(count), (id) => q.admit(id.replace("t", network), { network }), { discard: true })

/** Corrupts the counts as a faulty program would, after it ended and called tickets of `a` and `b`. */
const miscount: Rule<object, object, true> = {
  name: "test.miscount",
  run: (db, keys) => {
    db.hset(keys[11] ?? "", "ha", "5")
    db.hset(keys[11] ?? "", "wb", "40")
    db.hset(keys[0] ?? "", "passedSeq", "6")
    return [true]
  },
  lua: `redis.call('HSET', KEYS[12], 'ha', 5, 'wb', 40)
redis.call('HSET', KEYS[1], 'passedSeq', 6)
return '[true]'`,
  decode: () => true,
  batch: false,
}

export const networks = (test: QueueTest): void => {
  test("a network at its share of the slots is passed over while another waits", { slots: SLOTS }, (q) =>
    Effect.gen(function* () {
      yield* occupied(q)
      yield* crowd(q, "a", 5)
      yield* q.admit("b1", { network: "b" })
      yield* q.admit("n1")
      const order: Array<string> = []
      for (const id of ids(4)) {
        yield* q.end(`session of ${id.replace("t", "s")}`)
        order.push(...q.called())
      }
      assert.deepStrictEqual(order, ["a1", "a2", "b1", "n1"])
      assert.deepStrictEqual(q.line(), ["a3", "a4", "a5"])
    }),
  )

  test("a network may hold all slots while nobody else waits", { slots: SLOTS }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(SLOTS - 1)) yield* q.enter(id, { network: "a" })
      yield* q.enter("s8")
      yield* crowd(q, "a", 2)
      yield* q.end("session of s8")
      assert.deepStrictEqual(q.called(), ["a1"])
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["a2"])
    }),
  )

  test(
    "a passed-over ticket keeps its place, and is called once its network is below its share",
    { slots: SLOTS },
    (q) =>
      Effect.gen(function* () {
        yield* occupied(q)
        yield* crowd(q, "a", 4)
        yield* q.wait("n1", "n2", "n3")
        for (const id of ["s1", "s2", "s3"]) yield* q.end(`session of ${id}`)
        assert.deepStrictEqual(q.line(), ["a3", "a4", "n2", "n3"])
        assert.deepStrictEqual(yield* q.attach("a4"), {
          _tag: "waiting",
          position: 2,
          length: 4,
          averageMillis: 0,
          disrupted: false,
        })
        assert.deepStrictEqual(yield* q.attach("n2"), {
          _tag: "waiting",
          // both older tickets are of a network at its share
          position: 1,
          length: 4,
          averageMillis: 0,
          disrupted: false,
        })
        yield* q.run("a1")
        yield* q.end("session of a1")
        assert.deepStrictEqual(q.called(), ["a3"])
        yield* q.end("session of s4")
        assert.deepStrictEqual(q.called(), ["n2"])
      }),
  )

  test("the older ticket of two networks at their share is called, when nobody else waits", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(4)) yield* q.enter(id)
      for (const id of ["a1", "b1", "b2", "a2"]) yield* q.admit(id, { network: id.slice(0, 1) })
      const order: Array<string> = []
      for (const id of ids(4)) {
        yield* q.end(`session of ${id}`)
        order.push(...q.called())
      }
      assert.deepStrictEqual(order, ["a1", "b1", "b2", "a2"])
    }),
  )

  test("several slots that open at once are shared", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* crowd(q, "a", 6)
      yield* crowd(q, "b", 2)
      q.setSlots(SLOTS)
      yield* q.sweep
      // two each, then the rest to the oldest
      assert.deepStrictEqual(q.called(), ["a1", "a2", "b1", "b2", "a3", "a4", "a5", "a6"])
    }),
  )

  test("with a share of 1 nobody is passed over", { slots: SLOTS, share: 1 }, (q) =>
    Effect.gen(function* () {
      yield* occupied(q)
      yield* crowd(q, "a", 3)
      yield* q.wait("n1")
      for (const id of ["s1", "s2", "s3"]) yield* q.end(`session of ${id}`)
      assert.deepStrictEqual(q.line(), ["n1"])
    }),
  )

  test("a newcomer of another network does not overtake passed-over tickets", { slots: SLOTS }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(SLOTS)) yield* q.enter(id, { network: "a" })
      yield* crowd(q, "a", 2)
      q.setSlots(SLOTS + 1)
      assert.strictEqual((yield* q.admit("n1"))._tag, "waiting")
      assert.deepStrictEqual(q.called(), ["a1"])
      q.setSlots(SLOTS + 2)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["n1"])
    }),
  )

  test("a passed-over ticket may leave, be removed or become absent like any other", { slots: SLOTS }, (q) =>
    Effect.gen(function* () {
      yield* occupied(q)
      yield* crowd(q, "a", 5)
      yield* q.wait("n1", "n2")
      for (const id of ["s1", "s2", "s3"]) yield* q.end(`session of ${id}`)
      assert.deepStrictEqual(q.line(), ["a3", "a4", "a5", "n2"])
      yield* q.leave("a3")
      yield* q.operator.remove(q.state().tickets.get("a4")?.seq ?? 0)
      yield* TestClock.adjust(GRACE - 1)
      yield* q.heartbeat("n2")
      yield* TestClock.adjust(2)
      yield* q.sweep
      assert.deepStrictEqual([q.stateOf("a3"), q.stateOf("a4"), q.stateOf("a5")], ["left", "removed", "abandoned"])
      assert.deepStrictEqual(q.line(), [])
      assert.strictEqual(q.stateOf("n2"), "called")
      assert.strictEqual(q.state().passed.size, 0)
    }),
  )

  test(
    "a passed-over ticket waits through a pause, and an operator's call follows the same rule",
    { slots: SLOTS },
    (q) =>
      Effect.gen(function* () {
        yield* occupied(q)
        yield* crowd(q, "a", 4)
        yield* q.wait("n1", "n2")
        for (const id of ["s1", "s2", "s3"]) yield* q.end(`session of ${id}`)
        yield* q.operator.turn("pause")
        yield* q.end("session of s4")
        assert.deepStrictEqual(q.called(), [])
        yield* q.operator.callOne
        assert.deepStrictEqual(q.called(), ["n2"])
        yield* q.operator.turn("resume")
        yield* q.end("session of s5")
        assert.deepStrictEqual(q.called(), ["a3"])
      }),
  )

  test("a ticket refused for capacity is passed over no more than before", { slots: SLOTS }, (q) =>
    Effect.gen(function* () {
      yield* occupied(q)
      yield* crowd(q, "a", 3)
      yield* q.wait("n1", "n2")
      for (const id of ["s1", "s2", "s3"]) yield* q.end(`session of ${id}`)
      const lease = yield* q.begin("a1")
      yield* q.rest("a1", lease)
      assert.deepStrictEqual(q.line(), ["a1", "a3", "n2"])
      yield* q.end("session of s4")
      assert.deepStrictEqual(q.called(), ["a1", "n2"])
    }),
  )

  test("a network whose called tickets do not start wastes no more than its share", { slots: SLOTS }, (q) =>
    Effect.gen(function* () {
      yield* occupied(q)
      yield* crowd(q, "a", 6)
      yield* q.wait("n1")
      for (const id of ["s1", "s2", "s3"]) yield* q.end(`session of ${id}`)
      yield* q.run("n1")
      yield* TestClock.adjust(WINDOW - 1)
      yield* q.heartbeat("a3", "a4", "a5", "a6")
      yield* TestClock.adjust(2)
      yield* q.sweep
      assert.deepStrictEqual([q.stateOf("a1"), q.stateOf("a2")], ["missed", "missed"])
      assert.deepStrictEqual(q.called(), ["a3", "a4"])
    }),
  )

  test(
    `more than ${MAX_CLEARED_PER_STEP} tickets of a network at its share are passed over in two steps`,
    { slots: SLOTS },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("a", { network: "a" })
        yield* q.enter("b", { network: "a" })
        for (const id of ids(SLOTS - 2)) yield* q.enter(id)
        yield* Effect.forEach(ids(MAX_CLEARED_PER_STEP + 50), (id) => q.admit(`w${id}`, { network: "a" }), {
          discard: true,
        })
        yield* q.wait("n1")
        yield* q.end("session of t1")
        assert.deepStrictEqual(q.called(), [])
        assert.strictEqual((yield* q.sweep).more, false)
        assert.deepStrictEqual(q.called(), ["n1"])
        assert.strictEqual(q.state().passed.size, MAX_CLEARED_PER_STEP + 50)
        yield* q.wait("n2")
        yield* q.end("session of t2")
        assert.deepStrictEqual(q.called(), ["n2"])
      }),
  )

  test(
    "a network cannot fill the queue: it gets only its share of the places still free",
    { slots: 0, maxLength: 40 },
    (q) =>
      Effect.gen(function* () {
        const admitted = yield* Effect.forEach(ids(40), (id) => q.admit(id, { network: "a" }))
        assert.strictEqual(admitted.filter(({ _tag }) => _tag === "waiting").length, 20)
        assert.deepStrictEqual(admitted.at(-1), { _tag: "full", length: 20, averageMillis: 0 })
        // a quarter of what is then still free: 16, 13, 11
        for (const [network, most] of [
          ["b", 4],
          ["c", 3],
          ["d", 2],
        ] as const) {
          const more = yield* Effect.forEach(ids(9), (id) => q.admit(network + id, { network }))
          assert.strictEqual(more.filter(({ _tag }) => _tag === "waiting").length, most, network)
        }
        for (const id of ids(11)) assert.strictEqual((yield* q.admit(`other${id}`, { network: id }))._tag, "waiting")
        assert.strictEqual((yield* q.admit("last"))._tag, "full")
      }),
  )

  test("a single network may hold half of the places", { slots: 0, maxLength: 10 }, (q) =>
    Effect.gen(function* () {
      yield* crowd(q, "a", 5)
      assert.strictEqual((yield* q.admit("more", { network: "a" }))._tag, "full")
      yield* q.leave("a1")
      assert.strictEqual((yield* q.admit("again", { network: "a" }))._tag, "waiting")
    }),
  )

  test("with a share of 1 a network may fill the queue", { slots: 0, maxLength: 10, share: 1 }, (q) =>
    Effect.gen(function* () {
      yield* crowd(q, "a", 10)
      assert.lengthOf(q.line(), 10)
    }),
  )

  test(
    "with a share, nobody is shown a place that is worse than the number of callers who are called before",
    { slots: SLOTS },
    (q) =>
      Effect.gen(function* () {
        yield* occupied(q)
        const networkOf = ["a", "a", "a", "b", "", "a", "c", "b", "b", "a", "d", "a", "", "b", "a", "c"]
        const shown = new Map<string, number>()
        for (const [i, network] of networkOf.entries()) {
          const admitted = yield* q.admit(`w${i}`, { network })
          if (admitted._tag === "waiting") shown.set(`w${i}`, admitted.position)
          if (admitted._tag === "waiting") assert.strictEqual(admitted.length, i + 1)
        }
        // the last of c is called before five of a and two of b, for which there is no room
        assert.strictEqual(shown.get("w15"), 9)
        const holding = ids(SLOTS).map((id) => id.replace("t", "s"))
        let calls = 0
        const waits = new Map<string, number>()
        while (q.line().length > 0) {
          for (const id of q.line()) {
            const at = yield* q.attach(id)
            assert.strictEqual(at._tag, "waiting")
            // from now on, at most so many are called before this one
            if (at._tag === "waiting") shown.set(id, Math.max(shown.get(id) ?? 0, calls + at.position))
          }
          assert.deepStrictEqual(
            (yield* q.heartbeat(...q.line())).tickets.map(({ position }) => position),
            yield* Effect.forEach(q.line(), (id) =>
              Effect.map(q.attach(id), (at) => (at._tag === "waiting" ? at.position : 0)),
            ),
          )
          // calls of every age end
          const [over = ""] = holding.splice((calls * 5) % holding.length, 1)
          yield* q.end(`session of ${over}`)
          for (const id of q.called()) {
            calls++
            waits.set(id, calls)
            holding.push(id)
            yield* q.run(id)
          }
        }
        assert.strictEqual(waits.size, networkOf.length)
        for (const [id, order] of waits) assert.isAtMost(shown.get(id) ?? 0, order, id)
      }),
  )

  test(
    "a network that floods the queue does not change the place of a newcomer of another, whom the next slot serves",
    { slots: SLOTS },
    (q) =>
      Effect.gen(function* () {
        for (const id of ids(2)) yield* q.enter(id, { network: "flood" })
        for (const id of ids(SLOTS - 2)) yield* q.enter(id.replace("t", "s"))
        yield* crowd(q, "flood", 150)
        const newcomer = yield* q.admit("n1", { network: "home" })
        assert.deepInclude(newcomer, { _tag: "waiting", position: 1, length: 151 })
        assert.deepInclude(yield* q.admit("n2", { network: "home" }), { position: 2, length: 152 })
        assert.deepInclude(yield* q.admit("more", { network: "flood" }), { position: 153, length: 153 })
        yield* q.end("session of s1")
        assert.deepStrictEqual(q.called(), ["n1"])
      }),
  )

  test("an operator sees each waiting ticket at the place that its caller is told", { slots: SLOTS }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(2)) yield* q.enter(id, { network: "flood" })
      for (const id of ids(SLOTS - 2)) yield* q.enter(id.replace("t", "s"))
      yield* crowd(q, "flood", 5)
      yield* q.admit("n1", { network: "home" })
      const waiting = q.line()
      const told = yield* Effect.forEach(waiting, (id) =>
        Effect.map(q.attach(id), (at) => [shortHash(id), at._tag === "waiting" ? at.position : 0]),
      )
      assert.deepInclude(told, [shortHash("n1"), 1])
      const placesFrom = (firstPlace: number) =>
        Effect.map(q.operator.snapshot({ firstPlace }), ({ waitingPage }) =>
          waitingPage.map(({ position, ticket }) => [ticket, position]),
        )
      assert.deepStrictEqual(yield* placesFrom(0), told)
      assert.deepStrictEqual(yield* placesFrom(4), told.slice(4))
    }),
  )

  test("places follow a change of the slots", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(4)) yield* q.enter(id)
      yield* crowd(q, "a", 5)
      yield* q.wait("n1")
      const placeOf = (id: string) => Effect.map(q.attach(id), (at) => (at._tag === "waiting" ? at.position : 0))
      assert.strictEqual(yield* placeOf("n1"), 2)
      yield* TestClock.adjust(20_000)
      q.setSlots(SLOTS)
      yield* q.operator.turn("pause")
      yield* q.sweep
      assert.strictEqual(yield* placeOf("n1"), 3)
      yield* TestClock.adjust(20_000)
      q.setSlots(4)
      yield* q.heartbeat(...q.line())
      yield* q.sweep
      assert.strictEqual(yield* placeOf("n1"), 2)
    }),
  )

  test("wrong counts are corrected within ten minutes", { slots: 4 }, (q) =>
    Effect.gen(function* () {
      yield* TestClock.adjust(1_000)
      for (const id of ids(4)) yield* q.enter(id)
      yield* q.admit("a1", { network: "a" })
      yield* q.admit("b1", { network: "b" })
      yield* q.sweep
      const store = yield* Store
      yield* store.run(miscount, { keys: keysOf(q.at().campaign), now: 0, context: NO_CONTEXT, call: {} })
      yield* TestClock.adjust(RECOUNT_MILLIS)
      yield* q.sweep
      yield* q.admit("b2", { network: "b" })
      // a is below its share, and b1 is not lost between examined and unexamined tickets
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["a1"])
      yield* q.end("session of t2")
      assert.deepStrictEqual(q.called(), ["b1"])
    }),
  )
}
