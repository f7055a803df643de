/**
 * Campaigns that this gate does not serve and another one does, or did: removed from the settings, of all gates or of some so
 * far. The store knows them (`gates-shared.ts`), at most `REMOVED_MAX` of them here.
 *
 * Their webhooks are taken: an end frees its slot. Their tickets are known to whoever holds them. While another gate serves such a
 * campaign, that is all. When none has for `UNSERVED_MILLIS`, whoever waits or is called is told that it is over, with their quota
 * given back; sessions run on until they end or reach the longest call; and when nothing is left, the campaign is forgotten.
 */
import { Effect, Metric, Option, Schema } from "effect"
import { type At, FifoQueue } from "../FifoQueue.ts"
import { PushChannel } from "../PushChannel.ts"
import type { StoreUnavailable, TicketUnknown } from "../Session.ts"
import { tagOf } from "./campaigns.ts"
import type { GatesShared, Heard } from "./gates-shared.ts"
import * as metrics from "./metrics.ts"
import { ticketUnknown } from "./outcomes.ts"
import type { Steps } from "./steps.ts"

/** A campaign that no gate has served for so long is removed: longer than a gate takes to start again. */
export const UNSERVED_MILLIS = 60_000
/** Gates are heard of every two seconds; so long without (ms), and this one was cut off from the store. */
const GAP_MILLIS = 10_000

/** What a gate that serves a campaign leaves for those who will not. */
const About = Schema.fromJsonString(Schema.Struct({ name: Schema.String, tag: Schema.String, slots: Schema.Int }))
export type About = typeof About.Type
const decode = Schema.decodeUnknownOption(About)

export interface RemovedCampaign extends About {
  readonly key: string
  /** its queue, in which nobody is called from here */
  readonly at: At
  /** when a gate that serves it was seen last (ms) */
  readonly seenAt: number
}

export interface Removed {
  /** All of them, as last heard. */
  readonly known: () => ReadonlyArray<RemovedCampaign>
  /** The one that a ticket's id names. */
  readonly ofTicket: (ticket: string) => RemovedCampaign | undefined
  /** All queues, also where the store has not been asked for them yet. */
  readonly queues: Effect.Effect<ReadonlyArray<At>, StoreUnavailable>
  /** The queue of a ticket, likewise. */
  readonly queueOf: (ticket: string) => Effect.Effect<At, TicketUnknown | StoreUnavailable>
}

export interface Removing extends Removed {
  /** Takes note of what the store knows at this time of its own (ms). */
  readonly hear: (removed: Heard["removed"], now: number) => void
  /** Brings those nearer to their end that nobody serves, as was heard last. */
  readonly drain: Effect.Effect<void>
}

/** `asked` asks the store, and hears, unless it has been asked before. */
export const makeRemoved = (
  { settle, step }: Steps,
  shared: Pick<GatesShared, "forget">,
  asked: Effect.Effect<void, StoreUnavailable>,
): Effect.Effect<Removing, never, FifoQueue | PushChannel> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const instance = (yield* PushChannel).address
    let known: ReadonlyArray<RemovedCampaign> = []
    let heardAt = 0
    /** since when it was heard without a gap: in a gap other gates may have been cut off as this one was */
    let heardSince = 0
    const byTag = new Map<string, RemovedCampaign>()
    /** whose end was said to have begun, and how many were sent away from each */
    const announced = new Set<string>()
    const sent = new Map<string, number>()

    const clear = Effect.fnUntraced(function* ({ at, key }: RemovedCampaign) {
      while (true) {
        const cleared = yield* step(at, queue.clear(at, UNSERVED_MILLIS))
        if (cleared._tag === "served") return undefined
        if (cleared.owed.length > 0) yield* settle(at, cleared.owed)
        sent.set(key, (sent.get(key) ?? 0) + cleared.sent)
        yield* Metric.update(metrics.waiting(key), cleared.waiting)
        yield* Metric.update(metrics.leases(key), cleared.leases)
        if (!cleared.more) return cleared
      }
    })
    const drainOne = Effect.fnUntraced(function* (campaign: RemovedCampaign) {
      const { key, name, seenAt } = campaign
      const cleared = yield* clear(campaign)
      if (cleared === undefined) return
      if (cleared.left) {
        if (announced.has(key)) return
        announced.add(key)
        yield* Effect.logWarning(
          `Campaign ${name} (${key}) is in no gate's settings any more. Waiting callers sent away by this instance: ${sent.get(key)}. ` +
            `Calls that go on until they end: ${cleared.live}.`,
        )
      } else if (yield* shared.forget(key, seenAt)) {
        yield* Effect.logInfo(`Nothing is left of campaign ${name} (${key}), which is in no gate's settings any more.`)
      }
    })

    return {
      hear: (removed, now) => {
        if (heardAt > 0 && now - heardAt > GAP_MILLIS) heardSince = now
        heardAt = now
        byTag.clear()
        known = removed.map(({ about, key, seenAt }) => {
          const says = Option.getOrElse(decode(about), () => ({ name: key, tag: "", slots: 0 }))
          const campaign = { ...says, key, seenAt, at: { campaign: key, slots: 0, instance } }
          byTag.set(says.tag, campaign)
          return campaign
        })
        for (const key of sent.keys()) {
          if (known.some((each) => each.key === key)) continue
          sent.delete(key)
          announced.delete(key)
        }
      },
      known: () => known,
      ofTicket: (ticket) => byTag.get(tagOf(ticket)),
      queues: Effect.map(asked, () => known.map(({ at }) => at)),
      queueOf: (ticket) =>
        Effect.flatMap(asked, () => {
          const campaign = byTag.get(tagOf(ticket))
          return campaign === undefined ? Effect.fail(ticketUnknown()) : Effect.succeed(campaign.at)
        }),
      drain: Effect.suspend(() =>
        Effect.forEach(
          known.filter(({ seenAt }) => heardAt - Math.max(seenAt, heardSince) > UNSERVED_MILLIS),
          (campaign) =>
            drainOne(campaign).pipe(
              Effect.catchTag("StoreUnavailable", () => Effect.void),
              // each on its own: what is wrong with one campaign's records must not keep the others from their end
              Effect.catchCause((cause) =>
                Effect.logError(`Campaign ${campaign.key} cannot be brought to its end`, cause),
              ),
            ),
          { discard: true },
        ),
      ),
    }
  })
