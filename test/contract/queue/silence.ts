/** Silent calls: their pages report how long nobody has spoken, and a gate ends those that stay silent. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { hash, LONGEST_CALL, type QueueTest } from "./harness.ts"

const SECOND = 1_000
const CLAIM = 20 * SECOND
/** nobody may speak for 30 s */
const LIMIT = { millis: 30 * SECOND, ends: true }

export const silence = (test: QueueTest): void => {
  test(
    "a call in which nobody speaks is ended at its limit, counted from when the page last heard somebody",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* q.wait("t2")
        yield* TestClock.adjust(40 * SECOND)
        yield* q.heartbeat("t2")
        const reported = yield* q.silence("t1", 20 * SECOND, LIMIT)
        const endsAt = (yield* q.now) + 10 * SECOND
        assert.deepStrictEqual(reported, { _tag: "silent", endsAt })
        const { slotPage } = yield* q.operator.snapshot()
        assert.deepInclude(slotPage[0], { ticket: hash("t1"), state: "live", silentUntil: endsAt })
        assert.deepInclude(yield* q.attach("t1"), { _tag: "live", silentUntil: endsAt })
        yield* TestClock.adjust(10 * SECOND - 1)
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), [])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), ["session of t1"])
        // one gate at a time
        q.on(q.there)
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), [])
        assert.strictEqual(yield* q.end("session of t1"), "released")
        assert.strictEqual(q.stateOf("t1"), "silent")
        assert.deepStrictEqual(q.called(), ["t2"])
        assert.strictEqual(yield* q.end("session of t1"), "repeat")
        assert.deepStrictEqual(yield* q.silence("t1", 0, LIMIT), { _tag: "ended", state: "silent" })
      }),
  )

  test("another gate ends the silent call when the one that was to end it has died", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      yield* q.silence("t1", 30 * SECOND, LIMIT)
      yield* TestClock.adjust(5 * SECOND)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), ["session of t1"])
      q.on(q.there)
      yield* TestClock.adjust(CLAIM - 1)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), ["session of t1"])
    }),
  )

  test("somebody who speaks keeps the call, which then ends at the longest call as before", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      yield* q.silence("t1", 20 * SECOND, LIMIT)
      // at the gate to which the page has connected again
      q.on(q.there)
      assert.deepStrictEqual(yield* q.silence("t1", 0, LIMIT), { _tag: "speech" })
      assert.notProperty((yield* q.operator.snapshot()).slotPage[0], "silentUntil")
      yield* TestClock.adjust(LONGEST_CALL - 121 * SECOND)
      assert.deepStrictEqual(yield* q.dueEnds("all", CLAIM, LIMIT.millis), [])
      yield* TestClock.adjust(2 * SECOND)
      assert.deepStrictEqual(yield* q.dueEnds("all", CLAIM, LIMIT.millis), ["session of t1"])
      assert.strictEqual(yield* q.end("session of t1"), "released")
      assert.strictEqual(q.stateOf("t1"), "ended")
    }),
  )

  test(
    "the last report counts: a shorter silence moves the end, and the caller has some seconds at least",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* TestClock.adjust(60 * SECOND)
        const now = yield* q.now
        // however long the page says it was
        assert.deepStrictEqual(yield* q.silence("t1", 86_400 * SECOND, LIMIT), {
          _tag: "silent",
          endsAt: now + 5 * SECOND,
        })
        assert.deepStrictEqual(yield* q.silence("t1", 1, LIMIT), { _tag: "silent", endsAt: now + 30 * SECOND - 1 })
        yield* TestClock.adjust(5 * SECOND)
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), [])
        yield* TestClock.adjust(25 * SECOND)
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), ["session of t1"])
      }),
  )

  test("a silence cannot have begun before the call", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(2 * SECOND)
      const endsAt = (yield* q.now) + 28 * SECOND
      assert.deepStrictEqual(yield* q.silence("t1", 60 * SECOND, LIMIT), { _tag: "silent", endsAt })
    }),
  )

  test(
    "a silent call that no gate can end is left to its page, and counts as silent when it ends then",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* TestClock.adjust(60 * SECOND)
        yield* q.silence("t1", 20 * SECOND, { ...LIMIT, ends: false })
        yield* TestClock.adjust(60 * SECOND)
        assert.deepStrictEqual(yield* q.dueEnds("all", CLAIM, LIMIT.millis), [])
        assert.strictEqual(q.stateOf("t1"), "live")
        yield* q.end("session of t1")
        assert.strictEqual(q.stateOf("t1"), "silent")
      }),
  )

  test("a call that ends before its limit has not ended because of the silence", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      yield* q.silence("t1", 20 * SECOND, LIMIT)
      yield* TestClock.adjust(5 * SECOND)
      yield* q.end("session of t1")
      assert.strictEqual(q.stateOf("t1"), "ended")
    }),
  )

  test("without a limit, and outside a call, silence means nothing", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.wait("t2")
      yield* TestClock.adjust(20 * SECOND)
      yield* q.heartbeat("t2")
      // the settings had a limit until now
      yield* q.silence("t1", 15 * SECOND, LIMIT)
      assert.deepStrictEqual(yield* q.silence("t1", 20 * SECOND, undefined), { _tag: "speech" })
      assert.deepStrictEqual(yield* q.silence("t2", 20 * SECOND, LIMIT), { _tag: "speech" })
      assert.deepStrictEqual(yield* q.silence("nobody", 20 * SECOND, LIMIT), { _tag: "unknown" })
      yield* TestClock.adjust(20 * SECOND)
      yield* q.heartbeat("t2")
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), [])
      yield* q.end("session of t1")
      const lease = yield* q.begin("t2")
      assert.deepStrictEqual(yield* q.silence("t2", 20 * SECOND, LIMIT), { _tag: "speech" })
      // a session that awaits its offer is not a call yet
      yield* q.bind("t2", lease, ["s2"], {}, 60 * SECOND)
      assert.deepStrictEqual(yield* q.silence("t2", 20 * SECOND, LIMIT), { _tag: "speech" })
    }),
  )

  test(
    "a longer limit applies to a call in which nobody speaks already, and a shorter one from the next report",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.enter("t1")
        yield* TestClock.adjust(60 * SECOND)
        yield* q.silence("t1", 20 * SECOND, LIMIT)
        yield* TestClock.adjust(10 * SECOND)
        const longer = 60 * SECOND
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, longer), [])
        const endsAt = (yield* q.now) + 30 * SECOND
        assert.deepInclude(yield* q.attach("t1"), { _tag: "live", silentUntil: endsAt })
        const reported = { _tag: "silent", endsAt } as const
        assert.deepStrictEqual(yield* q.silence("t1", 30 * SECOND, { ...LIMIT, millis: longer }), reported)
        yield* TestClock.adjust(30 * SECOND - 1)
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, longer), [])
        // this gate has the shorter limit again: the caller was told of the longer one
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, 20 * SECOND), [])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, longer), ["session of t1"])
      }),
  )

  test("a limit that is removed ends no call, though silence was reported before", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      yield* q.silence("t1", 20 * SECOND, LIMIT)
      yield* TestClock.adjust(10 * SECOND)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM), [])
      assert.notProperty((yield* q.operator.snapshot()).slotPage[0], "silentUntil")
      yield* TestClock.adjust(60 * SECOND)
      assert.deepStrictEqual(yield* q.dueEnds("all", CLAIM), [])
      yield* q.end("session of t1")
      assert.strictEqual(q.stateOf("t1"), "ended")
    }),
  )

  test("the same silence, reported again at the end, gives no more time", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      const endsAt = (yield* q.now) + 5 * SECOND
      assert.deepStrictEqual(yield* q.silence("t1", 40 * SECOND, LIMIT), { _tag: "silent", endsAt })
      yield* TestClock.adjust(5 * SECOND)
      assert.deepStrictEqual(yield* q.silence("t1", 45 * SECOND, LIMIT), { _tag: "silent", endsAt })
    }),
  )

  test("a call in which the vendor has heard somebody does not end by what its page hears", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      yield* q.silence("t1", 20 * SECOND, LIMIT)
      yield* TestClock.adjust(9 * SECOND)
      // at whichever gate the vendor's webhook arrives
      q.on(q.there)
      assert.strictEqual(yield* q.speech("session of t1", { caller: true }), "live")
      yield* q.speech("session of t1", { caller: false })
      assert.notProperty(yield* q.attach("t1"), "silentUntil")
      yield* TestClock.adjust(5 * SECOND)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), [])
      // the page has heard nothing: the silence counts from what the vendor heard
      const endsAt = (yield* q.now) + 25 * SECOND
      assert.deepStrictEqual(yield* q.silence("t1", 34 * SECOND, LIMIT), { _tag: "silent", endsAt })
      yield* TestClock.adjust(25 * SECOND)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), ["session of t1"])
    }),
  )

  test("a side that the vendor hears counts as speaking until it stops, for two minutes at most", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      const begun = yield* q.now
      yield* q.speech("session of t1", { agent: true })
      // the caller's end says nothing of the agent, who still speaks
      yield* q.speech("session of t1", { caller: false })
      yield* TestClock.adjust(100 * SECOND)
      const latest = { _tag: "silent", endsAt: begun + 150 * SECOND } as const
      assert.deepStrictEqual(yield* q.silence("t1", 90 * SECOND, LIMIT), latest)
      yield* q.speech("session of t1", { agent: false })
      const endsAt = (yield* q.now) + 30 * SECOND
      assert.deepStrictEqual(yield* q.silence("t1", 90 * SECOND, LIMIT), { _tag: "silent", endsAt })
      assert.strictEqual(yield* q.speech("session of nobody", { agent: false }), "unknown")
      yield* q.end("session of t1")
      assert.strictEqual(yield* q.speech("session of t1", { agent: true }), "unknown")
    }),
  )

  test("a call that an operator has ended is ended whatever is said in it", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const lease = yield* q.enter("t1")
      yield* TestClock.adjust(60 * SECOND)
      yield* q.operator.endCall(lease, q.state().leases.get("t1") ?? 0)
      yield* q.silence("t1", 20 * SECOND, LIMIT)
      yield* q.silence("t1", 0, LIMIT)
      yield* TestClock.adjust(CLAIM)
      assert.deepStrictEqual(yield* q.dueEnds("at_once", CLAIM, LIMIT.millis), ["session of t1"])
      yield* q.end("session of t1")
      assert.strictEqual(q.stateOf("t1"), "stopped")
    }),
  )
}
