/**
 * How a gate ends: it starts nothing more and finishes what is being started. A platform that has not answered when the time is
 * up is waited for no longer: the start has failed then, as one whose outcome nobody knows, and ticket and slot are at once what
 * the store makes of that. Else the slot would be held until the deadline of the start, by a process that is gone.
 */
import { Deferred, Effect } from "effect"
import type { PlatformError } from "../PlatformApi.ts"
import { unavailable } from "../platform-api/errors.ts"
import type { Draining } from "../Session.ts"
import { goingAway } from "./outcomes.ts"

/** How long what is under way may take when the gate is closed (ms). */
export const CLOSE_MILLIS = 7_500
/** How much of that is left when the platform is waited for no longer (ms): a command to the store may take two seconds. */
export const LAST_MILLIS = 2_500

export interface Closing {
  /** Runs what may take a slot, and counts it as under way until it is over; refused with `Draining` once the gate is closed. */
  readonly underWay: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Draining, R>
  /** A start at the platform, which is given up when the time is up. */
  readonly inTime: <A>(start: Effect.Effect<A, PlatformError>) => Effect.Effect<A, PlatformError>
  /** Whether the time is up. */
  readonly isLate: () => boolean
  /**
   * Lets nothing more begin, and waits until nothing is under way, `CLOSE_MILLIS` at most. Whoever calls it again waits for the
   * same end.
   */
  readonly close: Effect.Effect<void>
}

const WORDS = "the gate was told to stop before the platform had answered"

export const makeClosing = (): Closing => {
  let underWay = 0
  let closing = false
  let isLate = false
  const idle = Deferred.makeUnsafe<void>()
  const late = Deferred.makeUnsafe<void>()
  const closed = Deferred.makeUnsafe<void>()

  const over = Effect.sync(() => {
    underWay--
    if (closing && underWay === 0) Deferred.doneUnsafe(idle, Effect.void)
  })
  const giveUp = Effect.suspend(() => {
    isLate = true
    return Deferred.succeed(late, undefined)
  })

  return {
    underWay: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        let counted = false
        return Effect.ensuring(
          Effect.suspend((): Effect.Effect<A, E | Draining, R> => {
            if (closing) return Effect.fail(goingAway())
            counted = true
            underWay++
            return effect
          }),
          Effect.suspend(() => (counted ? over : Effect.void)),
        )
      }),
    inTime: (start) =>
      Effect.suspend(() =>
        isLate
          ? Effect.fail(unavailable("timeout", false, WORDS))
          : Effect.raceFirst(
              start,
              Effect.andThen(Deferred.await(late), Effect.fail(unavailable("timeout", true, WORDS))),
            ),
      ),
    isLate: () => isLate,
    close: Effect.suspend(() => {
      if (closing) return Deferred.await(closed)
      closing = true
      if (underWay === 0) return Effect.asVoid(Deferred.succeed(closed, undefined))
      return Deferred.await(idle).pipe(
        Effect.timeoutOption(CLOSE_MILLIS - LAST_MILLIS),
        Effect.andThen(giveUp),
        Effect.andThen(Effect.timeoutOption(Deferred.await(idle), LAST_MILLIS)),
        Effect.ensuring(Effect.andThen(giveUp, Deferred.succeed(closed, undefined))),
      )
    }),
  }
}
