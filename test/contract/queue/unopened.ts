/** Sessions that nobody has opened within `Queue.OpenSeconds`. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { QueueTest } from "./harness.ts"

const OPEN = 20_000
const CLAIM = 10_000
const given = { slots: 1, openSeconds: OPEN / 1000 } as const

export const unopened = (test: QueueTest): void => {
  test("a session is asked about once its time to be opened is over, by one gate at a time", given, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(OPEN - 1)
      assert.deepStrictEqual(yield* q.findUnopened(CLAIM), [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* q.findUnopened(CLAIM), ["session of t1"])
      q.on(q.there)
      assert.deepStrictEqual(yield* q.findUnopened(CLAIM), [])
      // the other gate has died
      yield* TestClock.adjust(CLAIM)
      assert.deepStrictEqual(yield* q.findUnopened(CLAIM), ["session of t1"])
      assert.strictEqual(yield* q.noteOpening("session of t1", true), "")
      yield* TestClock.adjust(CLAIM)
      assert.deepStrictEqual(yield* q.findUnopened(CLAIM), [])
      assert.deepStrictEqual(yield* q.dueEnds("all", CLAIM), [])
    }),
  )

  test(
    "a session that nobody has opened keeps its slot until the platform has ended it, and its turn is missed",
    given,
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1", { caller: "1.2.3.4" })
        yield* q.wait("t2")
        yield* TestClock.adjust(OPEN)
        yield* q.heartbeat("t2")
        yield* q.findUnopened(CLAIM)
        assert.strictEqual(yield* q.noteOpening("session of t1", false), "t1")
        assert.deepStrictEqual(q.line(), ["t2"])
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM), ["session of t1"])
        assert.deepStrictEqual(q.called(), [])
        assert.strictEqual(yield* q.end("session of t1"), "released")
        assert.strictEqual(q.stateOf("t1"), "missed")
        assert.deepStrictEqual(q.called(), ["t2"])
        assert.deepStrictEqual(q.settlements(), [{ kind: "missed", ticket: "t1", caller: "1.2.3.4" }])
        // it was not a call, so it says nothing of the length of calls
        assert.isUndefined(q.state().meta.get("averageMillis"))
        assert.strictEqual(yield* q.end("session of t1"), "repeat")
        assert.deepStrictEqual(q.called(), [])
      }),
  )

  test("a late answer that nobody has opened a session ends neither an opened one nor a newer one", given, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(OPEN)
      yield* q.findUnopened(CLAIM)
      // two gates have asked, and the caller has opened it between their answers
      assert.strictEqual(yield* q.noteOpening("session of t1", true), "")
      assert.strictEqual(yield* q.noteOpening("session of t1", false), "")
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM), [])
      yield* q.end("session of t1")
      yield* q.enter("t2")
      yield* TestClock.adjust(OPEN)
      yield* q.findUnopened(CLAIM)
      assert.strictEqual(yield* q.noteOpening("session of t1", false), "")
      assert.strictEqual(q.stateOf("t2"), "live")
      assert.strictEqual(yield* q.noteOpening("session of t2", false), "t2")
      assert.strictEqual(yield* q.noteOpening("session of t2", false), "")
    }),
  )

  test("without the setting no session is asked about", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(10 * OPEN)
      assert.deepStrictEqual(yield* q.findUnopened(CLAIM), [])
    }),
  )
}
