/** A task that runs beside the requests for as long as the gate does. */
import { Effect, type Scope } from "effect"
import type { StoreUnavailable } from "../Session.ts"

/**
 * Repeats for ever at this interval (ms), or as soon as `wake` succeeds, beginning after it or at once; a store that is away is waited
 * for, anything else is a bug and is logged.
 */
export const every = (
  millis: number,
  name: string,
  task: Effect.Effect<void, StoreUnavailable>,
  { atOnce = false, wake }: { readonly atOnce?: boolean; readonly wake?: Effect.Effect<void> | undefined } = {},
): Effect.Effect<unknown, never, Scope.Scope> => {
  const tried = task.pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.void),
    Effect.catchCause((cause) => Effect.logError(`The ${name} failed`, cause)),
  )
  const pause = Effect.sleep(millis)
  const repeated = Effect.forever(Effect.andThen(wake === undefined ? pause : Effect.raceFirst(pause, wake), tried))
  return Effect.forkScoped(atOnce ? Effect.andThen(tried, repeated) : repeated, { startImmediately: true })
}
