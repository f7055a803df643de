/**
 * Resolves starts in doubt: starts whose outcome is unknown, each of which holds a slot until it is known whether its session
 * runs. The platform's session history or the account's number of running calls tells. If neither is available, the start
 * expires after `DOUBT_MILLIS`. A session-ended webhook that matches no ticket proves nothing: its id may be another id of a
 * known session.
 */

import { Effect, Layer } from "effect"
import type { Doubt } from "../../fifo-queue/answers.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { runForEachCampaign } from "../background/run-every.ts"
import { Running } from "../Running.ts"
import { Steps } from "../Steps.ts"
import { correlationOf, identifierOf, isVendors, storedConfigOf } from "./stored-config.ts"

/** How often the platform is asked about starts in doubt, by one instance for all (ms). */
export const DOUBT_CHECK_MILLIS = 5_000
/** Younger starts are skipped, because the platform may still be processing them (ms). */
export const DOUBT_AGE_MILLIS = 20_000

/** Asks the platform about each campaign's starts in doubt. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { at, step } = yield* Steps
    const running = yield* Running
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi

    /** At a vendor the session belongs to this ticket alone, and its caller has no credential for it, so it is ended (`end-due.ts`). */
    const resolve = (campaign: Campaign, { id }: Doubt, sessions: ReadonlyArray<ReadonlyArray<string>>) =>
      step(at(campaign), queue.resolve(at(campaign), id, sessions, isVendors(campaign)))

    const askHistory = Effect.fnUntraced(function* (campaign: Campaign, doubt: Doubt) {
      const config = storedConfigOf(doubt.data)
      if (config === undefined) return false
      const name = isVendors(campaign) ? correlationOf(doubt.ticket) : identifierOf(doubt.ticket, config)
      const sessions = yield* platform.sessionsOf(campaign.name, name, doubt.since)
      if (sessions === undefined) return false
      const result = yield* resolve(campaign, doubt, sessions)
      if (result === "running") {
        yield* Effect.logWarning(
          isVendors(campaign)
            ? "The vendor runs a call whose start it did not confirm. It has no caller, and is ended."
            : "The platform runs a session whose start it did not confirm. It has no caller; its slot is held until it ends.",
        )
      }
      return true
    })

    /** If the account has no more calls than the known ones, none of these starts has happened. */
    const askCount = Effect.fnUntraced(function* (campaign: Campaign, doubts: ReadonlyArray<Doubt>, live: number) {
      if (campaign.MaxConcurrency !== undefined) return
      const { fromStarts, inUse } = yield* platform.concurrency(campaign.name)
      if (fromStarts !== true && inUse <= live)
        yield* Effect.forEach(doubts, (doubt) => resolve(campaign, doubt, []), { discard: true })
    })

    const check = Effect.fnUntraced(function* (campaign: Campaign, live: number) {
      const doubts = yield* queue.doubts(at(campaign), DOUBT_AGE_MILLIS, DOUBT_CHECK_MILLIS)
      const unresolved: Array<Doubt> = []
      for (const doubt of doubts) if (!(yield* askHistory(campaign, doubt))) unresolved.push(doubt)
      if (unresolved.length > 0) yield* askCount(campaign, unresolved, live)
    })

    yield* runForEachCampaign(DOUBT_CHECK_MILLIS, "check of starts in doubt", (campaign) => {
      const { doubts, live } = running.of(campaign) ?? { doubts: 0, live: 0 }
      return doubts === 0
        ? Effect.void
        : Effect.catchTag(check(campaign, live), "PlatformError", ({ message }) =>
            Effect.logDebug(`The platform could not be asked about starts in doubt: ${message}`),
          )
    })
  }),
)
