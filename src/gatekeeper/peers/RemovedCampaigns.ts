/**
 * Removed campaigns: campaigns that another gate serves or has served, and this one does not, because they were removed from its
 * settings. The store lists them (`shared-state.ts`); at most `REMOVED_MAX` are handled here.
 *
 * Their webhooks are accepted, so that an ended session frees its slot, and their tickets can be queried. While another gate serves
 * the campaign, nothing else is done; afterwards it is drained (`drain-removed.ts`).
 */

import { Context, Effect, Layer, Option } from "effect"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { TicketUnknown } from "../../protocol/ticket.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { tagOf } from "../Campaigns.ts"
import { ticketUnknown } from "../outcomes.ts"
import { Membership, type Renewed } from "./Membership.ts"
import { type About, decodeAbout } from "./shared-state.ts"

export interface RemovedCampaign extends About {
  readonly key: string
  /** its queue, with no slots, so that this gate calls no ticket in it */
  readonly at: CampaignContext
  /** when a gate that serves it last renewed its membership (ms) */
  readonly seenAt: number
}

export class RemovedCampaigns extends Context.Service<
  RemovedCampaigns,
  {
    /** As of the last renewal. */
    readonly known: () => ReadonlyArray<RemovedCampaign>
    readonly ofTicket: (ticket: string) => RemovedCampaign | undefined
    /** Asks the store first if it was not asked yet. */
    readonly queues: Effect.Effect<ReadonlyArray<CampaignContext>, StoreUnavailable>
    /** Asks the store first if it was not asked yet. */
    readonly queueOf: (ticket: string) => Effect.Effect<CampaignContext, TicketUnknown | StoreUnavailable>
  }
>()("voicegate/gatekeeper/RemovedCampaigns") {}

export const layer: Layer.Layer<RemovedCampaigns, never, Membership | PushChannel> = Layer.effect(
  RemovedCampaigns,
  Effect.gen(function* () {
    const instance = (yield* PushChannel).address
    const membership = yield* Membership
    let decodedFrom: Renewed | undefined
    let known: ReadonlyArray<RemovedCampaign> = []
    const byTag = new Map<string, RemovedCampaign>()

    /** Decodes each answer once. */
    const current = (): ReadonlyArray<RemovedCampaign> => {
      const heard = membership.latest()
      if (heard === decodedFrom || heard === undefined) return known
      decodedFrom = heard
      byTag.clear()
      known = heard.removed.map(({ about, key, seenAt }) => {
        const decoded = Option.getOrElse(decodeAbout(about), () => ({ name: key, tag: "", slots: 0 }))
        const campaign = { ...decoded, key, seenAt, at: { campaign: key, slots: 0, instance } }
        byTag.set(decoded.tag, campaign)
        return campaign
      })
      return known
    }
    const ofTicket = (ticket: string): RemovedCampaign | undefined => {
      current()
      return byTag.get(tagOf(ticket))
    }

    return {
      known: current,
      ofTicket,
      queues: Effect.map(membership.heard, () => current().map(({ at }) => at)),
      queueOf: (ticket) =>
        Effect.flatMap(membership.heard, () => {
          const campaign = ofTicket(ticket)
          return campaign === undefined ? Effect.fail(ticketUnknown()) : Effect.succeed(campaign.at)
        }),
    }
  }),
)
