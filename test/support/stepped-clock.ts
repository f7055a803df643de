/** The test's clock with a wall clock that can be set. Its monotonic clock and its sleeps do not notice. */
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"

/** Runs a test whose wall clock it can step; `step` says by how much more (ms). */
export const withSteppedClock = <A, E, R>(
  body: (step: (millis: number) => void) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  TestClock.testClockWith((clock) => {
    let ahead = 0
    const millis = (): number => clock.currentTimeMillisUnsafe() + ahead
    const nanos = (): bigint => clock.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n
    const stepped: TestClock.TestClock = {
      ...clock,
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
    }
    return Effect.provideService(
      body((more) => {
        ahead += more
      }),
      Clock.Clock,
      stepped,
    )
  })
