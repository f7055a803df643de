/** The context of a caller's trace stays with its ticket and comes with its signals. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import type { QueueTest } from "./harness.ts"

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

export const traces = (test: QueueTest): void => {
  const traceOf = Effect.fnUntraced(function* (
    q: Parameters<Parameters<QueueTest>[2]>[0],
    subject: { readonly id: string } | { readonly sessions: ReadonlyArray<string> },
  ) {
    const queue = yield* FifoQueue
    assert(queue.traceOf !== undefined)
    return (yield* queue.traceOf(q.at(), subject)).result
  })

  test("a ticket's trace is found by its id, and by its session until that ends", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.admit("t2", { trace: TRACE })
      assert.strictEqual(yield* traceOf(q, { id: "t1" }), "")
      assert.strictEqual(yield* traceOf(q, { id: "t2" }), TRACE)
      assert.strictEqual(yield* traceOf(q, { id: "t3" }), "")
      yield* q.end("session of t1")
      yield* q.run("t2")
      assert.strictEqual(yield* traceOf(q, { sessions: ["other", "session of t2"] }), TRACE)
      yield* q.end("session of t2")
      assert.strictEqual(yield* traceOf(q, { sessions: ["session of t2"] }), "")
      assert.strictEqual(yield* traceOf(q, { id: "t2" }), TRACE)
    }),
  )

  test("signals have the trace of their ticket, on this instance and on another", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.enter("t2")
      yield* q.admit("t3", { trace: TRACE })
      yield* q.admit("t4", { trace: TRACE })
      yield* q.wait("t5")
      q.on(q.there)
      yield* q.attach("t4")
      q.on(q.here)
      yield* q.end("session of t1")
      assert.deepStrictEqual(
        q.signals().map(({ ticket, trace }) => [ticket, trace]),
        [
          ["t1", undefined],
          ["t3", TRACE],
        ],
      )
      yield* q.end("session of t2")
      assert.deepStrictEqual(
        q.published().map(({ ticket, trace }) => [ticket, trace]),
        [["t4", TRACE]],
      )
    }),
  )

  test("a start in doubt keeps the trace of its ticket", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1", { trace: TRACE })
      assert(admitted._tag === "starting")
      yield* q.startFails("t1", admitted.lease, "doubt")
      yield* q.leave("t1")
      assert.strictEqual(yield* q.bind("t1", admitted.lease, ["session"]), "stale")
      assert.strictEqual(yield* traceOf(q, { sessions: ["session"] }), TRACE)
    }),
  )
}
