/**
 * A caller leaves a ticket: it gives up a place or a slot, and the platform ends the session of a call.
 *
 * A start that is under way is not interrupted, because the platform may have begun the session already. The ticket is left as soon as
 * the start is over. If this gate stops before that, the session runs until the platform ends it.
 */

import { Context, Effect, Layer } from "effect"
import { START_LEASE_MILLIS } from "../../fifo-queue/bounds.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import type { OfferKind } from "../../protocol/offers.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Campaigns } from "../Campaigns.ts"
import { FollowUps } from "../FollowUps.ts"
import { Overflow } from "../Overflow.ts"
import { Steps } from "../Steps.ts"
import { EndLeft } from "./EndLeft.ts"

/** How often the gate looks whether the start of a ticket that was left is over (ms). */
const LOOK_MILLIS = 500

/** Leaves a ticket of this campaign, whatever its state; for what was offered, if `taken` says so (`Overflow.ts`). */
export class Leave extends Context.Service<
  Leave,
  (where: CampaignContext, ticket: string, taken?: OfferKind) => Effect.Effect<void, StoreUnavailable>
>()("voicegate/gatekeeper/Leave") {}

export const layer: Layer.Layer<Leave, never, Campaigns | EndLeft | FifoQueue | FollowUps | Overflow | Steps> =
  Layer.effect(
    Leave,
    Effect.gen(function* () {
      const campaigns = yield* Campaigns
      const { step } = yield* Steps
      const endLeft = yield* EndLeft
      const followUps = yield* FollowUps
      const overflow = yield* Overflow
      const queue = yield* FifoQueue
      /** tickets that are left once their start is over */
      const leaving = new Set<string>()

      /** Whether the ticket's start is under way, so that it cannot be left yet. */
      const leaveNow = Effect.fnUntraced(function* (where: CampaignContext, ticket: string, taken?: OfferKind) {
        const result = yield* step(where, queue.leave(where, ticket))
        const campaign = campaigns.ofTicket(ticket)
        // a page that says so again has left before
        if (taken !== undefined && result === "left" && campaign?.Overflow !== undefined) {
          yield* overflow.taken(campaign, taken)
        }
        return (
          result === "busy" && campaign !== undefined && (yield* endLeft(where, campaign.name, ticket)) === "starting"
        )
      })

      /** However often a caller repeats it, each start is looked at by one fiber, until no start can be under way any more. */
      const leaveLater = (where: CampaignContext, ticket: string): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (leaving.has(ticket)) return Effect.void
          leaving.add(ticket)
          return leaveNow(where, ticket).pipe(
            // while the store is unavailable, it is unknown whether the start is over
            Effect.orElseSucceed(() => true),
            Effect.delay(LOOK_MILLIS),
            Effect.repeat({ while: (isStarting) => isStarting, times: START_LEASE_MILLIS / LOOK_MILLIS }),
            Effect.ensuring(Effect.sync(() => void leaving.delete(ticket))),
            followUps.run,
          )
        })

      return (where, ticket, taken) =>
        Effect.flatMap(leaveNow(where, ticket, taken), (isStarting) =>
          isStarting ? leaveLater(where, ticket) : Effect.void,
        )
    }),
  )
