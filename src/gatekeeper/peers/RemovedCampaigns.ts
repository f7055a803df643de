/**
 * Removed campaigns: campaigns that another gate serves or has served, and this one does not, because they were removed from its
 * settings. The store lists them (`PeersHeartbeat.ts`); at most `REMOVED_MAX` are handled here.
 *
 * Their webhooks are accepted, so that an ended session frees its slot, and their tickets can be queried. While another gate serves
 * the campaign, nothing else is done. When no gate has served it for `UNSERVED_MILLIS`, waiting and called tickets end as `removed`
 * and get their quota back. Live sessions run until they end or reach the maximum call length. When nothing is left, the
 * campaign is deleted from the list.
 */

import { Effect, Option, Schema } from "effect"
import { type CampaignContext, FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { ageOf } from "../../lib/age.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { TicketUnknown } from "../../protocol/Session.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { tagOf } from "../Campaigns.ts"
import * as metrics from "../metrics.ts"
import { ticketUnknown } from "../outcomes.ts"
import type { Steps } from "../Steps.ts"
import type { GatesShared, HeartbeatAnswer } from "./PeersHeartbeat.ts"

/** A campaign that no gate has served for this time is drained (ms). Longer than a gate takes to restart. */
export const UNSERVED_MILLIS = 60_000
/** Heartbeats are two seconds apart; a longer gap than this (ms) means that this gate was cut off from the store. */
const GAP_MILLIS = 10_000

/** What a gate publishes about a campaign that it serves, for gates that do not. */
const About = Schema.fromJsonString(Schema.Struct({ name: Schema.String, tag: Schema.String, slots: Schema.Int }))
export type About = typeof About.Type
const decode = Schema.decodeUnknownOption(About)

export interface RemovedCampaign extends About {
  readonly key: string
  /** its queue, with no slots, so that this gate calls no ticket in it */
  readonly at: CampaignContext
  /** when a gate that serves it last sent a heartbeat (ms) */
  readonly seenAt: number
}

export interface RemovedCampaigns {
  /** All removed campaigns, as of the last heartbeat. */
  readonly known: () => ReadonlyArray<RemovedCampaign>
  /** The removed campaign of a ticket. */
  readonly ofTicket: (ticket: string) => RemovedCampaign | undefined
  /** All queues; asks the store first if it was not asked yet. */
  readonly queues: Effect.Effect<ReadonlyArray<CampaignContext>, StoreUnavailable>
  /** The queue of a ticket; asks the store first if it was not asked yet. */
  readonly queueOf: (ticket: string) => Effect.Effect<CampaignContext, TicketUnknown | StoreUnavailable>
}

export interface RemovedCampaignsControl extends RemovedCampaigns {
  /** Updates the list from a heartbeat's answer; `now` is the store's time (ms). */
  readonly update: (removed: HeartbeatAnswer["removed"], now: number) => void
  /** Drains the campaigns that no gate serves, as of the last heartbeat. */
  readonly drain: Effect.Effect<void>
}

/** `loaded` loads the list from the store unless it is loaded already. */
export const makeRemovedCampaigns = (
  { settle, step }: Steps,
  shared: Pick<GatesShared, "forget">,
  loaded: Effect.Effect<void, StoreUnavailable>,
): Effect.Effect<RemovedCampaignsControl, never, FifoQueue | PushChannel> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const instance = (yield* PushChannel).address
    let known: ReadonlyArray<RemovedCampaign> = []
    let updatedAt = 0
    /** start of the current run of heartbeats without a gap: during a gap other gates may have been cut off too */
    let updatedSince = 0
    const byTag = new Map<string, RemovedCampaign>()
    /** campaigns whose draining was logged, and the number of tickets ended in each */
    const logged = new Set<string>()
    const endedTickets = new Map<string, number>()

    const clear = Effect.fnUntraced(function* ({ at, key }: RemovedCampaign) {
      while (true) {
        const cleared = yield* step(at, queue.clear(at, UNSERVED_MILLIS))
        if (cleared._tag === "served") return undefined
        if (cleared.owed.length > 0) yield* settle(at, cleared.owed)
        endedTickets.set(key, (endedTickets.get(key) ?? 0) + cleared.sent)
        yield* metrics.setGauges(key, { waiting: cleared.waiting, leases: cleared.leases })
        if (!cleared.more) return cleared
      }
    })
    const drainOne = Effect.fnUntraced(function* (campaign: RemovedCampaign) {
      const { key, name, seenAt } = campaign
      const cleared = yield* clear(campaign)
      if (cleared === undefined) return
      if (cleared.left) {
        if (logged.has(key)) return
        logged.add(key)
        yield* Effect.logWarning(
          `Campaign ${name} (${key}) is no longer in any gate's settings. Waiting tickets ended by this instance: ${endedTickets.get(key)}. ` +
            `Calls still running: ${cleared.live}.`,
        )
      } else if (yield* shared.forget(key, seenAt)) {
        yield* Effect.logInfo(
          `Campaign ${name} (${key}), which is no longer in any gate's settings, has ended completely.`,
        )
      }
    })

    return {
      update: (removed, now) => {
        if (updatedAt > 0 && ageOf(updatedAt, now) > GAP_MILLIS) updatedSince = now
        updatedAt = now
        byTag.clear()
        known = removed.map(({ about, key, seenAt }) => {
          const decoded = Option.getOrElse(decode(about), () => ({ name: key, tag: "", slots: 0 }))
          const campaign = { ...decoded, key, seenAt, at: { campaign: key, slots: 0, instance } }
          byTag.set(decoded.tag, campaign)
          return campaign
        })
        for (const key of endedTickets.keys()) {
          if (known.some((each) => each.key === key)) continue
          endedTickets.delete(key)
          logged.delete(key)
        }
      },
      known: () => known,
      ofTicket: (ticket) => byTag.get(tagOf(ticket)),
      queues: Effect.map(loaded, () => known.map(({ at }) => at)),
      queueOf: (ticket) =>
        Effect.flatMap(loaded, () => {
          const campaign = byTag.get(tagOf(ticket))
          return campaign === undefined ? Effect.fail(ticketUnknown()) : Effect.succeed(campaign.at)
        }),
      drain: Effect.suspend(() =>
        Effect.forEach(
          known.filter(({ seenAt }) => updatedAt - Math.max(seenAt, updatedSince) > UNSERVED_MILLIS),
          (campaign) =>
            drainOne(campaign).pipe(
              Effect.catchTag("StoreUnavailable", () => Effect.void),
              // one campaign at a time: invalid records of one must not stop the draining of the others
              Effect.catchCause((cause) => Effect.logError(`Draining of campaign ${campaign.key} failed`, cause)),
            ),
          { discard: true },
        ),
      ),
    }
  })
