/** The heartbeat of this gate's tickets: keeps those present whose pages are connected, and pushes what their pages show. */

import { Effect, Layer } from "effect"
import { FifoQueue, TICK_MILLIS } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import type { PushEvent } from "../../protocol/events.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { Settings } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Campaigns } from "../Campaigns.ts"
import { RemovedCampaigns } from "../peers/RemovedCampaigns.ts"
import { Steps } from "../Steps.ts"
import { ConnectedTickets } from "./connected-tickets.ts"
import { runEvery } from "./run-every.ts"
import { StoreOutage } from "./StoreOutage.ts"

/** More are sent in further steps, each of which keeps the store for a few milliseconds. */
const TICKETS_PER_STEP = 1_000
/** A heartbeat asks at most so often for what has changed meanwhile; the next one goes on. */
const MAX_ROUNDS = 10

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const queue = yield* FifoQueue
    const push = yield* PushChannel
    const removed = yield* RemovedCampaigns
    const steps = yield* Steps
    const store = yield* Store
    const storeOutage = yield* StoreOutage
    // with shares, a place does not follow from the order of acceptance
    const asksForAll = (yield* Settings).Queue.NetworkShare < 1

    const sendAll =
      push.sendAll ??
      ((events: Iterable<readonly [string, PushEvent]>) =>
        Effect.forEach(events, ([ticket, event]) => push.send(ticket, event), { discard: true }))

    /** One step. Returns the tickets to ask for then, and how many this gate holds. */
    const ask = Effect.fnUntraced(function* (
      at: CampaignContext,
      connected: ConnectedTickets,
      tickets: ReadonlyArray<string>,
      heldFrom?: number,
    ) {
      const question = connected.question(TICKETS_PER_STEP, heldFrom)
      connected.asks(tickets)
      const answer = yield* steps.step(at, queue.heartbeat(at, tickets, question))
      const { ask, events } = connected.answered(answer, question.closed ?? [])
      yield* sendAll(events)
      return { ask, holds: answer.changes?.holds, held: answer.changes?.held.length ?? 0 }
    })
    const heartbeatOf = Effect.fnUntraced(
      function* (at: CampaignContext, connected: ConnectedTickets, tickets: ReadonlyArray<string>) {
        let toAsk = connected.begin(tickets, asksForAll)
        let holds: number | undefined
        /** where the next page of all that this gate holds begins, while there is one */
        let heldFrom = connected.isResynchronising() ? 0 : undefined
        for (let round = 0; round < MAX_ROUNDS; round++) {
          const next: Array<string> = []
          let from = 0
          do {
            const asked = yield* ask(at, connected, toAsk.slice(from, from + TICKETS_PER_STEP), heldFrom)
            if (heldFrom !== undefined) heldFrom = asked.held === 0 ? undefined : heldFrom + asked.held
            next.push(...asked.ask)
            holds = asked.holds
            from += TICKETS_PER_STEP
          } while (from < toAsk.length || connected.hasClosed() || heldFrom !== undefined)
          if (next.length === 0) break
          toAsk = [...new Set(next)]
        }
        connected.end(holds)
      },
      (effect, _at, connected) => Effect.tapError(effect, () => Effect.sync(() => connected.missed())),
    )

    /** by the key of the campaign */
    const known = new Map<string, ConnectedTickets>()
    const connectedOf = (at: CampaignContext): ConnectedTickets => {
      const connected = known.get(at.campaign) ?? new ConnectedTickets(() => at.slots)
      known.set(at.campaign, connected)
      return connected
    }
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
          if ("at" in campaign) return heartbeatOf(campaign.at, connectedOf(campaign.at), theirs)
          const at = steps.at(campaign)
          return Effect.map(heartbeatOf(at, connectedOf(at), theirs), () => void steps.heartbeatAt.set(campaign, now))
        },
        { concurrency: "unbounded", discard: true },
      )
    })
    // after a lost subscription the heartbeat runs at once, to push what was missed
    yield* runEvery(TICK_MILLIS, "heartbeat", heartbeat, { wake: push.missed })
  }),
)
