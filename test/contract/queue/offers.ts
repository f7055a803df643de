/** Sessions that begin with an offer of the ticket's page. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { LONGEST_CALL, type QueueTest, START_LEASE } from "./harness.ts"

const LIFETIME = 20_000

/** A newcomer finds a free slot, and its page has `LIFETIME` for its offer; returns the lease. */
const enter = Effect.fnUntraced(function* (q: Bench, id: string, caller = "", holds = false) {
  const admitted = yield* q.admit(id, { caller, holds })
  const lease = admitted._tag === "starting" ? admitted.lease : ""
  assert.strictEqual(yield* q.bind(id, lease, [`offer of ${id}`], {}, LIFETIME), "live")
  return lease
})

/** The page makes its offer; returns the lease. */
const makesOffer = Effect.fnUntraced(function* (q: Bench, id: string) {
  const offered = yield* q.offer(id, `offer of ${id}`)
  assert.strictEqual(offered._tag, "starting")
  return offered._tag === "starting" ? offered.lease : ""
})

export const offers = (test: QueueTest): void => {
  test("an offer is made once, and its session is the ticket's", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1")
      yield* q.wait("t2")
      const lease = yield* makesOffer(q, "t1")
      assert.strictEqual(q.stateOf("t1"), "starting")
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "used" })
      assert.strictEqual(yield* q.bind("t1", lease, ["call", "offer of t1"]), "live")
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "used" })
      assert.strictEqual(yield* q.end("call"), "released")
      assert.deepStrictEqual(q.called(), ["t2"])
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "ended", state: "ended" })
    }),
  )

  test("an offer that arrives at two gates at once is made once", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1")
      const queue = yield* FifoQueue
      const answers = yield* Effect.forEach(
        [q.here, q.there, q.here, q.there],
        (instance) => queue.offer({ ...q.at(), instance }, "t1", "offer of t1", "data of t1"),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(answers.map(({ result }) => result._tag).toSorted(), ["starting", "used", "used", "used"])
    }),
  )

  test("the session of a start in doubt, whose ticket has left, is nobody's to begin", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const admitted = yield* q.admit("t1")
      const lease = admitted._tag === "starting" ? admitted.lease : ""
      yield* q.startFails("t1", lease, "doubt")
      yield* q.leave("t1")
      assert.strictEqual(yield* q.bind("t1", lease, ["offer of t1"], {}, LIFETIME), "stale")
      assert.strictEqual(q.stateOf(`?${lease}`), "live")
      assert.deepStrictEqual(yield* q.offer(`?${lease}`, "offer of t1"), { _tag: "unknown" })
      assert.strictEqual(q.stateOf(`?${lease}`), "live")
    }),
  )

  test("the offer of another session, of a session that has begun, or of nobody starts nothing", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1")
      yield* q.enter("t2")
      yield* q.wait("t3")
      assert.deepStrictEqual(yield* q.offer("t1", "offer of another"), { _tag: "foreign" })
      assert.deepStrictEqual(yield* q.offer("t1", "session of t2"), { _tag: "foreign" })
      assert.deepStrictEqual(yield* q.offer("t2", "session of t2"), { _tag: "used" })
      assert.deepStrictEqual(yield* q.offer("t3", "offer of t3"), { _tag: "used" })
      assert.deepStrictEqual(yield* q.offer("nobody", "offer of t1"), { _tag: "unknown" })
      assert.strictEqual(q.stateOf("t1"), "live")
    }),
  )

  test("a page that makes no offer in time has missed its turn", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1", "1.2.3.4")
      yield* q.wait("t2")
      for (let second = 0; second < LIFETIME / 1000; second++) {
        yield* TestClock.adjust("1 second")
        yield* q.sweep
      }
      assert.strictEqual(q.stateOf("t1"), "live")
      yield* TestClock.adjust("1 millis")
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "missed")
      assert.deepStrictEqual(q.settlements(), [{ kind: "missed", ticket: "t1", caller: "1.2.3.4" }])
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("an offer that comes too late starts nothing, also before a sweep", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1")
      yield* q.wait("t2")
      yield* TestClock.adjust(LIFETIME)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "ended", state: "missed" })
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("an outage of all gates costs nobody a missed offer", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.sweep
      yield* enter(q, "t1", "1.2.3.4")
      yield* TestClock.adjust(LIFETIME * 2)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "missed")
      assert.deepStrictEqual(q.settlements(), [])
    }),
  )

  test("a refusal at capacity puts the ticket back at the head, and the campaign backs off", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* enter(q, "t1")
      yield* q.wait("t2")
      yield* q.rest("t1", yield* makesOffer(q, "t1"))
      assert.deepStrictEqual(q.line(), ["t1", "t2"])
      assert.isAbove(q.state().meta.get("backoffUntil") ?? 0, yield* q.now)
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "used" })
      assert.strictEqual(yield* q.end("session of t0"), "released")
      assert.deepStrictEqual(q.called(), ["t1", "t2"])
      // the second credential is another one, under another lease
      const lease = yield* q.begin("t1")
      assert.strictEqual(yield* q.bind("t1", lease, ["second offer"], {}, LIFETIME), "live")
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "foreign" })
      assert.strictEqual((yield* q.offer("t1", "second offer"))._tag, "starting")
    }),
  )

  test("a credential says nothing about the platform: a backoff goes on", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* enter(q, "t1")
      const other = yield* q.admit("t2")
      assert.strictEqual(other._tag, "waiting")
      yield* q.rest("t1", yield* makesOffer(q, "t1"))
      const until = q.state().meta.get("backoffUntil") ?? 0
      yield* TestClock.adjust(until - (yield* q.now))
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
      assert.strictEqual(yield* q.bind("t1", yield* q.begin("t1"), ["again"], {}, LIFETIME), "live")
      assert.strictEqual(q.state().meta.get("backoffs"), 1)
      assert.strictEqual(q.state().meta.get("started"), 1)
    }),
  )

  test("a late repetition of the first bind allows no second offer", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const first = yield* enter(q, "t1")
      const lease = yield* makesOffer(q, "t1")
      assert.strictEqual(yield* q.bind("t1", first, ["offer of t1"], {}, LIFETIME), "stale")
      assert.strictEqual(q.stateOf("t1"), "starting")
      yield* q.startFails("t1", lease, "doubt")
      assert.strictEqual(yield* q.bind("t1", first, ["offer of t1"], {}, LIFETIME), "stale")
      assert.strictEqual(q.stateOf("t1"), "waiting")
      assert.strictEqual(yield* q.bind("t1", lease, ["call"]), "live")
      assert.strictEqual(yield* q.bind("t1", first, ["offer of t1"], {}, LIFETIME), "live")
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "foreign" })
    }),
  )

  test("the slot of an offer whose gate died stays held in doubt", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1")
      const lease = yield* makesOffer(q, "t1")
      yield* TestClock.adjust(START_LEASE + 1)
      yield* q.sweep
      assert.strictEqual(q.stateOf("t1"), "waiting")
      assert.strictEqual(q.stateOf(`?${lease}`), "doubt")
      assert.strictEqual(q.state().leases.size, 1)
    }),
  )

  test("a session that was left before its offer is over and is no call", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* q.end("offer of t1"), "released")
      assert.strictEqual(q.state().meta.get("averageMillis") ?? 0, 0)
      assert.deepStrictEqual(yield* q.offer("t1", "offer of t1"), { _tag: "ended", state: "ended" })
    }),
  )

  for (const [what, seconds, settlement] of [
    ["soon is at the price of a call", 5, "release"],
    ["late, before its offer, is a missed turn", 19, "missed"],
  ] as const) {
    test(`a session that is left ${what}`, { slots: 1 }, (q) =>
      Effect.gen(function* () {
        for (let second = 0; second < 30; second++) {
          yield* q.sweep
          yield* TestClock.adjust("1 second")
        }
        yield* enter(q, "t1", "1.2.3.4", true)
        for (let second = 0; second < seconds; second++) {
          yield* q.sweep
          yield* TestClock.adjust("1 second")
        }
        assert.strictEqual(yield* q.end("offer of t1"), "released")
        assert.deepStrictEqual(q.settlements(), [{ kind: settlement, ticket: "t1", caller: "1.2.3.4" }])
      }),
    )
  }

  test("a session that is left before its offer ends no backoff", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t0")
      yield* enter(q, "t1")
      yield* q.rest("t1", yield* makesOffer(q, "t1"))
      const until = q.state().meta.get("backoffUntil") ?? 0
      assert.isAbove(until, yield* q.now)
      assert.strictEqual(yield* q.end("offer of t0"), "released")
      assert.strictEqual(q.state().meta.get("backoffUntil"), until)
      assert.deepStrictEqual(q.called(), [])
    }),
  )

  test("a call that began with an offer may be as long as any", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* enter(q, "t1")
      assert.strictEqual(yield* q.bind("t1", yield* makesOffer(q, "t1"), ["call"]), "live")
      assert.strictEqual(q.state().leases.get("t1"), (yield* q.now) + LONGEST_CALL)
    }),
  )
}
