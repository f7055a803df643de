/** What becomes of tickets and slots when the platform cannot be reached, or fails. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { INITIAL_DISRUPTED_MILLIS, MAX_DISRUPTED_MILLIS } from "../../../src/fifo-queue/rules/fail.ts"
import { MAX_PARK_MILLIS, PROBE_MILLIS } from "../../../src/fifo-queue/rules/shared/call-next.ts"
import { INITIAL_PARK_MILLIS } from "../../../src/fifo-queue/rules/shared/doubt.ts"
import { MAX_EXCUSED_TURNS } from "../../../src/fifo-queue/rules/shared/outage.ts"
import {
  STARTS_COUNT_MILLIS,
  WATCH_HELD_MILLIS,
  WATCH_MILLIS,
  WATCH_SUSPECT_MILLIS,
} from "../../../src/fifo-queue/rules/shared/platform-state.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { ids, type QueueTest, WINDOW } from "./harness.ts"
import { pass } from "./passing-time.ts"

const leaseOf = (q: Bench, id: string): string => q.state().tickets.get(id)?.lease ?? ""

export const failures = (test: QueueTest): void => {
  test(
    "nobody loses a place while the platform cannot be reached, and one ticket at a time probes it",
    { slots: 5 },
    (q) =>
      Effect.gen(function* () {
        const five = ids(5)
        const waiting = ids(9).slice(5)
        for (const id of five) yield* q.admit(id)
        yield* q.wait(...waiting)
        for (const id of five) {
          const told = yield* q.startFails(id, leaseOf(q, id), "disrupted")
          assert.deepInclude(told, { _tag: "waiting", disrupted: true })
        }
        assert.deepStrictEqual(q.line(), [...five, ...waiting])
        assert.strictEqual(q.state().leases.size, 0)
        assert.deepInclude(yield* q.heartbeat("t7"), { length: 9, disrupted: true })
        // newcomers wait now
        assert.deepInclude(yield* q.admit("t10"), { _tag: "waiting", position: 10, disrupted: true })

        const all = ids(10)
        assert.deepStrictEqual(yield* pass(q, INITIAL_DISRUPTED_MILLIS, ...all), ["t1"])
        assert.deepStrictEqual(yield* pass(q, PROBE_MILLIS - 1, ...all), [])
        yield* q.startFails("t1", yield* q.begin("t1"), "disrupted")
        // the backoff doubles
        assert.deepStrictEqual(yield* pass(q, 2 * INITIAL_DISRUPTED_MILLIS - 1_000, ...all), [])
        assert.deepStrictEqual(yield* pass(q, 1_000, ...all), ["t1"])
        yield* q.run("t1")
        // it answers again: all free slots call
        assert.deepStrictEqual(q.called(), ["t2", "t3", "t4", "t5"])
        assert.deepInclude(yield* q.attach("t6"), { _tag: "waiting", disrupted: false })
      }),
  )

  test("a gate that has read a dead platform tells the callers, although every slot is held", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* q.wait("t1")
      yield* q.hears({ state: "unavailable", code: "unreachable" })
      assert.deepInclude((yield* q.operator.snapshot()).platform, {
        state: "unavailable",
        code: "unreachable",
        startAt: 0,
      })
      assert.deepInclude(yield* q.heartbeat("t1"), { disrupted: true })
      assert.deepInclude(yield* q.admit("t2"), { _tag: "waiting", disrupted: true })
      // a read that began before tells nothing
      yield* TestClock.adjust(1_000)
      yield* q.hears({ state: "ok" }, (yield* q.now) - 2_000)
      assert.deepInclude(yield* q.heartbeat("t1"), { disrupted: true })
      yield* q.hears({ state: "ok" })
      assert.deepInclude(yield* q.heartbeat("t1"), { disrupted: false })
      assert.isUndefined((yield* q.operator.snapshot()).platform)
    }),
  )

  test("a platform that reads well while starts fail counts as unavailable", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.startFails("t1", leaseOf(q, "t1"), "disrupted")
      yield* TestClock.adjust(1_000)
      yield* q.hears({ state: "ok" })
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "unavailable" })
      // no start has failed for a while, for nobody was called
      yield* q.leave("t1")
      yield* TestClock.adjust(STARTS_COUNT_MILLIS)
      yield* q.hears({ state: "ok" })
      assert.isUndefined((yield* q.operator.snapshot()).platform)
    }),
  )

  test("reads that go on failing while sessions start are ignored", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.hears({ state: "rejected", code: "HTTP_403", setting: "ApiSecretToken" })
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "rejected" })
      yield* TestClock.adjust(1_000)
      yield* q.bind("t1", leaseOf(q, "t1"), ["session of t1"])
      assert.isUndefined((yield* q.operator.snapshot()).platform)
      yield* TestClock.adjust(WATCH_MILLIS)
      yield* q.hears({ state: "unavailable", code: "timeout" })
      assert.isUndefined((yield* q.operator.snapshot()).platform)
      // until they succeed again
      yield* q.hears({ state: "answers" })
      yield* TestClock.adjust(WATCH_MILLIS)
      yield* q.hears({ state: "unavailable", code: "timeout" })
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "unavailable" })
    }),
  )

  test("one gate at a time reads the platform while somebody waits and no session starts", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      const watched = Effect.map(q.sweep, ({ watch }) => watch === true)
      assert.isFalse(yield* watched)
      yield* q.enter("t0")
      yield* q.wait("t1")
      yield* pass(q, WATCH_HELD_MILLIS - 1_000, "t1")
      assert.isFalse(yield* watched)
      yield* TestClock.adjust(1_000)
      assert.isTrue(yield* watched)
      q.on(q.there)
      assert.isFalse(yield* watched)
      yield* q.hears({ state: "ok" })
      yield* pass(q, WATCH_HELD_MILLIS - 1_000, "t1")
      assert.isFalse(yield* watched)
      yield* TestClock.adjust(1_000)
      assert.isTrue(yield* watched)
    }),
  )

  test("the platform is read soon after a call to it has failed, although slots are free", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* TestClock.adjust(WATCH_SUSPECT_MILLIS)
      assert.isUndefined((yield* q.sweep).watch)
      assert.isTrue((yield* q.suspects).watch)
      // another gate has just read it
      q.on(q.there)
      assert.isUndefined((yield* q.suspects).watch)
      yield* TestClock.adjust(WATCH_SUSPECT_MILLIS)
      assert.isTrue((yield* q.suspects).watch)
    }),
  )

  test("starts that fail in a row for whoever the caller is make the platform unavailable", { slots: 5 }, (q) =>
    Effect.gen(function* () {
      const five = ids(5)
      for (const id of five) yield* q.admit(id)
      for (const id of five) yield* q.startFails(id, leaseOf(q, id), "answered")
      assert.isUndefined((yield* q.operator.snapshot()).platform)
      for (let n = 0; n < 40; n++) {
        for (const id of yield* pass(q, 1_000, ...five)) yield* q.startFails(id, yield* q.begin(id), "answered")
      }
      assert.deepInclude((yield* q.operator.snapshot()).platform, { state: "unavailable" })
      assert.deepStrictEqual(q.line(), five)
    }),
  )

  test("a probing caller who does not start delays the next probe only briefly", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(3)) yield* q.admit(id)
      for (const id of ids(3)) yield* q.startFails(id, leaseOf(q, id), "disrupted")
      assert.deepStrictEqual(yield* pass(q, INITIAL_DISRUPTED_MILLIS, ...ids(3)), ["t1"])
      assert.deepStrictEqual(yield* pass(q, PROBE_MILLIS, ...ids(3)), ["t2"])
    }),
  )

  test(
    "a probing caller who does not start in time pays nothing and keeps the place; the next is called",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.admit("t1", { caller: "1.2.3.4", holds: true })
        yield* q.startFails("t1", leaseOf(q, "t1"), "disrupted")
        yield* q.wait("t2", "t3")
        assert.deepStrictEqual(yield* pass(q, INITIAL_DISRUPTED_MILLIS, ...ids(3)), ["t1"])
        yield* pass(q, WINDOW + 2_000, ...ids(3))
        assert.strictEqual(q.stateOf("t2"), "called")
        assert.deepStrictEqual(q.line(), ["t1", "t3"])
        assert.deepStrictEqual(q.settlements(), [])
        assert.deepInclude(yield* q.attach("t1"), { _tag: "waiting", position: 1, disrupted: true })
        yield* q.run("t2")
        yield* q.end("session of t2")
        assert.deepStrictEqual(q.called(), ["t1"])
        // the platform is reachable: a turn is missed as usual
        yield* pass(q, WINDOW + 2_000, ...ids(3))
        assert.strictEqual(q.stateOf("t1"), "missed")
        assert.strictEqual(q.stateOf("t3"), "called")
      }),
  )

  test(
    "callers who never start cannot keep the others waiting while the platform cannot be reached",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        const all = ids(3)
        yield* q.admit("t1", { caller: "1.2.3.4", holds: true })
        yield* q.startFails("t1", leaseOf(q, "t1"), "disrupted")
        yield* q.wait("t2", "t3")
        const turns: Array<string> = []
        while (turns.at(-1) !== "t3") {
          assert.isBelow(turns.length, 2 * (MAX_EXCUSED_TURNS + 1) + 1, turns.join())
          turns.push(...(yield* pass(q, 1_000, ...all)))
        }
        assert.deepStrictEqual([q.stateOf("t1"), q.stateOf("t2")], ["missed", "missed"])
        yield* q.run("t3")
        assert.strictEqual((yield* q.heartbeat()).disrupted, false)
      }),
  )

  test(
    "a start that fails because the platform cannot be reached begins the count of missed turns anew",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.admit("t1")
        yield* q.startFails("t1", leaseOf(q, "t1"), "disrupted")
        for (let round = 0; round < 3; round++) {
          for (let turn = 0; turn < MAX_EXCUSED_TURNS; turn++) {
            while (q.stateOf("t1") !== "called") yield* pass(q, 1_000, "t1")
            while (q.stateOf("t1") === "called") yield* pass(q, 1_000, "t1")
            assert.strictEqual(q.stateOf("t1"), "waiting")
          }
          while (q.stateOf("t1") !== "called") yield* pass(q, 1_000, "t1")
          yield* q.startFails("t1", yield* q.begin("t1"), "disrupted")
        }
      }),
  )

  test("a caller who leaves late while the platform cannot be reached has missed no turn", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1", { caller: "1.2.3.4", holds: true })
      yield* q.startFails("t1", leaseOf(q, "t1"), "disrupted")
      yield* pass(q, INITIAL_DISRUPTED_MILLIS, "t1")
      yield* pass(q, 10_000, "t1")
      yield* q.leave("t1")
      assert.deepStrictEqual(q.settlements(), [{ kind: "release", ticket: "t1", caller: "1.2.3.4" }])
    }),
  )

  test("a start at a gate that does not serve the campaign says nothing about the platform", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      for (const id of ids(3)) yield* q.admit(id)
      for (const id of ids(3)) yield* q.startFails(id, leaseOf(q, id), "disrupted")
      yield* pass(q, INITIAL_DISRUPTED_MILLIS, ...ids(3))
      const told = yield* q.startFails("t1", yield* q.begin("t1"), "elsewhere", 1)
      assert.deepInclude(told, { _tag: "waiting", position: 1, disrupted: true })
      assert.deepStrictEqual(q.called(), [])
    }),
  )

  test("while the platform cannot be reached one newcomer at a time probes it", { slots: 3 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.startFails("t1", leaseOf(q, "t1"), "disrupted")
      yield* q.leave("t1")
      yield* TestClock.adjust(MAX_DISRUPTED_MILLIS)
      assert.strictEqual((yield* q.admit("t2"))._tag, "starting")
      assert.strictEqual((yield* q.admit("t3"))._tag, "waiting")
      yield* q.bind("t2", leaseOf(q, "t2"), ["s2"])
      assert.deepStrictEqual(q.called(), ["t3"])
    }),
  )

  test("any answer of the platform, even without a session, ends the disruption", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.startFails("t1", leaseOf(q, "t1"), "disrupted")
      yield* TestClock.adjust(MAX_DISRUPTED_MILLIS)
      yield* q.heartbeat("t1")
      yield* q.sweep
      yield* q.startFails("t1", yield* q.begin("t1"), "refused")
      assert.strictEqual((yield* q.heartbeat()).disrupted, false)
    }),
  )

  test(
    "a ticket whose start the platform could not carry out keeps its place; those behind it are called",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* q.admit("t1")
        yield* q.wait("t2", "t3")
        assert.deepInclude(yield* q.startFails("t1", leaseOf(q, "t1")), { position: 1, disrupted: false })
        assert.deepStrictEqual(q.called(), ["t2"])
        assert.deepStrictEqual(q.line(), ["t1", "t3"])
        yield* q.run("t2")
        yield* TestClock.adjust(INITIAL_PARK_MILLIS + 1)
        yield* q.sweep
        yield* q.end("session of t2")
        assert.deepStrictEqual(q.called(), ["t1"])
      }),
  )

  test("a ticket fails alone when other calls have started between its failures, twice", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("other")
      yield* q.admit("t1", { caller: "1.2.3.4" })
      const again = Effect.gen(function* () {
        yield* pass(q, MAX_PARK_MILLIS + 1_000, "t1")
        return yield* q.startFails("t1", yield* q.begin("t1"))
      })
      yield* q.startFails("t1", leaseOf(q, "t1"))
      // the platform may be down, however often it failed
      for (let n = 0; n < 5; n++) assert.strictEqual((yield* again)._tag, "waiting")
      for (const n of [1, 2]) {
        yield* q.wait(`guest ${n}`)
        yield* pass(q, 1_000, "t1", `guest ${n}`)
        yield* q.run(`guest ${n}`)
        yield* q.end(`session of guest ${n}`)
        assert.strictEqual((yield* again)._tag, n === 1 ? "waiting" : "failed")
      }
      assert.deepStrictEqual(q.settlements(), [{ kind: "refund", ticket: "t1", caller: "1.2.3.4" }])
    }),
  )

  test("the time before it is called again grows with each failure", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.startFails("t1", leaseOf(q, "t1"))
      for (const seconds of [1, 2, 4, 8, 15, 15]) {
        assert.deepStrictEqual(yield* pass(q, seconds * 1_000, "t1"), [])
        assert.deepStrictEqual(yield* pass(q, 1_000, "t1"), ["t1"])
        yield* q.startFails("t1", yield* q.begin("t1"))
      }
    }),
  )
}
