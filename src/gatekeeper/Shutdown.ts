/**
 * Shutdown of a gate: no new starts begin, and starts in progress finish. A start that the platform has not answered by the
 * deadline fails with an unknown outcome, so that the store can handle ticket and slot now. Otherwise the slot would stay held
 * until the start's deadline by a process that no longer exists.
 */
import { Context, Deferred, Effect, Layer } from "effect"
import type { PlatformError } from "../platform-api/errors.ts"
import { unavailable } from "../platform-api/errors.ts"
import type { Draining } from "../protocol/refusals.ts"
import { shuttingDown } from "../protocol/refusals.ts"

/** How long a shutdown may take (ms). */
export const CLOSE_MILLIS = 6_500
/** The part of `CLOSE_MILLIS` reserved for the store after waiting for the platform stops (ms): a command may take two seconds. */
export const RESERVED_MILLIS = 2_500

/** Work that may take a slot; `close` waits from its begin to its end. */
export interface Work {
  /** Counts when it is called, not when its effect runs. Fails once the gate is closed. */
  readonly begin: () => Effect.Effect<void, Draining>
  /** Does nothing if the work has not begun, or has ended. */
  readonly end: () => void
}

export class Shutdown extends Context.Service<
  Shutdown,
  {
    readonly newWork: () => Work
    /** Runs an effect that may take a slot; `close` waits for it. Fails with `Draining` once the gate is closed. */
    readonly track: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Draining, R>
    /** Runs a start at the platform, and fails it at the shutdown's deadline. */
    readonly beforeDeadline: <A>(start: Effect.Effect<A, PlatformError>) => Effect.Effect<A, PlatformError>
    readonly isPastDeadline: () => boolean
    /**
     * Refuses new work and waits at most `CLOSE_MILLIS` for the work in progress. Further calls wait for the same result.
     */
    readonly close: Effect.Effect<void>
  }
>()("voicegate/gatekeeper/Shutdown") {}

const REASON = "the gate was told to stop before the platform had answered"

export const layer: Layer.Layer<Shutdown> = Layer.sync(Shutdown, () => {
  let inProgress = 0
  let closing = false
  let pastDeadline = false
  const idle = Deferred.makeUnsafe<void>()
  const deadline = Deferred.makeUnsafe<void>()
  const closed = Deferred.makeUnsafe<void>()

  const finished = (): void => {
    inProgress--
    if (closing && inProgress === 0) Deferred.doneUnsafe(idle, Effect.void)
  }
  const passDeadline = Effect.suspend(() => {
    pastDeadline = true
    return Deferred.succeed(deadline, undefined)
  })

  const newWork = (): Work => {
    let begun = false
    return {
      begin: () => {
        if (closing) return Effect.fail(shuttingDown())
        begun = true
        inProgress++
        return Effect.void
      },
      end: () => {
        if (begun) finished()
        begun = false
      },
    }
  }

  return {
    newWork,
    track: (effect) =>
      Effect.suspend(() => {
        const work = newWork()
        return Effect.ensuring(Effect.andThen(Effect.suspend(work.begin), effect), Effect.sync(work.end))
      }),
    beforeDeadline: (start) =>
      Effect.suspend(() =>
        pastDeadline
          ? Effect.fail(unavailable("timeout", false, REASON))
          : Effect.raceFirst(
              start,
              Effect.andThen(Deferred.await(deadline), Effect.fail(unavailable("timeout", true, REASON))),
            ),
      ),
    isPastDeadline: () => pastDeadline,
    close: Effect.suspend(() => {
      if (closing) return Deferred.await(closed)
      closing = true
      if (inProgress === 0) return Effect.asVoid(Deferred.succeed(closed, undefined))
      return Deferred.await(idle).pipe(
        Effect.timeoutOption(CLOSE_MILLIS - RESERVED_MILLIS),
        Effect.andThen(passDeadline),
        Effect.andThen(Effect.timeoutOption(Deferred.await(idle), RESERVED_MILLIS)),
        Effect.ensuring(Effect.andThen(passDeadline, Deferred.succeed(closed, undefined))),
      )
    }),
  }
})
