/** Bounds how long something waits, in real time, whatever it is waiting for. */
import { Effect, Exit, Fiber } from "effect"

/**
 * Fails with `late` after so many milliseconds. The effect is interrupted then, but not waited for: its cleanup may hang as well, for
 * instance the rollback on a connection that does not answer.
 */
export const bounded =
  <E2>(millis: number, late: () => E2) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | E2, R> =>
    Effect.flatMap(Effect.forkDetach(self), (fiber) =>
      Effect.callback<A, E | E2>((resume) => {
        // the database is real, so this is real time in tests as well
        // @effect-diagnostics-next-line globalTimersInEffect:off
        const timer = setTimeout(() => {
          fiber.interruptUnsafe()
          resume(Effect.fail(late()))
        }, millis)
        fiber.addObserver((exit) => {
          clearTimeout(timer)
          // whoever interrupted it was not this caller: a pool that gives up a connection does
          resume(Exit.hasInterrupts(exit) ? Effect.fail(late()) : exit)
        })
        return Effect.suspend(() => {
          clearTimeout(timer)
          return Fiber.interrupt(fiber)
        })
      }),
    )

/** Waits in real time. */
export const pause = (millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    // @effect-diagnostics-next-line globalTimersInEffect:off
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })
