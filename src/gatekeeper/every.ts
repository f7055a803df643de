/** A task that runs beside the requests for as long as the gate does. */
import { Effect, type Scope } from "effect"
import type { StoreUnavailable } from "../Session.ts"

/**
 * Repeats for ever at this interval (ms), or as soon as `wake` succeeds; a store that is away is waited for, anything else is a bug
 * and is logged.
 */
export const every = (
  millis: number,
  name: string,
  task: Effect.Effect<void, StoreUnavailable>,
  wake?: Effect.Effect<void>,
): Effect.Effect<unknown, never, Scope.Scope> => {
  const pause = Effect.sleep(millis)
  return task.pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.void),
    Effect.catchCause((cause) => Effect.logError(`The ${name} failed`, cause)),
    (done) => Effect.andThen(wake === undefined ? pause : Effect.raceFirst(pause, wake), done),
    Effect.forever,
    Effect.forkScoped,
  )
}
