/** Runs a background task at an interval for the lifetime of the gate. */
import { Effect, type Scope } from "effect"
import { type Attributes, inSpan } from "../../lib/spans.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Campaigns } from "../Campaigns.ts"

interface Options {
  /** the first run is immediate, not after one interval */
  readonly atOnce?: boolean
  /** attributes of the span of each run */
  readonly attributes?: Attributes
  /** starts the next run when it succeeds */
  readonly wake?: Effect.Effect<void> | undefined
}

/** Repeats a task at this interval (ms). Ignores an unavailable store; logs any other failure as a bug. */
export const runEvery = (
  millis: number,
  name: string,
  task: Effect.Effect<void, StoreUnavailable>,
  { atOnce = false, attributes = {}, wake }: Options = {},
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

/** Runs a task for each campaign: one that fails, or whose platform answers slowly, does not hold up the others. */
export const runForEachCampaign = (
  millis: number,
  name: string,
  task: (campaign: Campaign) => Effect.Effect<void, StoreUnavailable>,
  options: Pick<Options, "atOnce"> = {},
): Effect.Effect<void, never, Campaigns | Scope.Scope> =>
  Effect.flatMap(Campaigns, ({ all }) =>
    Effect.forEach(
      all,
      (campaign) =>
        runEvery(
          millis,
          name,
          Effect.suspend(() => task(campaign)),
          { ...options, attributes: { "voicegate.campaign": campaign.name } },
        ),
      { discard: true },
    ),
  )
