/** What a newcomer would find now, answered from memory: open with the expected wait, paused, full, draining, closed, or without a budget. It costs the store nothing. */
import { Context, Effect, Layer } from "effect"
import type { Availability as Found } from "../protocol/availability.ts"
import { withOffers } from "../protocol/offers.ts"
import type { InvalidRequest } from "../protocol/refusals.ts"
import { isoTime } from "../protocol/session-answers.ts"
import { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import { Campaigns } from "./Campaigns.ts"
import { FullQueues } from "./checks/FullQueues.ts"
import { unknownCampaign } from "./checks/Validate.ts"
import { ExpectedWaits } from "./ExpectedWaits.ts"
import { Hours } from "./Hours.ts"
import { Overflow } from "./Overflow.ts"
import { UsedUpBudgets } from "./UsedUpBudgets.ts"

export class Availability extends Context.Service<
  Availability,
  {
    /** @param campaignId as in a session request */
    readonly of: (campaignId?: string) => Effect.Effect<Found, InvalidRequest>
  }
>()("voicegate/gatekeeper/Availability") {}

export const layer: Layer.Layer<
  Availability,
  never,
  Campaigns | ExpectedWaits | FullQueues | Hours | Overflow | Store | UsedUpBudgets
> = Layer.effect(
  Availability,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const waits = yield* ExpectedWaits
    const fullQueues = yield* FullQueues
    const hours = yield* Hours
    const overflow = yield* Overflow
    const usedUp = yield* UsedUpBudgets
    const store = yield* Store
    return {
      of: Effect.fnUntraced(function* (campaignId) {
        const campaign = campaigns.find(campaignId)
        if (campaign === undefined) return yield* Effect.fail(unknownCampaign())
        const at = yield* store.now
        const shut = hours.refusal(campaign, at)
        const offers = withOffers(overflow.offers(campaign, at))
        if (shut !== undefined) {
          return { state: "closed", ...(shut.opensAt === undefined ? {} : { opensAt: shut.opensAt }), ...offers }
        }
        const now = at + aheadOf(store)
        const resetsAt = usedUp.resetsAt(campaign, now)
        if (resetsAt !== undefined) return { state: "budget_exhausted", resetsAt: isoTime(resetsAt), ...offers }
        const { draining, paused, pausedUntil, resumesAt = 0 } = waits.decided(campaign)
        if (draining) return { state: "draining", ...offers }
        if (fullQueues.refusal(campaign) !== undefined) return { state: "full", ...offers }
        const isPaused = paused === true && (pausedUntil === undefined || pausedUntil >= now)
        if (isPaused && pausedUntil === undefined) return { state: "paused" }
        // a budget for which callers wait is a pause too
        const until = Math.max(isPaused ? (pausedUntil ?? 0) : 0, resumesAt)
        if (until >= now) return { state: "paused", pausedUntil: isoTime(until) }
        return { state: "open", estimatedWaitSeconds: waits.secondsOf(campaign) }
      }),
    }
  }),
)
