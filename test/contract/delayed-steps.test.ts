/**
 * Steps that an outage delayed on their way to the store. In memory only: a test cannot move the time of a Redis server.
 * `../e2e/outages.test.ts` shows the same on Redis.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { STALL_MILLIS } from "../../src/fifo-queue/rules/shared/stall.ts"
import { memoryStore } from "../harness/stores.ts"
import type { Bench } from "../support/queue-bench.ts"
import { queueTest, WINDOW } from "./queue/harness.ts"

const SECOND = 1_000
const test = queueTest(memoryStore)

/** The gates sweep every second. `delay`: how long their sweeps take to arrive. */
const sweeping = Effect.fnUntraced(function* (q: Bench, seconds: number, gates: ReadonlyArray<string>, delay = 0) {
  for (let n = 0; n < seconds; n++) {
    yield* TestClock.adjust(SECOND)
    for (const gate of gates) {
      q.on(gate)
      yield* q.sweepSentBefore(delay)
    }
  }
})

/** One slot, to which `t2` is called. */
const calling = Effect.fnUntraced(function* (q: Bench) {
  yield* q.enter("t1")
  yield* q.wait("t2", "t3")
  yield* sweeping(q, 1, [q.here, q.there])
  yield* q.end("session of t1")
  assert.strictEqual(q.stateOf("t2"), "called")
})

describe("a step that an outage delayed does not end a turn that its gate's callers could not start", () => {
  /** The step is sent a second after the start window and arrives eight seconds later. */
  const delayed = {
    heartbeat: (q: Bench) => q.heartbeatSentBefore(8 * SECOND, "t2"),
    sweep: (q: Bench) => q.sweepSentBefore(8 * SECOND),
    "sweep and a heartbeat": (q: Bench) =>
      Effect.andThen(q.sweepSentBefore(8 * SECOND), q.heartbeatSentBefore(7 * SECOND, "t2")),
  }
  for (const [name, step] of Object.entries(delayed)) {
    test(name, { slots: 1, ahead: 0 }, (q) =>
      Effect.gen(function* () {
        yield* calling(q)
        yield* sweeping(q, WINDOW / SECOND - 1, [q.here, q.there])
        q.on(q.there)
        q.setBroken(q.there, true)
        yield* Effect.flip(q.start("t2"))
        yield* sweeping(q, 10, [q.here])
        q.on(q.there)
        yield* step(q)
        yield* sweeping(q, 1, [q.here])
        assert.strictEqual(q.stateOf("t2"), "called")
        q.on(q.there)
        q.setBroken(q.there, false)
        assert.strictEqual((yield* q.start("t2"))._tag, "starting")
      }),
    )
  }
})

describe("in a store that is slow all the time", () => {
  test("a turn is missed at its time", { slots: 1, ahead: 0 }, (q) =>
    Effect.gen(function* () {
      yield* calling(q)
      yield* sweeping(q, WINDOW / SECOND - 1, [q.here, q.there], 2 * STALL_MILLIS)
      assert.strictEqual(q.stateOf("t2"), "called")
      yield* sweeping(q, 4, [q.here, q.there], 2 * STALL_MILLIS)
      assert.strictEqual(q.stateOf("t2"), "missed")
    }),
  )
})
