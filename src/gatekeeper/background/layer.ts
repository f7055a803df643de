/**
 * Background tasks: the sweep that enforces deadlines and recovers lost wake-ups, the heartbeat that keeps connected tickets
 * present and pushes their position, the audit of sessions whose webhook was lost, and the end of calls that last too long.
 */

import { Effect, Exit, type Scope } from "effect"
import {
  type CampaignContext,
  FifoQueue,
  type Heartbeat,
  type HeartbeatEntry,
  type Place,
  type Swept,
  TICK_MILLIS,
} from "../../fifo-queue/FifoQueue.ts"
import type { EndReporter } from "../../fifo-queue/rules/end.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { SessionState } from "../../platform-api/model.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { ReadsSettings } from "../../platform-api/vendor.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { isTerminal, type PushEvent } from "../../protocol/Session.ts"
import { endedEvent, lostEvent, startCallEvent } from "../../push-channel/layer.ts"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import type { Campaign, Settings } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import type { Campaigns } from "../Campaigns.ts"
import { makeCheckOpened } from "../calls/check-opened.ts"
import { DOUBT_CHECK_MILLIS, type Doubts } from "../calls/doubts.ts"
import { DUE_CHECK_MILLIS, type EndDue } from "../calls/end-due.ts"
import type { SessionIds } from "../calls/SessionIds.ts"
import type { WatchCall } from "../calls/watch-calls.ts"
import { type Capacity, POLL_MILLIS } from "../capacity/Capacity.ts"
import type { FullQueues } from "../checks/FullQueues.ts"
import * as metrics from "../metrics.ts"
import { estimateSeconds, hindrances } from "../outcomes.ts"
import { PlatformStates } from "../PlatformStates.ts"
import type { RemovedCampaigns } from "../peers/RemovedCampaigns.ts"
import type { Steps } from "../Steps.ts"
import { makeClosedQueues } from "./closed-queues.ts"
import { makeQuarantined } from "./quarantined.ts"
import { runEvery } from "./run-every.ts"
import { makeStoreOutage } from "./StoreOutage.ts"

/** A waiting ticket is called to a free slot within this time, even if a wake-up was lost. */
export const SWEEP_MILLIS = 1_000
/** How many sweeps may follow each other at once while work remains; then the next interval continues. */
const SWEEPS_AT_ONCE = 100
/** Live leases older than this are checked at the platform, at this interval. */
export const AUDIT_AGE_MILLIS = 3 * 60_000
export const AUDIT_MILLIS = 60_000
const MAX_SEEN_RUNNING = 10_000
/** How often the records of a queue are compared with its sets: a gate that has seen a rule fail half-way may have died (ms). */
export const REPAIR_MILLIS = 10 * 60_000
/** How long a gate that stops waits at most for the store to know it (ms). */
const UNREGISTER_MILLIS = 2_000
/** Maximum number of tickets in one heartbeat command; more are sent in further commands. */
const MAX_TICKETS_PER_HEARTBEAT = 10_000

/** The state of the background tasks. */
export interface BackgroundStatus {
  /** The campaigns whose last sweep failed. */
  readonly failingCampaigns: () => ReadonlyArray<string>
  /** Why campaigns are closed, by their names. */
  readonly closedQueues: () => ReadonlyMap<string, string>
  /** Tickets whose pages an outage has moved and that may not have returned yet. */
  readonly movedTickets: () => ReadonlyArray<string>
}

/** Whether the store answered, even with an error. */
const wasReached = (exit: Exit.Exit<void, StoreUnavailable>): boolean =>
  Exit.isSuccess(exit) ||
  !exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.refusal === undefined)

export const background = (
  campaigns: Campaigns,
  capacity: Capacity,
  steps: Steps,
  ids: SessionIds,
  doubts: Doubts,
  watchCall: WatchCall,
  endDue: EndDue,
  removed: RemovedCampaigns,
  isTakenOver: (campaign: Campaign) => boolean,
  fullQueues: Pick<FullQueues, "swept">,
): Effect.Effect<
  BackgroundStatus,
  never,
  FifoQueue | PlatformApi | PlatformStates | PushChannel | Settings | Store | Scope.Scope
> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const push = yield* PushChannel
    const store = yield* Store
    const running = new Map<string, Pick<Swept, "live" | "doubts">>()
    const failing = new Set<string>()
    const storeOutage = yield* makeStoreOutage
    const closedQueues = makeClosedQueues()
    const startedAt = yield* store.now
    const noteQuarantined = makeQuarantined(startedAt)
    const states = yield* PlatformStates
    const scope = yield* Effect.scope
    const reading = new Set<string>()
    /** Reads the platform in the background. What it shows goes with the next sweep. */
    const read = (campaign: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (reading.has(campaign)) return Effect.void
        reading.add(campaign)
        return platform
          .verify(campaign)
          .pipe(
            Effect.provideService(ReadsSettings, false),
            Effect.ensuring(Effect.sync(() => void reading.delete(campaign))),
            Effect.forkIn(scope),
            Effect.asVoid,
          )
      })
    // awaited, while the store's connection is still open: otherwise the other gates wait for this one as for a dead one
    yield* Effect.addFinalizer(() =>
      Effect.forEach(
        campaigns.all.filter((campaign) => !isTakenOver(campaign)),
        (campaign) => Effect.ignore(queue.unregister(steps.at(campaign))),
        { concurrency: "unbounded", discard: true },
      ).pipe(Effect.interruptible, Effect.timeoutOption(UNREGISTER_MILLIS)),
    )

    const sweepOf = (campaign: Campaign, left = SWEEPS_AT_ONCE): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        const at = steps.at(campaign)
        const learned = states.learned(campaign.name)
        const readAt = yield* store.now
        const swept = yield* steps.step(at, queue.sweep(at, steps.heartbeatAt.get(campaign) ?? startedAt, learned))
        states.told(campaign.name, learned)
        if (swept.owed.length > 0) yield* steps.settle(at, swept.owed)
        running.set(campaign.name, swept)
        fullQueues.swept(campaign, swept.waiting)
        const { doubts, leases, quarantined, waiting } = swept
        const slots = Number.isFinite(at.slots) ? at.slots : swept.allowed
        const figures: Partial<metrics.GaugeFigures> = {
          waiting,
          leases,
          doubts,
          quarantined: quarantined.count,
          readAt: readAt / 1000,
          ...(slots === undefined ? {} : { slots }),
        }
        yield* metrics.setGauges(campaign.name, figures)
        yield* noteQuarantined(campaign, at, swept.quarantined, yield* store.now)
        yield* states.note(campaign.name, swept.platform, yield* store.now)
        if (swept.watch === true) yield* read(campaign.name)
        if (swept.more && left > 0) yield* sweepOf(campaign, left - 1)
      })
    const sweepAndRecord = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.onExit(sweepOf(campaign), (exit) => {
        if (Exit.isSuccess(exit)) failing.delete(campaign.name)
        else failing.add(campaign.name)
        return Effect.andThen(closedQueues.swept(campaign.name, exit), storeOutage.record(wasReached(exit)))
      })
    // one task a campaign: invalid records of one campaign must not stop the sweeps of the others
    for (const campaign of campaigns.all) {
      // the first sweep runs before any request is served, so that the queue knows this instance
      yield* runEvery(SWEEP_MILLIS, "sweep", sweepAndRecord(campaign), {
        atOnce: true,
        attributes: { "voicegate.campaign": campaign.name },
      })
    }

    for (const campaign of campaigns.all) {
      if (queue.repair === undefined) break
      const repaired = Effect.flatMap(queue.repair(steps.at(campaign)), (count) =>
        count === 0
          ? Effect.void
          : Effect.logWarning(
              `${count} tickets of campaign ${campaign.name} were put back: a rule of the store had failed half-way.`,
            ),
      )
      yield* runEvery(REPAIR_MILLIS, "repair of the queue", repaired, {
        atOnce: true,
        attributes: { "voicegate.campaign": campaign.name },
      })
    }

    const sendAll =
      push.sendAll ??
      ((events: Iterable<readonly [string, PushEvent]>) =>
        Effect.forEach(events, ([ticket, event]) => push.send(ticket, event), { discard: true }))
    const eventOf = (slots: number, ticket: HeartbeatEntry, queue: Omit<Place, "position">): PushEvent | undefined => {
      if (ticket.state === "waiting") {
        return {
          type: "position",
          position: ticket.position,
          queueLength: queue.length,
          estimatedWaitSeconds: estimateSeconds({ ...queue, position: ticket.position }, slots),
          ...hindrances(queue),
        }
      }
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
    yield* runEvery(
      TICK_MILLIS,
      "heartbeat",
      Effect.gen(function* () {
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
      }),
      // after a lost subscription the heartbeat runs at once, to push what was missed
      { wake: push.missed },
    )

    /** sessions that an audit here has seen running */
    const seenRunning = boundedCache<true>(MAX_SEEN_RUNNING)
    /** What an end that only the audit has found tells of the platform's webhooks: none need come for a session that nobody has opened. */
    const reporterOf = ({ name }: Campaign, session: string, opened: boolean | undefined): EndReporter | undefined => {
      const wasSeen = seenRunning.delete(session)
      if (platform.reportsEnds?.(name) !== true) return "audit_alone"
      return opened === false && !wasSeen ? undefined : "audit"
    }
    const auditOf = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        const old = yield* queue.audit(steps.at(campaign), AUDIT_AGE_MILLIS, AUDIT_MILLIS)
        for (const session of old) {
          const { opened, sessionIds, status } = yield* Effect.catch(
            platform.sessionStatus(campaign.name, session),
            () => Effect.succeed<SessionState>({ status: "unknown", sessionIds: [] }),
          )
          if (status === "running") {
            if (opened !== false) seenRunning.set(session, true)
            yield* ids.keep(steps.at(campaign), session, sessionIds)
            yield* watchCall(steps.at(campaign), campaign.name, session)
          }
          if (status !== "over") continue
          yield* Effect.logWarning("A session has ended without a webhook from the platform; its slot is freed.")
          const reporter = reporterOf(campaign, session, opened)
          yield* steps.step(steps.at(campaign), queue.end(steps.at(campaign), [session], reporter))
        }
      })
    const checkDoubtsOf = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.suspend(() => {
        const known = running.get(campaign.name)
        return known === undefined || known.doubts === 0 ? Effect.void : doubts.check(campaign, known.live)
      })
    const endDueOf = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.suspend(() => ((running.get(campaign.name)?.live ?? 0) === 0 ? Effect.void : endDue(campaign)))

    const checkOpened = yield* makeCheckOpened(steps)
    const checkOpenedOf = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.suspend(() =>
        (running.get(campaign.name)?.live ?? 0) === 0
          ? Effect.void
          : checkOpened(campaign, (session) =>
              steps.step(steps.at(campaign), queue.end(steps.at(campaign), [session])),
            ),
      )

    // one task a campaign: a platform that answers slowly must not hold up those of the others
    for (const campaign of campaigns.all) {
      const ofCampaign = { attributes: { "voicegate.campaign": campaign.name } }
      yield* runEvery(AUDIT_MILLIS, "audit", auditOf(campaign), ofCampaign)
      yield* runEvery(DOUBT_CHECK_MILLIS, "check of starts in doubt", checkDoubtsOf(campaign), ofCampaign)
      yield* runEvery(DUE_CHECK_MILLIS, "check of sessions that nobody has opened", checkOpenedOf(campaign), ofCampaign)
      yield* runEvery(DUE_CHECK_MILLIS, "end of calls at their longest length", endDueOf(campaign), ofCampaign)
    }

    yield* runEvery(
      POLL_MILLIS,
      "reading of the platform's concurrency",
      capacity.refresh((campaign) => {
        const { doubts, live } = running.get(campaign.name) ?? { doubts: 0, live: 0 }
        return live + doubts
      }),
    )

    return {
      failingCampaigns: () => [...failing],
      closedQueues: closedQueues.reasons,
      movedTickets: storeOutage.tickets,
    }
  })
