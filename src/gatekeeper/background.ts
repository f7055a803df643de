/**
 * What runs beside the requests: the sweep that upholds deadlines and wakes what was not woken, the tick that keeps
 * connected tickets present and tells them their position, and the look after sessions whose webhook was lost.
 */
import { Effect, Exit, Metric, Schedule, type Scope } from "effect"
import { FifoQueue, TICK_MILLIS, type Touched } from "../FifoQueue.ts"
import { PlatformApi, type SessionState } from "../PlatformApi.ts"
import { endedEvent, lostEvent, PushChannel, startCallEvent } from "../PushChannel.ts"
import { isTerminal, type PushEvent, type StoreUnavailable } from "../Session.ts"
import type { Campaign } from "../Settings.ts"
import { Store } from "../Store.ts"
import type { Campaigns } from "./campaigns.ts"
import { type Capacity, LOOK_MILLIS } from "./capacity.ts"
import * as metrics from "./metrics.ts"
import { estimateSeconds } from "./outcomes.ts"
import type { SessionIds } from "./session-ids.ts"
import type { Steps } from "./steps.ts"
import type { Tickets } from "./tickets.ts"

/** A free slot and a waiting ticket meet within this time, whatever was lost. */
export const SWEEP_MILLIS = 1_000
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

/**
 * Repeats for ever at this interval, beginning after it or at once; a store that is away is waited for, anything else is a bug and
 * is logged.
 */
const every = (millis: number, name: string, task: Effect.Effect<void, StoreUnavailable>, atOnce = false) => {
  const tried = task.pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.void),
    Effect.catchCause((cause) => Effect.logError(`The ${name} failed`, cause)),
  )
  const repeated = Effect.forever(Effect.delay(tried, millis))
  return Effect.forkScoped(atOnce ? Effect.andThen(tried, repeated) : repeated, { startImmediately: true })
}

export const background = (
  campaigns: Campaigns,
  capacity: Capacity,
  steps: Steps,
  { sessionEnded }: Tickets,
  ids: SessionIds,
): Effect.Effect<Upkeep, never, FifoQueue | PlatformApi | PushChannel | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const platform = yield* PlatformApi
    const push = yield* PushChannel
    const store = yield* Store
    const live = new Map<string, number>()
    const failing = new Set<string>()
    const began = yield* store.now
    /** when the connected tickets of each campaign were touched last */
    const shown = new Map<Campaign, number>()
    // said while the connection still stands, and not waited for
    yield* Effect.addFinalizer(() =>
      Effect.forEach(campaigns.all, (campaign) =>
        Effect.forkDetach(Effect.ignore(queue.gone(steps.at(campaign)))),
      ).pipe(Effect.andThen(Effect.yieldNow)),
    )

    const sweepOf = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        const at = steps.at(campaign)
        const swept = yield* steps.step(at, queue.sweep(at, shown.get(campaign) ?? began))
        if (swept.owed.length > 0) yield* steps.settle(at, swept.owed)
        live.set(campaign.name, swept.live)
        yield* Metric.update(metrics.waiting(campaign.name), swept.waiting)
        yield* Metric.update(metrics.leases(campaign.name), swept.leases)
        yield* Metric.update(metrics.slots(campaign.name), at.slots)
        if (swept.more) yield* sweepOf(campaign)
      })
    const swept = (campaign: Campaign): Effect.Effect<void, StoreUnavailable> =>
      Effect.onExit(sweepOf(campaign), (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit)) failing.delete(campaign.name)
          else failing.add(campaign.name)
        }),
      )
    // each on its own: what is wrong with one campaign's records must not keep the others from being swept
    for (const campaign of campaigns.all) {
      // at once, before anybody is served: nobody waits for a gate that was never heard of
      yield* every(SWEEP_MILLIS, "sweep", swept(campaign), true)
    }

    const eventOf = (
      slots: number,
      ticket: Touched,
      queueLength: number,
      averageMillis: number,
    ): PushEvent | undefined => {
      if (ticket.state === "waiting") {
        return {
          type: "position",
          position: ticket.position,
          queueLength,
          estimatedWaitSeconds: estimateSeconds({ position: ticket.position, averageMillis }, slots),
        }
      }
      if (ticket.state === "called") return startCallEvent(ticket.startBefore)
      if (ticket.state === undefined) return lostEvent
      return isTerminal(ticket.state) ? endedEvent(ticket.state) : undefined
    }
    const tickOf = (campaign: Campaign, tickets: ReadonlyArray<string>): Effect.Effect<void, StoreUnavailable> =>
      Effect.gen(function* () {
        const at = steps.at(campaign)
        for (let from = 0; from < tickets.length; from += TOUCH_LIMIT) {
          const touched = yield* steps.step(at, queue.touch(at, tickets.slice(from, from + TOUCH_LIMIT)))
          for (const ticket of touched.tickets) {
            const event = eventOf(at.slots, ticket, touched.length, touched.averageMillis)
            if (event !== undefined) yield* push.send(ticket.ticket, event)
          }
        }
      })
    yield* every(
      TICK_MILLIS,
      "tick",
      Effect.gen(function* () {
        const now = yield* store.now
        const byCampaign = Map.groupBy(yield* push.tickets, campaigns.ofTicket)
        yield* Effect.forEach(
          campaigns.all,
          (campaign) =>
            Effect.map(tickOf(campaign, byCampaign.get(campaign) ?? []), () => void shown.set(campaign, now)),
          { concurrency: "unbounded", discard: true },
        )
      }),
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

    yield* capacity
      .refresh((campaign) => live.get(campaign.name) ?? 0)
      .pipe(
        Effect.catchTag("CapacityUnknown", (error) => Effect.logWarning(error.message)),
        Effect.catchCause((cause) => Effect.logError("The look at the platform's figures failed", cause)),
        Effect.repeat(Schedule.spaced(LOOK_MILLIS)),
        Effect.delay(LOOK_MILLIS),
        Effect.forkScoped,
      )

    return { failing: () => [...failing] }
  })
