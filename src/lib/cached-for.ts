/** Keeps the result of an effect for a while, by the monotonic clock: `Effect.cachedWithTTL` keeps it for longer when the clock is set back. */
import { Clock, Duration, Effect } from "effect"

/** Runs the effect at most once in this time (ms), however many ask; those who ask meanwhile share the result, also a failure. */
export const cachedFor = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  millis: number,
): Effect.Effect<Effect.Effect<A, E, R>> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const [last, invalidate] = yield* Effect.cachedInvalidateWithTTL(self, Duration.infinity)
    const nanos = BigInt(millis) * 1_000_000n
    let begunAt: bigint | undefined
    return Effect.suspend(() => {
      const now = clock.monotonicTimeNanosUnsafe()
      if (begunAt !== undefined && now - begunAt < nanos) return last
      begunAt = now
      return Effect.andThen(invalidate, last)
    })
  })
