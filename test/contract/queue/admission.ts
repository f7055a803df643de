/** Which newcomers are admitted, queued or refused. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { makeBench } from "../../support/queue-bench.ts"
import { ids, type QueueTest } from "./harness.ts"

export const admission = (test: QueueTest): void => {
  test("a newcomer takes a free slot at once", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* q.admit("t1"), { _tag: "starting", lease: "1" })
      assert.deepStrictEqual(yield* q.admit("t2"), { _tag: "starting", lease: "2" })
      assert.deepStrictEqual(q.signals(), [])
    }),
  )

  test("newcomers wait in the order of their arrival while every slot is taken", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      for (const [i, id] of ["z", "a", "m"].entries()) {
        const place = { _tag: "waiting" as const, position: i + 1, length: i + 1, averageMillis: 0, disrupted: false }
        assert.deepStrictEqual(yield* q.admit(id), place)
      }
      assert.deepStrictEqual(q.line(), ["z", "a", "m"])
    }),
  )

  test("a full queue refuses newcomers and stores nothing about them", { slots: 1, maxLength: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2", "t3")
      assert.deepStrictEqual(yield* q.admit("t4"), { _tag: "full", length: 2, averageMillis: 0 })
      assert.isUndefined(q.stateOf("t4"))
      assert.deepStrictEqual(yield* q.attach("t4"), { _tag: "unknown" })
      assert.deepStrictEqual(q.line(), ["t2", "t3"])
      yield* q.leave("t2")
      yield* q.wait("t5")
      assert.deepStrictEqual(q.line(), ["t3", "t5"])
    }),
  )

  test("a queue of length 0 admits newcomers while a slot is free, and nobody waits", { slots: 1, maxLength: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      assert.strictEqual((yield* q.admit("t2"))._tag, "full")
    }),
  )

  test("without slots everybody waits", { slots: 0 }, (q) =>
    Effect.gen(function* () {
      yield* q.wait("t1", "t2")
      yield* q.sweep
      assert.deepStrictEqual(q.line(), ["t1", "t2"])
    }),
  )

  test("a newcomer does not overtake a waiting ticket: a freed slot calls the waiting one", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      q.setSlots(2)
      assert.strictEqual((yield* q.admit("t3"))._tag, "waiting")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(q.line(), ["t3"])
    }),
  )

  test(
    "a newcomer that finds more free slots than waiting tickets is admitted after those are called",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        q.setSlots(3)
        assert.strictEqual((yield* q.admit("t3"))._tag, "starting")
        assert.deepStrictEqual([q.stateOf("t2"), q.stateOf("t3")], ["called", "starting"])
      }),
  )

  test("exactly as many of many simultaneous newcomers are admitted as there are slots", { slots: 10 }, (q) =>
    Effect.gen(function* () {
      const queue = yield* FifoQueue
      const all = yield* Effect.forEach(
        ids(60),
        (id) => queue.admit(q.at(), { id, caller: "", holds: false, network: "", data: "" }),
        { concurrency: "unbounded" },
      )
      const leases = all.flatMap(({ result }) => (result._tag === "starting" ? [result.lease] : []))
      assert.deepStrictEqual(
        leases.map(Number).toSorted((a, b) => a - b),
        Array.from({ length: 10 }, (_, i) => i + 1),
      )
      const places = all.flatMap(({ result }) => (result._tag === "waiting" ? [result.position] : []))
      assert.deepStrictEqual(
        places.toSorted((a, b) => a - b),
        Array.from({ length: 50 }, (_, i) => i + 1),
      )
    }),
  )

  test("campaigns have slots, queues and tickets of their own", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const other = yield* makeBench(1)
      yield* q.enter("t1")
      yield* other.enter("t1")
      yield* q.wait("t2")
      yield* other.wait("t2")
      assert.strictEqual(yield* other.end("session of t1"), "released")
      assert.deepStrictEqual([q.stateOf("t1"), other.stateOf("t1")], ["live", "ended"])
      assert.deepStrictEqual(yield* q.attach("t3"), { _tag: "unknown" })
      yield* q.sweep
      assert.deepStrictEqual([q.line(), other.line()], [["t2"], []])
      yield* other.close
    }),
  )

  test("a campaign's name may contain any characters, and similar names do not collide", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const { campaign } = q.at()
      const odd = ["}", "{", "{a}", "}:meta{", "a b", "a%20b", "a/b", "ü🌍", "a:b", "*", "'\"\\\n"]
      const benches = yield* Effect.forEach(odd, (name) => makeBench(1, `${name}${campaign}`))
      for (const bench of benches) {
        yield* bench.enter("t1")
        yield* bench.wait("t2")
      }
      for (const bench of benches) {
        assert.strictEqual(yield* bench.end("session of t1"), "released")
        assert.deepStrictEqual(bench.called(), ["t2"])
        yield* bench.close
      }
    }),
  )
}
