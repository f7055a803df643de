/** Bounds how long something waits, in real time, whatever it is waiting for. */
import { Effect, Exit, Fiber } from "effect"

/**
 * Goes on with `late` after so many milliseconds. The effect is interrupted then, but not waited for: its cleanup may hang as well, for
 * instance the rollback on a connection that does not answer.
 *
 * @param longer asked when the time is over: how many milliseconds more, 0 (the default) for none
 */
export const bounded =
  <A2, E2>(millis: number, late: () => Effect.Effect<A2, E2>, longer: () => number = () => 0) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A | A2, E | E2, R> =>
    Effect.flatMap(Effect.forkDetach(self), (fiber) =>
      Effect.callback<A | A2, E | E2>((resume) => {
        // it waits for something real, so this uses real time in tests as well
        const over = (): void => {
          const more = longer()
          if (more === 0) {
            fiber.interruptUnsafe()
            resume(late())
            return
          }
          // @effect-diagnostics-next-line globalTimers:off
          timer = setTimeout(over, more)
        }
        // @effect-diagnostics-next-line globalTimersInEffect:off
        let timer = setTimeout(over, millis)
        fiber.addObserver((exit) => {
          clearTimeout(timer)
          // the caller did not interrupt it: a pool does so when it gives up a connection
          resume(Exit.hasInterrupts(exit) ? late() : exit)
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
