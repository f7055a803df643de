/** A gate that cannot reach the store, is stalled or dies costs its callers no turn. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DEAD_MILLIS, MAX_WINDOWS } from "../../../src/fifo-queue/rules/shared/outage.ts"
import type { Bench } from "../../support/queue-bench.ts"
import { type QueueTest, START_LEASE, WINDOW } from "./harness.ts"
import { calling, SECOND, sweeping } from "./passing-time.ts"

/** A gate runs a step while the store cannot be reached. */
const failing = (q: Bench, id: string) =>
  Effect.map(Effect.flip(q.start(id)), (error) => assert.strictEqual(String(error).includes("StoreUnavailable"), true))

const windowOf = (q: Bench, id: string): number => q.state().leases.get(id) ?? 0

export const outageTurns = (test: QueueTest): void => {
  test("a caller who could not start during a short outage of the store gets a new window", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      yield* sweeping(q, WINDOW - SECOND, [q.here], () => q.heartbeat("t3"))
      q.setBroken(q.here, true)
      yield* failing(q, "t2")
      yield* TestClock.adjust(2 * SECOND)
      q.setBroken(q.here, false)
      const began = windowOf(q, "t2") - WINDOW
      assert.strictEqual((yield* q.start("t2"))._tag, "starting")
      // its record says when it was called, without the outage except for the second that counts
      assert.strictEqual(q.state().tickets.get("t2")?.since, began + SECOND)
    }),
  )

  for (const [what, first] of [
    ["sweep", (q: Bench) => q.sweep],
    ["look", (q: Bench) => q.attach("t2")],
    ["heartbeat", (q: Bench) => q.heartbeat("t2")],
    ["newcomer", (q: Bench) => q.admit("t4")],
    ["webhook", (q: Bench) => q.end("nobody's session")],
  ] as const) {
    test(`when a ${what} is the first step after an outage, start windows are renewed`, { slots: 1 }, (q) =>
      Effect.gen(function* () {
        yield* calling(q)
        yield* sweeping(q, WINDOW - SECOND, [q.here], () => q.heartbeat("t3"))
        q.setBroken(q.here, true)
        yield* failing(q, "t2")
        yield* TestClock.adjust(2 * SECOND)
        q.setBroken(q.here, false)
        yield* first(q)
        assert.deepStrictEqual([q.stateOf("t2"), windowOf(q, "t2")], ["called", (yield* q.now) + WINDOW])
      }),
    )
  }

  test("a turn is not missed while a gate that its holder may use cannot reach the store", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      yield* sweeping(q, WINDOW - SECOND)
      q.setBroken(q.there, true)
      // the other gate sweeps meanwhile, and keeps t3 present
      yield* sweeping(q, 17 * SECOND, [q.here], () => q.heartbeat("t3"))
      assert.strictEqual(q.stateOf("t2"), "called")
      q.on(q.there)
      q.setBroken(q.there, false)
      assert.strictEqual((yield* q.start("t2"))._tag, "starting")
    }),
  )

  test("a turn is missed a moment after its window, when every gate was seen since", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      yield* sweeping(q, WINDOW - SECOND, [q.here, q.there], () => q.heartbeat("t3"))
      assert.strictEqual(q.stateOf("t2"), "called")
      // a start at its very end is in time
      yield* sweeping(q, SECOND, [q.here, q.there], () => q.heartbeat("t3"))
      assert.strictEqual(q.stateOf("t2"), "called")
      yield* sweeping(q, SECOND, [q.here, q.there], () => q.heartbeat("t3"))
      assert.strictEqual(q.stateOf("t2"), "missed")
      assert.strictEqual(q.stateOf("t3"), "called")
    }),
  )

  test("a stopped gate is not waited for, and a dead one only for a while", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.enter("t2")
      yield* q.wait("t3", "t4")
      yield* sweeping(q, SECOND)
      yield* q.end("session of t1")
      yield* q.end("session of t2")
      q.on(q.there)
      yield* q.gone
      yield* sweeping(q, WINDOW + SECOND, [q.here])
      assert.deepStrictEqual([q.stateOf("t3"), q.stateOf("t4")], ["missed", "missed"])
      // the other returns, and dies
      yield* q.enter("t5")
      yield* q.enter("t6")
      yield* q.wait("t7")
      yield* sweeping(q, SECOND)
      yield* q.end("session of t5")
      assert.strictEqual(q.stateOf("t7"), "called")
      yield* sweeping(q, DEAD_MILLIS, [q.here])
      assert.strictEqual(q.stateOf("t7"), "called")
      yield* sweeping(q, SECOND, [q.here])
      assert.strictEqual(q.stateOf("t7"), "missed")
    }),
  )

  test("no returned start window ends in the past, and a query does not renew a turn that is over", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      yield* sweeping(q, WINDOW, [q.here, q.there], () => q.heartbeat("t3"))
      yield* TestClock.adjust(1)
      // nobody has swept since, and both gates were seen at the very end
      const looked = yield* q.attach("t2")
      assert.deepStrictEqual(looked, { _tag: "ended", state: "missed" })
      assert.strictEqual(q.stateOf("t3"), "called")
    }),
  )

  test("a query through another gate renews the window that ended while its gate was silent", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      q.on(q.there)
      yield* q.attach("t2")
      q.setBroken(q.there, true)
      yield* sweeping(q, WINDOW + 5 * SECOND, [q.here], () => q.heartbeat("t3"))
      const before = yield* q.now
      const looked = yield* q.attach("t2")
      assert.deepStrictEqual(looked, { _tag: "called", startBefore: before + WINDOW, lease: "2" })
      // a heartbeat returns the same
      const { tickets } = yield* q.heartbeat("t2")
      assert.strictEqual(tickets[0]?.startBefore, before + WINDOW)
    }),
  )

  test("outages do not hold a slot forever: a turn has three windows, not counting their time", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      const called = yield* q.now
      // every ten seconds the store is down for one, and t2 never starts
      let rounds = 0
      while (q.stateOf("t2") === "called") {
        assert.isBelow(rounds++, 100)
        yield* sweeping(q, 9 * SECOND, [q.here], () => q.heartbeat("t3"))
        q.setBroken(q.here, true)
        yield* Effect.flip(q.sweep)
        yield* TestClock.adjust(SECOND)
        q.setBroken(q.here, false)
        yield* q.sweep
      }
      const lasted = (yield* q.now) - called
      assert.isAtLeast(lasted, MAX_WINDOWS * WINDOW)
      assert.isAtMost(lasted, MAX_WINDOWS * WINDOW + 12 * SECOND)
    }),
  )

  test("an outage that two gates report counts once", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      const called = yield* q.now
      // every six seconds the store is down for three, of which one counts
      let rounds = 0
      while (q.stateOf("t2") === "called") {
        assert.isBelow(rounds++, 100)
        yield* sweeping(q, 3 * SECOND, [q.here, q.there], () => q.heartbeat("t3"))
        for (const gate of [q.here, q.there]) {
          q.setBroken(gate, true)
          q.on(gate)
          yield* Effect.flip(q.sweep)
        }
        yield* TestClock.adjust(3 * SECOND)
        for (const gate of [q.here, q.there]) {
          q.setBroken(gate, false)
          q.on(gate)
          yield* q.sweep
        }
        q.on(q.here)
      }
      const lasted = (yield* q.now) - called
      assert.isAtLeast(lasted, MAX_WINDOWS * WINDOW)
      assert.isAtMost(lasted, MAX_WINDOWS * WINDOW * (6 / 4) + 7 * SECOND)
    }),
  )

  test(
    "a turn ends with its window next to another gate that sweeps, through whichever gate it is queried",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        yield* calling(q)
        const called = yield* q.now
        while (q.stateOf("t2") === "called") {
          assert.isBelow((yield* q.now) - called, 2 * WINDOW)
          // t2's page queries just after the window's end, before the other gate sweeps
          yield* TestClock.adjust(200)
          yield* q.attach("t2")
          yield* q.heartbeat("t2", "t3")
          yield* TestClock.adjust(700)
          q.on(q.there)
          yield* q.sweep
          q.on(q.here)
          yield* TestClock.adjust(100)
          yield* q.sweep
        }
        assert.isAtMost((yield* q.now) - called, WINDOW + 4 * SECOND)
        assert.strictEqual(q.stateOf("t3"), "called")
      }),
  )

  test("a gate that stalls again and again does not hold a slot forever", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      const called = yield* q.now
      while (q.stateOf("t2") === "called") {
        assert.isBelow((yield* q.now) - called, 10 * MAX_WINDOWS * WINDOW)
        yield* sweeping(q, 40 * SECOND, [q.here], () => q.heartbeat("t3"))
        q.on(q.there)
        yield* q.sweep
        q.on(q.here)
      }
      assert.isAtMost((yield* q.now) - called, MAX_WINDOWS * WINDOW + DEAD_MILLIS + 42 * SECOND)
    }),
  )

  test("a gate that is always late does not hold a slot forever", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      const called = yield* q.now
      while (q.stateOf("t2") === "called") {
        assert.isBelow((yield* q.now) - called, 2 * MAX_WINDOWS * WINDOW)
        yield* sweeping(q, SECOND, [q.here], () => q.heartbeat("t2", "t3"))
        q.on(q.there)
        yield* q.sweepSentBefore(10 * SECOND)
        q.on(q.here)
      }
      assert.isAtMost((yield* q.now) - called, MAX_WINDOWS * WINDOW + 12 * SECOND)
    }),
  )

  test("a long outage after another one does not shorten the window", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      for (let n = 0; n < 5; n++) {
        yield* sweeping(q, SECOND, [q.here])
        q.setBroken(q.here, true)
        yield* Effect.flip(q.sweep)
        yield* TestClock.adjust(4 * WINDOW)
        q.setBroken(q.here, false)
        yield* q.sweep
        assert.strictEqual(windowOf(q, "t2"), (yield* q.now) + WINDOW)
      }
    }),
  )

  test(
    "a start without an answer is taken back, so that it can be repeated at once, at either gate",
    { slots: 1 },
    (q) =>
      Effect.gen(function* () {
        for (const repeatedAt of [q.here, q.there]) {
          yield* sweeping(q, SECOND)
          const id = `at ${repeatedAt}`
          yield* q.enter(`before ${id}`)
          yield* q.wait(id)
          yield* q.end(`session of before ${id}`)
          q.setDeaf(q.here, true)
          yield* failing(q, id)
          q.setDeaf(q.here, false)
          yield* q.refresh
          assert.strictEqual(q.stateOf(id), "starting")
          yield* sweeping(q, SECOND)
          assert.deepStrictEqual([q.stateOf(id), windowOf(q, id)], ["called", (yield* q.now) + WINDOW])
          q.on(repeatedAt)
          yield* q.run(id)
          yield* q.end(`session of ${id}`)
        }
      }),
  )

  test("a start that arrives after it was taken back is not carried out", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      q.setBroken(q.here, true)
      yield* failing(q, "t2")
      q.setBroken(q.here, false)
      const { late } = q
      yield* q.sweep
      yield* late
      yield* q.refresh
      assert.strictEqual(q.stateOf("t2"), "called")
      yield* q.run("t2")
    }),
  )

  test("taking back starts of a turn does not extend it for ever", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      const began = yield* q.now
      for (let n = 0; n < MAX_WINDOWS * (WINDOW / SECOND) && q.stateOf("t2") !== "missed"; n++) {
        q.setDeaf(q.here, true)
        yield* Effect.ignore(q.start("t2"))
        q.setDeaf(q.here, false)
        yield* q.refresh
        yield* sweeping(q, 2 * SECOND, [q.here, q.there], () => q.heartbeat("t3"))
      }
      assert.strictEqual(q.stateOf("t2"), "missed")
      assert.isAtMost((yield* q.now) - began, MAX_WINDOWS * WINDOW + DEAD_MILLIS)
    }),
  )

  test("a start that is taken back after its lease has ended leaves no slot in doubt", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      q.setDeaf(q.here, true)
      yield* failing(q, "t2")
      yield* q.refresh
      yield* sweeping(q, START_LEASE + SECOND, [q.there], () => q.heartbeat("t2", "t3"))
      assert.strictEqual(q.stateOf("?2"), "doubt")
      q.setDeaf(q.here, false)
      q.on(q.here)
      yield* q.sweep
      yield* sweeping(q, 2 * SECOND)
      assert.isUndefined(q.stateOf("?2"))
    }),
  )
}
