/** Runs a background task at an interval for the lifetime of the gate. */
import { Effect, type Scope } from "effect"
import { type Attributes, inSpan } from "../../lib/spans.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"

/** Runs an effect in the background that must finish before the gatekeeper stops, unless the process stops. */
export type FollowUp = (effect: Effect.Effect<unknown>) => Effect.Effect<void>

/**
 * Repeats a task at this interval (ms), and as soon as `wake` succeeds. The first run is after one interval, or immediate with
 * `atOnce`. Ignores an unavailable store; logs any other failure as a bug.
 */
export const runEvery = (
  millis: number,
  name: string,
  task: Effect.Effect<void, StoreUnavailable>,
  {
    atOnce = false,
    attributes = {},
    wake,
  }: {
    readonly atOnce?: boolean
    /** attributes of the span of each run */
    readonly attributes?: Attributes
    readonly wake?: Effect.Effect<void> | undefined
  } = {},
): Effect.Effect<unknown, never, Scope.Scope> => {
  const guardedTask = task.pipe(
    inSpan(`background ${name}`, { root: true, attributes }),
    Effect.catchTag("StoreUnavailable", () => Effect.void),
    Effect.catchCause((cause) => Effect.logError(`The ${name} failed`, cause)),
  )
  const pause = Effect.sleep(millis)
  const repeated = Effect.forever(
    Effect.andThen(wake === undefined ? pause : Effect.raceFirst(pause, wake), guardedTask),
  )
  return Effect.forkScoped(atOnce ? Effect.andThen(guardedTask, repeated) : repeated, { startImmediately: true })
}
