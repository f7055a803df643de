/** A task that runs beside the requests for as long as the gate does. */
import { Effect, type Scope } from "effect"
import type { StoreUnavailable } from "../Session.ts"

/** Repeats for ever at this interval (ms); a store that is away is waited for, anything else is a bug and is logged. */
export const every = (
  millis: number,
  name: string,
  task: Effect.Effect<void, StoreUnavailable>,
): Effect.Effect<unknown, never, Scope.Scope> =>
  task.pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.void),
    Effect.catchCause((cause) => Effect.logError(`The ${name} failed`, cause)),
    Effect.delay(millis),
    Effect.forever,
    Effect.forkScoped,
  )
