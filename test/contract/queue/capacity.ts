/** What happens when the platform reports that it is at capacity although a slot was free. */

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { LIMITED_LONGEST_MILLIS } from "../../../src/fifo-queue/bounds.ts"
import {
  INITIAL_BACKOFF_MILLIS,
  MAX_BACKOFF_MILLIS,
  MAX_IDLE_BACKOFF_MILLIS,
} from "../../../src/fifo-queue/rules/fail.ts"
import { LEARNED_MILLIS } from "../../../src/fifo-queue/rules/shared/platform-limit.ts"
import type { Bench } from "../../support/queue-bench.ts"
import type { QueueTest } from "./harness.ts"

const leaseOf = (q: Bench, id: string): string => q.state().tickets.get(id)?.lease ?? ""

/** How long the campaign backs off: the first whole step of time after which a sweep calls the ticket. */
const restOf = Effect.fnUntraced(function* (q: Bench, id: string, step: number) {
  for (let millis = 0; millis <= 2 * MAX_BACKOFF_MILLIS; millis += step) {
    yield* q.sweep
    if (q.called().includes(id)) return millis
    assert.deepStrictEqual(q.called(), [])
    yield* TestClock.adjust(step)
    yield* q.heartbeat(id)
  }
  return undefined
})

export const capacity = (test: QueueTest): void => {
  test("a ticket refused for capacity returns to its own place, before all later ones", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.wait("t2", "t3")
      const place = { _tag: "waiting" as const, position: 1, length: 3, averageMillis: 0, disrupted: false, slots: 0 }
      assert.deepStrictEqual(yield* q.rest("t1", leaseOf(q, "t1")), place)
      assert.deepStrictEqual(q.line(), ["t1", "t2", "t3"])
      yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("two refused tickets wait in the order of their acceptance, whichever is refused first", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.admit("t2")
      yield* q.wait("t3")
      yield* q.rest("t2", leaseOf(q, "t2"))
      yield* q.rest("t1", leaseOf(q, "t1"))
      assert.deepStrictEqual(q.line(), ["t1", "t2", "t3"])
    }),
  )

  test("during the backoff nobody is called or admitted, up to its last millisecond", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.rest("t1", leaseOf(q, "t1"))
      yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS - 1)
      assert.strictEqual((yield* q.admit("t2"))._tag, "waiting")
      yield* q.leave("t1")
      yield* q.sweep
      assert.deepStrictEqual([q.called(), q.line()], [[], ["t2"]])
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test("during the backoff a newcomer waits even when nobody else does", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.rest("t1", leaseOf(q, "t1"))
      yield* q.leave("t1")
      assert.strictEqual((yield* q.admit("t2"))._tag, "waiting")
    }),
  )

  test("a limit of the key's requests backs off as long as it asks, and does not grow", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const rests: Array<number | undefined> = []
      for (const millis of [1_000, 1_000, 3_000, 60_000, 1_000]) {
        assert.strictEqual((yield* q.rest("t1", leaseOf(q, "t1"), millis))._tag, "waiting")
        rests.push(yield* restOf(q, "t1", 500))
        yield* q.begin("t1")
      }
      assert.deepStrictEqual(rests, [1_000, 1_000, 3_000, LIMITED_LONGEST_MILLIS, 1_000])
      // it did not lengthen the next backoff of a platform at capacity
      yield* q.rest("t1", leaseOf(q, "t1"))
      assert.strictEqual(yield* restOf(q, "t1", 500), INITIAL_BACKOFF_MILLIS)
    }),
  )

  test("each refusal after a backoff doubles the next one, up to the maximum", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t0")
      yield* q.admit("t1")
      const rests: Array<number | undefined> = []
      for (let n = 0; n < 7; n++) {
        yield* q.rest("t1", leaseOf(q, "t1"))
        rests.push(yield* restOf(q, "t1", 1_000))
        yield* q.begin("t1")
      }
      assert.deepStrictEqual(rests, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    }),
  )

  test("the backoff stays short while no call runs whose end would reveal a free slot", { slots: 1 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      const rests: Array<number | undefined> = []
      for (let n = 0; n < 4; n++) {
        yield* q.rest("t1", leaseOf(q, "t1"))
        rests.push(yield* restOf(q, "t1", 1_000))
        yield* q.begin("t1")
      }
      assert.deepStrictEqual(rests, [2_000, 4_000, MAX_IDLE_BACKOFF_MILLIS, MAX_IDLE_BACKOFF_MILLIS])
    }),
  )

  test("starts that were in flight together and are refused together count as one refusal", { slots: 5 }, (q) =>
    Effect.gen(function* () {
      const five = ["t1", "t2", "t3", "t4", "t5"]
      for (const id of five) yield* q.admit(id)
      for (const id of five) yield* q.rest(id, leaseOf(q, id))
      yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS)
      yield* q.sweep
      // one tries whether there is room again, not all
      assert.deepStrictEqual(q.called(), ["t1"])
      yield* q.begin("t1")
      yield* q.rest("t1", leaseOf(q, "t1"))
      yield* TestClock.adjust(2 * INITIAL_BACKOFF_MILLIS - 1)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), [])
      yield* TestClock.adjust(1)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test(
    "with more slots than the platform has, callers are called in order, one more than run, and refused one at a time",
    { slots: 10 },
    (q) =>
      Effect.gen(function* () {
        // the platform has three
        for (const id of ["t1", "t2", "t3"]) yield* q.enter(id)
        const waiting = ["t4", "t5", "t6", "t7", "t8", "t9"]
        for (const id of waiting) yield* q.admit(id)
        for (const id of waiting) yield* q.rest(id, leaseOf(q, id))
        const tried: Array<string> = []
        const refusals = { count: 0 }
        const tick = Effect.gen(function* () {
          yield* TestClock.adjust(1_000)
          yield* q.heartbeat(...q.line())
          yield* q.sweep
          tried.push(...q.called())
          for (const id of q.called()) {
            refusals.count++
            yield* q.rest(id, yield* q.begin(id))
          }
        })
        for (let n = 0; n < 60; n++) yield* tick
        // before, all six were called and refused after each backoff
        assert.deepStrictEqual([...new Set(tried)], ["t4"])
        assert.isAtMost(refusals.count, 6)
        // the end of a call serves the first, and tries one more
        yield* q.end("session of t1")
        assert.deepStrictEqual(q.called(), ["t4", "t5"])
        yield* q.run("t4")
        yield* q.rest("t5", yield* q.begin("t5"))
        assert.deepStrictEqual(q.line(), ["t5", "t6", "t7", "t8", "t9"])
      }),
  )

  test("a platform that has room again gets one caller, then two, then more", { slots: 10 }, (q) =>
    Effect.gen(function* () {
      const eight = ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]
      for (const id of eight) yield* q.admit(id)
      for (const id of eight) yield* q.rest(id, leaseOf(q, id))
      yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS)
      const rounds: Array<ReadonlyArray<string>> = []
      for (let n = 0; n < 3; n++) {
        yield* q.sweep
        const called = q.called()
        rounds.push(called)
        for (const id of called) yield* q.run(id)
      }
      assert.deepStrictEqual(rounds, [["t1"], ["t2", "t3"], ["t4", "t5", "t6", "t7", "t8"]])
    }),
  )

  test("a try that comes in doubt does not keep those who wait from the next one", { slots: 10 }, (q) =>
    Effect.gen(function* () {
      const four = ["t1", "t2", "t3", "t4"]
      for (const id of four) yield* q.admit(id)
      for (const id of four) yield* q.rest(id, leaseOf(q, id))
      yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS)
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
      yield* q.startFails("t1", yield* q.begin("t1"), "doubt")
      assert.deepStrictEqual(q.called(), ["t2"])
    }),
  )

  test(
    "what a refusal has shown of the platform's slots is forgotten after ten minutes without another",
    { slots: 4 },
    (q) =>
      Effect.gen(function* () {
        const four = ["t1", "t2", "t3", "t4"]
        for (const id of four) yield* q.admit(id)
        for (const id of four) yield* q.rest(id, leaseOf(q, id))
        for (const id of four) yield* q.leave(id)
        yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS + LEARNED_MILLIS + 1)
        yield* q.sweep
        for (const id of ["n1", "n2", "n3", "n4"]) assert.strictEqual((yield* q.admit(id))._tag, "starting")
      }),
  )

  test("the end of a session ends the backoff at once and resets it", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.admit("t2")
      yield* q.rest("t2", leaseOf(q, "t2"))
      yield* TestClock.adjust(INITIAL_BACKOFF_MILLIS)
      yield* q.sweep
      yield* q.begin("t2")
      yield* q.rest("t2", leaseOf(q, "t2"))
      yield* q.end("session of t1")
      assert.deepStrictEqual(q.called(), ["t2"])
      yield* q.begin("t2")
      yield* q.rest("t2", leaseOf(q, "t2"))
      assert.strictEqual(yield* restOf(q, "t2", 1_000), INITIAL_BACKOFF_MILLIS)
    }),
  )

  test("a session that starts after all ends the backoff", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.admit("t1")
      yield* q.admit("t2")
      yield* q.rest("t1", leaseOf(q, "t1"))
      yield* q.bind("t2", leaseOf(q, "t2"), ["s2"])
      yield* q.sweep
      assert.deepStrictEqual(q.called(), ["t1"])
    }),
  )

  test("a repeated or unknown end does not end the backoff", { slots: 2 }, (q) =>
    Effect.gen(function* () {
      yield* q.enter("t1")
      yield* q.end("session of t1")
      yield* q.admit("t2")
      yield* q.rest("t2", leaseOf(q, "t2"))
      yield* q.end("session of t1")
      yield* q.end("unknown")
      yield* q.sweep
      assert.deepStrictEqual([q.called(), q.line()], [[], ["t2"]])
    }),
  )
}
