/** Time passes while gates sweep every second, as they do. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Bench } from "../../support/queue-bench.ts"

export const SECOND = 1_000

/** Both gates, or the given ones, sweep every second; `also` runs before each sweep. */
export const sweeping = (
  q: Bench,
  millis: number,
  gates: ReadonlyArray<string> = [q.here, q.there],
  also: () => Effect.Effect<unknown, unknown> = () => Effect.void,
) =>
  Effect.gen(function* () {
    for (let left = millis; left > 0; left -= SECOND) {
      yield* TestClock.adjust(Math.min(SECOND, left))
      for (const gate of gates) {
        q.on(gate)
        yield* also()
        yield* q.sweep
      }
    }
    q.on(q.here)
  })

/** These tickets stay present, and one gate sweeps; the tickets that it called. */
export const pass = Effect.fnUntraced(function* (q: Bench, millis: number, ...present: ReadonlyArray<string>) {
  const called: Array<string> = []
  for (let left = millis; left > 0; left -= SECOND) {
    yield* TestClock.adjust(Math.min(left, SECOND))
    yield* q.heartbeat(...present)
    yield* q.sweep
    called.push(...q.called())
  }
  return called
})

/** One slot whose first session has ended, so `t2` is called. */
export const calling = (q: Bench) =>
  Effect.gen(function* () {
    yield* q.enter("t1")
    yield* q.wait("t2", "t3")
    yield* sweeping(q, SECOND)
    yield* q.end("session of t1")
    assert.strictEqual(q.stateOf("t2"), "called")
  })
