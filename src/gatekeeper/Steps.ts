/** Runs the steps of the queue: pushes their signals and carries out their settlements. */

import { Context, Effect, Layer, Metric } from "effect"
import { Budgets } from "../budgets/Budgets.ts"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import type { CampaignContext, StepResult } from "../fifo-queue/step.ts"
import { DEFAULT_PLATFORM } from "../platform-api/vendors.ts"
import type { Charge, Settlement } from "../protocol/settlements.ts"
import type { Signal } from "../protocol/signals.ts"
import { eventOf, inSignalSpan } from "../push-channel/layer.ts"
import { PushChannel } from "../push-channel/PushChannel.ts"
import { RateLimiter } from "../rate-limiter/RateLimiter.ts"
import type { Campaign } from "../settings/Settings.ts"
import { Campaigns } from "./Campaigns.ts"
import { NotGivenBack } from "./calls/NotGivenBack.ts"
import { FollowUps } from "./FollowUps.ts"
import * as metrics from "./metrics.ts"
import { Successor } from "./Successor.ts"
import { TicketLog } from "./TicketLog.ts"

const NONE: ReadonlyArray<never> = []

export class Steps extends Context.Service<
  Steps,
  {
    readonly at: (campaign: Campaign) => CampaignContext
    /** Runs a step and carries out its effects. */
    readonly step: <A, E>(at: CampaignContext, taken: Effect.Effect<StepResult<A>, E>) => Effect.Effect<A, E>
    /** The caller must run it uninterruptibly. */
    readonly carryOut: <A>(at: CampaignContext, stepped: StepResult<A>) => Effect.Effect<A>
    /** Carries out settlements with the rate limiter. One that fails now stays owed in the store. */
    readonly settle: (at: CampaignContext, settlements: ReadonlyArray<Settlement>) => Effect.Effect<void>
    /** Charges to budgets what calls have used. A charge that fails now stays owed in the store. */
    readonly charge: (at: CampaignContext, charges: ReadonlyArray<Charge>) => Effect.Effect<void>
    /** when the last heartbeat of each campaign's tickets was sent (ms) */
    readonly heartbeatAt: Map<Campaign, number>
  }
>()("voicegate/gatekeeper/Steps") {}

export const layer: Layer.Layer<
  Steps,
  never,
  Budgets | Campaigns | FifoQueue | FollowUps | NotGivenBack | PushChannel | RateLimiter | Successor | TicketLog
> = Layer.effect(
  Steps,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { account, slots } = yield* Successor
    const notGivenBack = yield* NotGivenBack
    const followUps = yield* FollowUps
    const limiter = yield* RateLimiter
    const budgets = yield* Budgets
    const log = yield* TicketLog
    const push = yield* PushChannel
    const queue = yield* FifoQueue

    const settle: Steps["Service"]["settle"] = (at, settlements) =>
      // separately: on a Cluster another caller's keys may be on a node that is down;
      // and concurrently, so that a sweep waits for one timeout, not for several
      Effect.filter(
        settlements,
        ({ caller, kind, ticket }) =>
          Effect.match(limiter[kind](caller, ticket), { onFailure: () => false, onSuccess: () => true }),
        { concurrency: "unbounded" },
      ).pipe(
        Effect.flatMap((done) => (done.length === 0 ? Effect.void : queue.acknowledge(at, done))),
        Effect.catch(() => Effect.void),
      )

    /** vendors of which the log has said that they end calls late */
    const late = new Set<string>()
    const noteOverrun = (campaign: string, seconds: number): Effect.Effect<void> =>
      Effect.suspend(() => {
        const vendor = campaigns.find(campaign)?.Platform ?? DEFAULT_PLATFORM
        const isKnown = late.has(vendor)
        late.add(vendor)
        return Effect.andThen(
          Metric.update(metrics.overrun.of(campaign), seconds),
          isKnown
            ? Effect.void
            : Effect.annotateLogs(
                Effect.logWarning(
                  `A call has run ${Math.ceil(seconds)} s beyond its time limit, as far as the gate knows: ${vendor} did not end it, or said so ` +
                    "late. More such calls are counted by voicegate_call_overrun_seconds_total and not logged.",
                ),
                { campaign },
              ),
        )
      })

    const charge: Steps["Service"]["charge"] = (at, charges) =>
      Effect.filter(
        charges,
        (each) => Effect.match(budgets.settle(at.campaign, each), { onFailure: () => false, onSuccess: () => true }),
        { concurrency: "unbounded" },
      ).pipe(
        Effect.flatMap((done) => (done.length === 0 ? Effect.void : (queue.charged?.(at, done) ?? Effect.void))),
        Effect.catch(() => Effect.void),
      )

    /** Counts and logs a call or an end. The step's own gate does, so that each is counted once, whichever gate has the connection. */
    const note = (campaign: string, { kind, ticket }: Signal): Effect.Effect<void> => {
      switch (kind._tag) {
        case "called":
          return Effect.andThen(
            Metric.update(metrics.called.of(campaign), 1),
            log("ticket called", { campaign, ticket }),
          )
        case "ended": {
          const ended = Effect.andThen(
            Metric.update(metrics.over(campaign, kind.state), 1),
            log("ticket over", { campaign, ticket, state: kind.state }),
          )
          return kind.overrunMillis === undefined
            ? ended
            : Effect.andThen(ended, noteOverrun(campaign, kind.overrunMillis / 1000))
        }
        case "warning":
          return Effect.void
      }
    }

    const send = (campaign: string, signal: Signal): Effect.Effect<void> =>
      Effect.andThen(note(campaign, signal), inSignalSpan(signal)(push.send(signal.ticket, eventOf(signal))))

    const contextOf = (campaign: Campaign, awaited = budgets.awaited(campaign)): CampaignContext => ({
      campaign: campaigns.key(campaign),
      // read at each step: a start may take long, and slots may have shrunk since it began
      get slots() {
        return slots(campaign)
      },
      get account() {
        return account(campaign)
      },
      ...(campaign.Events === undefined ? {} : { events: true as const }),
      instance: push.address,
      withdrawals: notGivenBack.of(campaign),
      ...(campaign.Overflow === undefined ? {} : { tellsAccepted: true }),
      ...(budgets.has(campaign) ? { charges: true as const } : {}),
      ...(awaited === undefined ? {} : { awaited }),
      ...(budgets.awaitsOwn(campaign) ? { awaitsOwn: true as const } : {}),
    })
    const contexts = new Map<Campaign, CampaignContext>()
    const at: Steps["Service"]["at"] = (campaign) => {
      const known = contexts.get(campaign) ?? contextOf(campaign)
      contexts.set(campaign, known)
      return known
    }

    const byKey = new Map(campaigns.all.map((campaign) => [campaigns.key(campaign), campaign]))
    const heartbeatAt = new Map<Campaign, number>()
    /** campaigns that are being offered a slot, by key */
    const offered = new Set<string>()
    /** Lets a campaign of the same account take the slot that it waits for. Otherwise its next sweep does, within a second. */
    const offer = (key: string): Effect.Effect<void> => {
      const campaign = byKey.get(key)
      const shownAt = campaign && heartbeatAt.get(campaign)
      if (campaign === undefined || shownAt === undefined || offered.has(key)) return Effect.void
      offered.add(key)
      const where = at(campaign)
      return followUps.run(
        Effect.flatMap(queue.sweep(where, shownAt), (swept) => carryOut(where, swept)).pipe(
          Effect.uninterruptible,
          Effect.ignore,
          Effect.ensuring(Effect.sync(() => void offered.delete(key))),
        ),
      )
    }

    const carryOut: Steps["Service"]["carryOut"] = (
      at,
      { charges = NONE, elsewhere = NONE, wanting = NONE, ...stepped },
    ) => {
      const { result, settlements, signals } = stepped
      if (charges.length > 0) {
        // callers are told first
        return Effect.tap(carryOut(at, { ...stepped, elsewhere, wanting }), () => charge(at, charges))
      }
      if (wanting.length > 0) {
        return Effect.andThen(
          Effect.forEach(wanting, offer, { discard: true }),
          carryOut(at, { ...stepped, elsewhere }),
        )
      }
      if (signals.length === 0 && settlements.length === 0 && elsewhere.length === 0) return Effect.succeed(result)
      const campaign = campaigns.nameOf(at.campaign)
      return Effect.forEach(signals, (signal) => send(campaign, signal), { discard: true }).pipe(
        Effect.andThen(Effect.forEach(elsewhere, (signal) => note(campaign, signal), { discard: true })),
        Effect.andThen(settlements.length === 0 ? Effect.void : settle(at, settlements)),
        Effect.as(result),
      )
    }

    return {
      at,
      // a caller who hangs up must not prevent the notification of a ticket called in the same step
      step: (at, taken) => Effect.uninterruptible(Effect.flatMap(taken, (stepped) => carryOut(at, stepped))),
      carryOut,
      settle,
      charge,
      heartbeatAt,
    }
  }),
)
