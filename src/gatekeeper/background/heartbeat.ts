/**
 * The heartbeat of this gate's tickets: keeps those present whose pages are connected, and pushes what their pages show. A campaign whose
 * heartbeat fails, or takes long, does not hold up the others.
 */

import { Effect, Fiber, Layer, Metric } from "effect"
import { MAX_HELD_PER_STEP } from "../../fifo-queue/bounds.ts"
import { FifoQueue, TICK_MILLIS } from "../../fifo-queue/FifoQueue.ts"
import { FIRST_PLACES } from "../../fifo-queue/position.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { offerEvent, type PushEvent } from "../../protocol/events.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Campaigns } from "../Campaigns.ts"
import * as metrics from "../metrics.ts"
import { Overflow } from "../Overflow.ts"
import { RemovedCampaigns } from "../peers/RemovedCampaigns.ts"
import { Steps } from "../Steps.ts"
import { ConnectedTickets } from "./connected-tickets.ts"
import { OffersToWaiting } from "./offers-to-waiting.ts"
import { runEvery } from "./run-every.ts"
import { StoreOutage } from "./StoreOutage.ts"

/** More are sent in further steps, each of which keeps the store for some milliseconds. */
const TICKETS_PER_STEP = 250
/** A heartbeat asks at most so often for what has changed meanwhile; the next one goes on. Enough for all changes that the queue knows. */
const MAX_ROUNDS = 60

/** So many campaigns with callers begin together. Then there is a pause, in all not much more than `SPREAD_MILLIS`: many at once would keep callers waiting. */
const AT_ONCE = 16
const PAUSE_MILLIS = 5
const SPREAD_MILLIS = 500
/** How long the other campaigns wait for one whose heartbeat takes long (ms). Its next one begins when this one is over. */
const WAIT_MILLIS = 1_000

/** What is known of the tickets of one campaign; without offers for a campaign that offers nothing. */
interface Beating {
  readonly connected: ConnectedTickets
  readonly offers: OffersToWaiting | undefined
}

/** One campaign's part of a heartbeat; without a campaign for one that was removed. */
interface Beat {
  readonly at: CampaignContext
  readonly theirs: ReadonlyArray<string>
  readonly campaign: Campaign | undefined
  readonly heard: Effect.Effect<void>
}

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const queue = yield* FifoQueue
    const push = yield* PushChannel
    const removed = yield* RemovedCampaigns
    const overflow = yield* Overflow
    const steps = yield* Steps
    const store = yield* Store
    const storeOutage = yield* StoreOutage
    // with shares, a place does not follow from the order of acceptance
    const asksForAll = (yield* Settings).Queue.NetworkShare < 1

    const sendAll =
      push.sendAll ??
      ((events: Iterable<readonly [string, PushEvent]>) =>
        Effect.forEach(events, ([ticket, event]) => push.send(ticket, event), { discard: true }))

    /** One step. */
    const ask = Effect.fnUntraced(function* (
      at: CampaignContext,
      { connected, offers }: Beating,
      tickets: ReadonlyArray<string>,
      heldFrom?: number,
    ) {
      const question = connected.question(TICKETS_PER_STEP - tickets.length, heldFrom)
      connected.asks(tickets)
      const answer = yield* steps.step(at, queue.heartbeat(at, tickets, question))
      const { ask, events, more } = connected.answered(answer, question.closed ?? [])
      yield* sendAll(events, asksForAll ? undefined : FIRST_PLACES)
      offers?.answered(answer.tickets, events)
      return { ask, more, holds: answer.changes?.holds, held: answer.changes?.held.length ?? 0 }
    })
    const heartbeatOf = Effect.fnUntraced(
      function* (at: CampaignContext, beating: Beating, tickets: ReadonlyArray<string>) {
        const { connected } = beating
        if (tickets.length === 0 && connected.isIdle()) return
        let toAsk = connected.begin(tickets, asksForAll)
        let holds: number | undefined
        /** where the next page of all that this gate holds begins, while there is one */
        let heldFrom = connected.isResynchronising() ? 0 : undefined
        for (let round = 0; round < MAX_ROUNDS; round++) {
          const next: Array<string> = []
          let more = false
          let from = 0
          do {
            const asked = yield* ask(at, beating, toAsk.slice(from, from + TICKETS_PER_STEP), heldFrom)
            if (heldFrom !== undefined) heldFrom = asked.held < MAX_HELD_PER_STEP ? undefined : heldFrom + asked.held
            next.push(...asked.ask)
            ;({ holds, more } = asked)
            from += TICKETS_PER_STEP
          } while (from < toAsk.length || connected.hasClosed() || heldFrom !== undefined)
          if (next.length === 0 && connected.hasLostAll(holds)) next.push(...connected.missed())
          if (next.length === 0 && !more) break
          toAsk = [...new Set(next)]
        }
        connected.end(holds)
      },
      (effect, _at, { connected }) => Effect.tapError(effect, () => Effect.sync(() => connected.missed())),
    )

    const scope = yield* Effect.scope
    /** the keys of the campaigns whose heartbeat is not over, and of those of them that must ask for all tickets with the next one */
    const running = new Set<string>()
    const missedMeanwhile = new Set<string>()
    /** by the key of the campaign */
    const known = new Map<string, { readonly at: CampaignContext } & Beating>()
    /** Offers something else to those who wait for long. */
    const offerTo = (campaign: Campaign, offers: OffersToWaiting, tickets: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const now = yield* store.now
        const due = offers.due(new Set(tickets), now)
        const found = due.length === 0 ? undefined : overflow.offers(campaign, now)
        // as long as all that is offered is closed, they are due
        if (found === undefined) return
        offers.told(due)
        yield* sendAll(new Map(due.map((ticket) => [ticket, offerEvent(found)])))
        yield* Metric.update(metrics.offered(campaign.name, "waiting"), due.length)
      })
    const beat = (
      at: CampaignContext,
      tickets: ReadonlyArray<string>,
      campaign?: Campaign,
    ): Effect.Effect<void, StoreUnavailable> => {
      const limit = campaign?.Overflow?.AfterSeconds
      const beating = known.get(at.campaign) ?? {
        connected: new ConnectedTickets(() => at.slots),
        offers: limit === undefined ? undefined : new OffersToWaiting(limit),
      }
      known.set(at.campaign, { ...beating, at })
      const beaten = heartbeatOf(at, beating, tickets)
      return campaign === undefined || beating.offers === undefined
        ? beaten
        : Effect.andThen(beaten, offerTo(campaign, beating.offers, tickets))
    }
    /** The store may refuse one campaign, or have lost its part of a Cluster; the others have their heartbeat. */
    const beatApart = ({ at, campaign, heard, theirs }: Beat) =>
      Effect.suspend(() => {
        if (running.has(at.campaign)) return Effect.void
        running.add(at.campaign)
        return Effect.andThen(beat(at, theirs, campaign), heard).pipe(
          Effect.catchTag("StoreUnavailable", () => Effect.void),
          Effect.catchCause((cause) => {
            missedMeanwhile.add(at.campaign)
            return Effect.logError("The heartbeat of a campaign failed", cause)
          }),
          Effect.ensuring(
            Effect.sync(() => {
              running.delete(at.campaign)
              if (missedMeanwhile.delete(at.campaign)) known.get(at.campaign)?.connected.missed()
            }),
          ),
        )
      })
    const heartbeat = Effect.gen(function* () {
      const now = yield* store.now
      const tickets = yield* push.tickets
      const moved = storeOutage.tickets()
      // a host's own channel may name a ticket twice
      const all = moved.length === 0 && push.sendAll !== undefined ? tickets : new Set([...tickets, ...moved])
      const byCampaign = Map.groupBy(all, (ticket) => campaigns.ofTicket(ticket) ?? removed.ofTicket(ticket))
      // campaigns without connections send an empty heartbeat, so that none of their tickets waits for this instance
      for (const campaign of campaigns.all) if (!byCampaign.has(campaign)) byCampaign.set(campaign, [])
      const beats = [...byCampaign].flatMap(([campaign, theirs]): ReadonlyArray<Beat> => {
        if (campaign === undefined) return []
        if ("at" in campaign) return [{ at: campaign.at, theirs, campaign: undefined, heard: Effect.void }]
        return [
          {
            at: steps.at(campaign),
            theirs,
            campaign,
            heard: Effect.sync(() => void steps.heartbeatAt.set(campaign, now)),
          },
        ]
      })
      // a removed campaign is told of its last connection that closes, and then forgotten
      const silent: Array<Beat> = []
      const beating = new Set(beats.map(({ at }) => at.campaign))
      for (const [key, { at, connected }] of known) {
        if (beating.has(key)) continue
        if (connected.isIdle()) known.delete(key)
        else silent.push({ at, theirs: [], campaign: undefined, heard: Effect.void })
      }
      const pause = Math.min(PAUSE_MILLIS, Math.floor((SPREAD_MILLIS * AT_ONCE) / beats.length))
      const begun: Array<Fiber.Fiber<void>> = []
      let since = 0
      for (const each of [...beats, ...silent]) {
        if (since >= AT_ONCE) {
          since = 0
          yield* pause < 1 ? Effect.yieldNow : Effect.sleep(pause)
        }
        if (each.theirs.length > 0) since++
        begun.push(yield* Effect.forkIn(beatApart(each), scope, { startImmediately: true }))
      }
      yield* Effect.raceFirst(Fiber.awaitAll(begun), Effect.sleep(WAIT_MILLIS))
    })
    const missed =
      push.missed &&
      Effect.tap(push.missed, () =>
        Effect.sync(() => {
          for (const [key, { connected }] of known) {
            connected.missed()
            if (running.has(key)) missedMeanwhile.add(key)
          }
        }),
      )
    // after a lost subscription the heartbeat runs at once, and asks for all, to push what was missed
    yield* runEvery(TICK_MILLIS, "heartbeat", heartbeat, { wake: missed })
  }),
)
