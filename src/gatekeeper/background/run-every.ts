/** Runs a background task at an interval for the lifetime of the gate. */
import { Effect, type Scope } from "effect"
import { type Attributes, inSpan } from "../../lib/spans.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Campaigns } from "../Campaigns.ts"

/** So many campaigns have their turn together; those of a gate with many are spread over the interval, because all at once would keep callers waiting. */
const AT_ONCE = 8

interface Options {
  /** the first run is immediate, not after one interval */
  readonly atOnce?: boolean
  /** the first interval (ms), if it is another */
  readonly first?: number
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
  { atOnce = false, attributes = {}, first = millis, wake }: Options = {},
): Effect.Effect<unknown, never, Scope.Scope> => {
  const guardedTask = task.pipe(
    inSpan(`background ${name}`, { root: true, attributes }),
    Effect.catchTag("StoreUnavailable", () => Effect.void),
    Effect.catchCause((cause) => Effect.logError(`The ${name} failed`, cause)),
  )
  const after = (interval: number) => {
    const pause = Effect.sleep(interval)
    return Effect.andThen(wake === undefined ? pause : Effect.raceFirst(pause, wake), guardedTask)
  }
  const repeated = Effect.andThen(after(first), Effect.forever(after(millis)))
  return Effect.forkScoped(atOnce ? Effect.andThen(guardedTask, repeated) : repeated, { startImmediately: true })
}

/**
 * Runs a task for each campaign: one that fails, or whose platform answers slowly, does not hold up the others. Where there are many campaigns,
 * their turns are spread over the interval.
 */
export const runForEachCampaign = (
  millis: number,
  name: string,
  task: (campaign: Campaign) => Effect.Effect<void, StoreUnavailable>,
  options: Pick<Options, "atOnce"> = {},
): Effect.Effect<void, never, Campaigns | Scope.Scope> =>
  Effect.flatMap(Campaigns, ({ all }) =>
    Effect.forEach(
      all,
      (campaign, index) => {
        const turn = Math.floor(index / AT_ONCE) / Math.ceil(all.length / AT_ONCE)
        return runEvery(
          millis,
          name,
          Effect.suspend(() => task(campaign)),
          {
            ...options,
            first: Math.round(millis * (1 - turn)),
            attributes: { "voicegate.campaign": campaign.name },
          },
        )
      },
      { discard: true },
    ),
  )
