/**
 * What runs beside the requests: the sweep that upholds deadlines and wakes what was not woken, the tick that keeps
 * connected tickets present and tells them their position, and the look after sessions whose webhook was lost.
 */
import { Effect, Exit, Metric, Schedule, type Scope } from "effect"
import { type At, FifoQueue, type Swept, TICK_MILLIS, type Touched } from "../FifoQueue.ts"
import { PlatformApi, type SessionState } from "../PlatformApi.ts"
import { endedEvent, lostEvent, PushChannel, startCallEvent } from "../PushChannel.ts"
import { isTerminal, type PushEvent, type StoreUnavailable } from "../Session.ts"
import type { Campaign, Settings } from "../Settings.ts"
import { Store } from "../Store.ts"
import type { Campaigns } from "./campaigns.ts"
import { type Capacity, LOOK_MILLIS } from "./capacity.ts"
import { DOUBT_LOOK_MILLIS, type Doubts } from "./doubts.ts"
import { every } from "./every.ts"
import * as metrics from "./metrics.ts"
import { disruption, estimateSeconds } from "./outcomes.ts"
import { makeQuarantined } from "./quarantined.ts"
import type { Removed } from "./removed.ts"
import type { SessionIds } from "./session-ids.ts"
import type { Steps } from "./steps.ts"
import { makeStranded } from "./stranded.ts"
import type { Tickets } from "./tickets.ts"

/** A free slot and a waiting ticket meet within this time, whatever was lost. */
export const SWEEP_MILLIS = 1_000
/** So many further sweeps follow at once while there is more to do; the rest waits for the next second. */
const SWEEPS_AT_ONCE = 100
/** Live leases older than this are looked after, this often. */
export const AUDIT_AGE_MILLIS = 3 * 60_000
export const AUDIT_MILLIS = 60_000
/** The most tickets in one command of a tick; more go in further commands. */
const TOUCH_LIMIT = 10_000

/** Which campaigns' queues are upheld. */
export interface Upkeep {
  /** The campaigns whose last sweep failed. */
  readonly failing: () => ReadonlyArray<string>
}

/** Whether the store was reached, whatever it answered. */
const wasReached = (exit: Exit.Exit<void, StoreUnavailable>): boolean =>
  Exit.isSuccess(exit) ||
  !exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.refusal === undefined)

export const background = (
  campaigns: Campaigns,
  capacity: Capacity,
  steps: Steps,
  { sessionEnded }: Tickets,
  ids: SessionIds,
  doubts: Doubts,
  removed: Removed,
): Effect.Effect<Upkeep, never, FifoQueue | PlatformApi | PushChannel | Settings | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const push = yield* PushChannel
    const store = yield* Store
    const running = new Map<string, Pick<Swept, "live" | "doubts">>()
    const failing = new Set<string>()
    const stranded = yield* makeStranded
    const began = yield* store.now
    const noteQuarantined = makeQuarantined(began)
    const disrupted = new Set<string>()
    /** Says in the log when starts of a campaign are held back, and when they go on. */
    const noteDisruption = ({ name }: Campaign, is: boolean): Effect.Effect<void> => {
      if (is === disrupted.has(name)) return Effect.void
      if (is) {
        disrupted.add(name)
        return Effect.logWarning(
          `The platform cannot be reached for campaign ${name}: callers keep their places, and one at a time is called to find out.`,
        )
      }
      disrupted.delete(name)
      return Effect.logInfo(`The platform can be reached again for campaign ${name}: callers are called as before.`)
    }
    /** when the connected tickets of each campaign were touched last */
    const shown = new Map<Campaign, number>()
    // said while the connection still stands, and not waited for
    yield* Effect.addFinalizer(() =>
      Effect.forEach(campaigns.all, (campaign) =>
        Effect.forkDetach(Effect.ignore(queue.gone(steps.at(campaign)))),
      ).pipe(Effect.andThen(Effect.yieldNow)),
    )

    const sweepOf = (campaign: Campaign, left = SWEEPS_AT_ONCE): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        const at = steps.at(campaign)
        const swept = yield* steps.step(at, queue.sweep(at, shown.get(campaign) ?? began))
        if (swept.owed.length > 0) yield* steps.settle(at, swept.owed)
        running.set(campaign.name, swept)
        yield* Metric.update(metrics.waiting(campaign.name), swept.waiting)
        yield* Metric.update(metrics.leases(campaign.name), swept.leases)
        yield* Metric.update(metrics.slots(campaign.name), at.slots)
        yield* Metric.update(metrics.doubts(campaign.name), swept.doubts)
        yield* Metric.update(metrics.quarantined(campaign.name), swept.quarantined.count)
        yield* noteQuarantined(campaign, at, swept.quarantined, yield* store.now)
        yield* noteDisruption(campaign, swept.disrupted)
        if (swept.more && left > 0) yield* sweepOf(campaign, left - 1)
      })
    const swept = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.onExit(sweepOf(campaign), (exit) => {
        if (Exit.isSuccess(exit)) failing.delete(campaign.name)
        else failing.add(campaign.name)
        return stranded.reached(wasReached(exit))
      })
    // each on its own: what is wrong with one campaign's records must not keep the others from being swept
    for (const campaign of campaigns.all) {
      // at once, before anybody is served: nobody waits for a gate that was never heard of
      yield* every(SWEEP_MILLIS, "sweep", swept(campaign), { atOnce: true })
    }

    const eventOf = (
      slots: number,
      ticket: Touched,
      queueLength: number,
      averageMillis: number,
      disrupted: boolean,
    ): PushEvent | undefined => {
      if (ticket.state === "waiting") {
        return {
          type: "position",
          position: ticket.position,
          queueLength,
          estimatedWaitSeconds: estimateSeconds({ position: ticket.position, averageMillis }, slots),
          ...disruption({ disrupted }),
        }
      }
      if (ticket.state === "called") return startCallEvent(ticket.startBefore)
      if (ticket.state === undefined) return lostEvent
      return isTerminal(ticket.state) ? endedEvent(ticket.state) : undefined
    }
    const tickOf = (at: At, tickets: ReadonlyArray<string>): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        for (let from = 0; from < tickets.length; from += TOUCH_LIMIT) {
          const touched = yield* steps.step(at, queue.touch(at, tickets.slice(from, from + TOUCH_LIMIT)))
          const { averageMillis, disrupted, length } = touched
          for (const ticket of touched.tickets) {
            const event = eventOf(at.slots, ticket, length, averageMillis, disrupted)
            if (event !== undefined) yield* push.send(ticket.ticket, event)
          }
        }
      })
    yield* every(
      TICK_MILLIS,
      "tick",
      Effect.gen(function* () {
        const now = yield* store.now
        const tickets = yield* push.tickets
        const away = stranded.tickets()
        const all = away.length === 0 ? tickets : new Set([...tickets, ...away])
        const byCampaign = Map.groupBy(all, (ticket) => campaigns.ofTicket(ticket) ?? removed.ofTicket(ticket))
        // a campaign of which nobody is connected is told so too: then none of its tickets waits for this gate
        for (const campaign of campaigns.all) if (!byCampaign.has(campaign)) byCampaign.set(campaign, [])
        yield* Effect.forEach(
          byCampaign,
          ([campaign, theirs]) => {
            if (campaign === undefined) return Effect.void
            return "at" in campaign
              ? tickOf(campaign.at, theirs)
              : Effect.map(tickOf(steps.at(campaign), theirs), () => void shown.set(campaign, now))
          },
          { concurrency: "unbounded", discard: true },
        )
      }),
      // what was published while it was not heard is made up for at once
      { wake: push.missed },
    )

    const auditOf = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        const old = yield* queue.audit(steps.at(campaign), AUDIT_AGE_MILLIS, AUDIT_MILLIS)
        for (const session of old) {
          const { sessionIds, status } = yield* Effect.catch(platform.sessionStatus(campaign.name, session), () =>
            Effect.succeed<SessionState>({ status: "unknown", sessionIds: [] }),
          )
          if (status === "running") yield* ids.keep(steps.at(campaign), session, sessionIds)
          if (status !== "over") continue
          yield* Effect.logWarning("A session is over that the platform did not tell us of; its slot is freed.")
          yield* sessionEnded([session])
        }
      })
    yield* every(AUDIT_MILLIS, "audit", Effect.forEach(campaigns.all, auditOf, { discard: true }))

    yield* every(
      DOUBT_LOOK_MILLIS,
      "look at starts in doubt",
      Effect.forEach(
        campaigns.all,
        (campaign) => {
          const known = running.get(campaign.name)
          return known === undefined || known.doubts === 0 ? Effect.void : doubts.look(campaign, known.live)
        },
        { discard: true },
      ),
    )

    yield* capacity
      .refresh((campaign) => {
        const { doubts, live } = running.get(campaign.name) ?? { doubts: 0, live: 0 }
        return live + doubts
      })
      .pipe(
        Effect.catchTag("CapacityUnknown", (error) => Effect.logWarning(error.message)),
        Effect.catchCause((cause) => Effect.logError("The look at the platform's figures failed", cause)),
        Effect.repeat(Schedule.spaced(LOOK_MILLIS)),
        Effect.delay(LOOK_MILLIS),
        Effect.forkScoped,
      )

    return { failing: () => [...failing] }
  })
