/** The heartbeat of this gate's tickets: keeps those present whose pages are connected, and pushes what their pages show. */

import { Effect, Layer } from "effect"
import { FifoQueue, type Heartbeat, type HeartbeatEntry, type Place, TICK_MILLIS } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { endedEvent, lostEvent, type PushEvent, startCallEvent } from "../../protocol/events.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { isTerminal } from "../../protocol/ticket.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { Store } from "../../store/Store.ts"
import { Campaigns } from "../Campaigns.ts"
import { positionEvent } from "../outcomes.ts"
import { RemovedCampaigns } from "../peers/RemovedCampaigns.ts"
import { Steps } from "../Steps.ts"
import { runEvery } from "./run-every.ts"
import { StoreOutage } from "./StoreOutage.ts"

/** More are sent in further commands. */
const MAX_TICKETS_PER_HEARTBEAT = 10_000

const eventOf = (slots: number, ticket: HeartbeatEntry, queue: Omit<Place, "position">): PushEvent | undefined => {
  if (ticket.state === "waiting") return positionEvent({ ...queue, position: ticket.position }, slots)
  if (ticket.state === "called") return startCallEvent(ticket.startBefore)
  if (ticket.state === undefined) return lostEvent
  return isTerminal(ticket.state) ? endedEvent(ticket.state) : undefined
}

function* eventsOf(slots: number, answer: Heartbeat): Generator<readonly [ticket: string, event: PushEvent]> {
  for (const entry of answer.tickets) {
    const event = eventOf(slots, entry, answer)
    if (event !== undefined) yield [entry.ticket, event]
  }
}

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const queue = yield* FifoQueue
    const push = yield* PushChannel
    const removed = yield* RemovedCampaigns
    const steps = yield* Steps
    const store = yield* Store
    const storeOutage = yield* StoreOutage

    const sendAll =
      push.sendAll ??
      ((events: Iterable<readonly [string, PushEvent]>) =>
        Effect.forEach(events, ([ticket, event]) => push.send(ticket, event), { discard: true }))
    const heartbeatOf = (at: CampaignContext, tickets: ReadonlyArray<string>): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        for (let from = 0; from < tickets.length; from += MAX_TICKETS_PER_HEARTBEAT) {
          const answer = yield* steps.step(
            at,
            queue.heartbeat(at, tickets.slice(from, from + MAX_TICKETS_PER_HEARTBEAT)),
          )
          yield* sendAll(eventsOf(at.slots, answer))
        }
      })
    const heartbeat = Effect.gen(function* () {
      const now = yield* store.now
      const tickets = yield* push.tickets
      const moved = storeOutage.tickets()
      const all = moved.length === 0 ? tickets : new Set([...tickets, ...moved])
      const byCampaign = Map.groupBy(all, (ticket) => campaigns.ofTicket(ticket) ?? removed.ofTicket(ticket))
      // campaigns without connections send an empty heartbeat, so that none of their tickets waits for this instance
      for (const campaign of campaigns.all) if (!byCampaign.has(campaign)) byCampaign.set(campaign, [])
      yield* Effect.forEach(
        byCampaign,
        ([campaign, theirs]) => {
          if (campaign === undefined) return Effect.void
          return "at" in campaign
            ? heartbeatOf(campaign.at, theirs)
            : Effect.map(heartbeatOf(steps.at(campaign), theirs), () => void steps.heartbeatAt.set(campaign, now))
        },
        { concurrency: "unbounded", discard: true },
      )
    })
    // after a lost subscription the heartbeat runs at once, to push what was missed
    yield* runEvery(TICK_MILLIS, "heartbeat", heartbeat, { wake: push.missed })
  }),
)
