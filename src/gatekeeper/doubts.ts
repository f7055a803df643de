/**
 * Finds out what became of starts that may have happened: each holds a slot until it is known whether its session runs. The
 * platform's history says so, or the account's running calls; where it tells neither, only time does (`DOUBT_MILLIS` in
 * `queue/step.ts`). A session's end that belongs to no ticket proves nothing: it may be another name of a session that is known.
 */
import { Effect } from "effect"
import { type Doubt, FifoQueue } from "../FifoQueue.ts"
import { PlatformApi } from "../PlatformApi.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Campaign } from "../Settings.ts"
import { identifierOf, storedConfigOf } from "./launch.ts"
import type { Steps } from "./steps.ts"

/** How often the platform is asked about them, by one instance for all (ms). */
export const DOUBT_LOOK_MILLIS = 5_000
/** A start younger than this is not asked about: the platform may still be at it (ms). */
export const DOUBT_AGE_MILLIS = 20_000

export interface Doubts {
  /** Asks the platform about a campaign's starts in doubt; `live` is how many sessions of the campaign run. */
  readonly look: (campaign: Campaign, live: number) => Effect.Effect<void, StoreUnavailable>
}

export const makeDoubts = ({ at, step }: Steps): Effect.Effect<Doubts, never, FifoQueue | PlatformApi> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi

    const resolve = (campaign: Campaign, { id }: Doubt, sessions: ReadonlyArray<ReadonlyArray<string>>) =>
      step(at(campaign), queue.resolve(at(campaign), id, sessions))

    const askHistory = Effect.fnUntraced(function* (campaign: Campaign, doubt: Doubt) {
      const config = storedConfigOf(doubt.data)
      if (config === undefined) return false
      const sessions = yield* platform.sessionsOf(campaign.name, identifierOf(doubt.ticket, config), doubt.since)
      if (sessions === undefined) return false
      const result = yield* resolve(campaign, doubt, sessions)
      if (result === "running") {
        yield* Effect.logWarning(
          "The platform runs a session whose start it did not confirm; nobody is in it, and its slot is held until it ends.",
        )
      }
      return true
    })

    /** All calls of the account are known to be ours: none of these starts has happened. */
    const askCount = Effect.fnUntraced(function* (campaign: Campaign, doubts: ReadonlyArray<Doubt>, live: number) {
      if (campaign.MaxConcurrency !== undefined) return
      const { inUse } = yield* platform.concurrency(campaign.name)
      if (inUse <= live) yield* Effect.forEach(doubts, (doubt) => resolve(campaign, doubt, []), { discard: true })
    })

    const look = Effect.fnUntraced(function* (campaign: Campaign, live: number) {
      const doubts = yield* queue.doubts(at(campaign), DOUBT_AGE_MILLIS, DOUBT_LOOK_MILLIS)
      const untold: Array<Doubt> = []
      for (const doubt of doubts) if (!(yield* askHistory(campaign, doubt))) untold.push(doubt)
      if (untold.length > 0) yield* askCount(campaign, untold, live)
    })

    return {
      look: (campaign, live) =>
        Effect.catchTag(look(campaign, live), "PlatformError", ({ message }) =>
          Effect.logDebug(`The platform could not be asked about starts in doubt: ${message}`),
        ),
    }
  })
