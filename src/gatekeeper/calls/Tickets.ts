/** A ticket after its admission: what its holder can do with it. */

import { Context, Effect, Layer, Metric, Result, Schedule } from "effect"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import type { Start, TicketSnapshot } from "../../fifo-queue/answers.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { lengthControl } from "../../platform-api/layer.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { endedEvent, type PushEvent, sessionEvent, startCallEvent } from "../../protocol/events.ts"
import type { OfferKind } from "../../protocol/offers.ts"
import type { BudgetExhausted, StartFailed, StoreUnavailable } from "../../protocol/refusals.ts"
import { platformUnavailable } from "../../protocol/refusals.ts"
import type { Queued, Started } from "../../protocol/session-answers.ts"
import * as texts from "../../protocol/texts.ts"
import type { NotYourTurn, TicketOver, TicketStatus, TicketUnknown } from "../../protocol/ticket.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { aheadOf } from "../../store/time-of-day.ts"
import { Campaigns } from "../Campaigns.ts"
import { callerKeys } from "../checks/caller-keys.ts"
import * as metrics from "../metrics.ts"
import { Overflow } from "../Overflow.ts"
import * as outcomes from "../outcomes.ts"
import { MEMBERSHIP_MILLIS } from "../peers/Membership.ts"
import { RemovedCampaigns } from "../peers/RemovedCampaigns.ts"
import { Steps } from "../Steps.ts"
import { GiveBack } from "./GiveBack.ts"
import { Leave } from "./Leave.ts"
import { type NotStarted, Starts, startFailed } from "./Starts.ts"
import { storedConfigOf } from "./stored-config.ts"

export class Tickets extends Context.Service<
  Tickets,
  {
    /** The outcome of a ticket that is not over, again; undefined if it is over or unknown, as if the request named none. */
    readonly rejoin: (ticket: string) => Effect.Effect<Started | undefined, Queued | StoreUnavailable>
    /** The same, and why there is none: it is over, or the queue does not know it. One that is over is known for ten minutes. */
    readonly lookUp: (ticket: string) => Effect.Effect<Started | "over" | "unknown", Queued | StoreUnavailable>
    readonly start: (
      ticket: string,
    ) => Effect.Effect<
      Started,
      TicketUnknown | NotYourTurn | TicketOver | BudgetExhausted | StartFailed | StoreUnavailable
    >
    readonly leave: (ticket: string, taken?: OfferKind) => Effect.Effect<void, StoreUnavailable>
    readonly status: (ticket: string, hidden?: boolean) => Effect.Effect<TicketStatus, TicketUnknown | StoreUnavailable>
    readonly attach: (
      ticket: string,
      hidden?: boolean,
    ) => Effect.Effect<PushEvent | undefined, TicketUnknown | StoreUnavailable>
    /**
     * The page of a running call reports how long nobody has spoken (ms), 0 when somebody speaks. Returns when the call ends unless somebody
     * speaks (ms since 1970); undefined when no end is due: somebody speaks, the ticket is not in a call, or the campaign has no limit.
     */
    readonly silence: (
      ticket: string,
      silentMillis: number,
    ) => Effect.Effect<number | undefined, TicketUnknown | TicketOver | StoreUnavailable>
    /** Withdraws a ticket whose caller, at this address, does not know of it. */
    readonly withdraw: (ticket: string, address: string) => Effect.Effect<void>
  }
>()("voicegate/gatekeeper/Tickets") {}

const NO_PLACE = { position: 0, length: 0, averageMillis: 0, disrupted: false }

/** The campaign of a ticket, as far as its caller is told of it; undefined if it was removed. */
type Limits = Pick<Campaign, "SilenceSeconds"> | undefined

const eventOf = (ticket: string, standing: TicketSnapshot, slots: number, limits: Limits): PushEvent | undefined => {
  switch (standing._tag) {
    case "waiting":
      return outcomes.positionEvent(standing, slots)
    case "called":
      return startCallEvent(standing.startBefore)
    case "live":
      return sessionEvent(outcomes.startedOf(ticket, standing, limits))
    case "ended":
      return endedEvent(standing.state)
    default:
      return undefined
  }
}

const statusOf = (
  ticket: string,
  standing: Exclude<TicketSnapshot, { _tag: "unknown" }>,
  slots: number,
  limits: Limits,
  now: number,
): TicketStatus => {
  switch (standing._tag) {
    case "waiting":
      return outcomes.waitingStatus(ticket, standing, slots)
    case "called":
      return {
        uniqueRequestId: ticket,
        state: "called",
        startBefore: startCallEvent(standing.startBefore).startBefore,
      }
    case "starting":
      return { uniqueRequestId: ticket, state: "starting" }
    case "live": {
      const { silentUntil, ...length } = standing
      const silence = silentUntil === undefined || limits?.SilenceSeconds === undefined ? {} : { silentUntil }
      const warning = outcomes.warningIn({ ...length, ...silence }, now)
      return {
        state: "live",
        ...outcomes.startedOf(ticket, standing, limits),
        ...(warning === undefined ? {} : { warning }),
      }
    }
    case "ended":
      return { uniqueRequestId: ticket, state: standing.state }
  }
}

/** Records how long a ticket waited for its start call, and how long its caller took to start. */
const startCallTimes = (
  campaign: string,
  { acceptedAt, calledAt }: Extract<Start, { _tag: "starting" }>,
  now: number,
): Effect.Effect<void> => {
  const recordStart = Metric.update(metrics.pickedUp.of(campaign), Math.max(0, now - calledAt) / 1000)
  return acceptedAt === 0
    ? recordStart
    : Effect.andThen(Metric.update(metrics.waited.of(campaign), Math.max(0, calledAt - acceptedAt) / 1000), recordStart)
}

/** How often a ticket of a removed campaign is withdrawn: a gate learns by its next heartbeat that a reload has removed the campaign. */
const WITHDRAW_TRIES = 5

/** Backoff of a campaign whose called ticket was started at a gate that does not serve it (ms). Minimal: it is called again at once. */
const BACKOFF_MILLIS = 1

export const layer: Layer.Layer<
  Tickets,
  never,
  | CallerNames
  | Campaigns
  | FifoQueue
  | GiveBack
  | Leave
  | Overflow
  | PlatformApi
  | RemovedCampaigns
  | Starts
  | Steps
  | Store
> = Layer.effect(
  Tickets,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { at, step } = yield* Steps
    const { startSession } = yield* Starts
    const leave = yield* Leave
    const removed = yield* RemovedCampaigns
    const giveBack = yield* GiveBack
    const names = yield* CallerNames
    const queue = yield* FifoQueue
    const store = yield* Store
    const overflow = yield* Overflow
    const platform = yield* PlatformApi

    const queueOf = (ticket: string): Effect.Effect<CampaignContext, TicketUnknown | StoreUnavailable> => {
      const campaign = campaigns.ofTicket(ticket)
      return campaign === undefined ? removed.queueOf(ticket) : Effect.succeed(at(campaign))
    }
    const standing = Effect.fnUntraced(function* (ticket: string, connected: boolean, hidden = false) {
      const where = yield* queueOf(ticket)
      const found = yield* step(where, queue.attach(where, ticket, connected, hidden))
      if (found._tag === "unknown") return yield* Effect.fail(outcomes.ticketUnknown())
      return { found, slots: where.slots }
    })

    type Starting = Extract<Start, { _tag: "starting" }>
    const startHere = Effect.fnUntraced(function* (
      where: CampaignContext,
      ticket: string,
      campaign: string,
      taken: Starting,
    ) {
      const config = storedConfigOf(taken.data)
      if (config === undefined) {
        yield* Effect.logError("The stored data of a called ticket is invalid. The ticket has failed.")
        yield* step(where, queue.fail(where, ticket, taken.lease, { _tag: "failed" }))
        return yield* Effect.fail(startFailed())
      }
      yield* startCallTimes(campaign, taken, yield* store.now)
      // the stored name may differ, because instances may name the campaign differently
      return yield* startSession(where, ticket, taken.lease, { ...config, campaign })
    })
    /** Puts the ticket back at its place, so that a gate that serves the campaign calls it again. Fails if the campaign was removed. */
    const requeue = (where: CampaignContext, ticket: string, { lease }: Starting) =>
      Effect.flatMap(
        step(where, queue.fail(where, ticket, lease, { _tag: "elsewhere", millis: BACKOFF_MILLIS })),
        (result): Effect.Effect<Result.Result<Started, NotStarted>, StartFailed> =>
          result._tag === "waiting"
            ? Effect.succeed(Result.fail({ ...result, busy: true }))
            : Effect.fail(platformUnavailable("unavailable", texts.startElsewhere)),
      )
    const startTicket = Effect.fnUntraced(function* (ticket: string) {
      const campaign = campaigns.ofTicket(ticket)
      const where = yield* queueOf(ticket)
      const taken = yield* step(where, queue.start(where, ticket))
      switch (taken._tag) {
        case "unknown":
          return yield* Effect.fail(outcomes.ticketUnknown())
        case "ended":
          return yield* Effect.fail(outcomes.ticketOver(taken.state))
        case "live":
          return outcomes.startedOf(ticket, taken, campaign)
        case "busy":
          return yield* Effect.fail(outcomes.startInProgress())
        case "waiting":
          return yield* Effect.fail(outcomes.notYourTurn(taken.position))
        case "starting": {
          const started = yield* campaign === undefined
            ? requeue(where, ticket, taken)
            : Effect.catchTag(startHere(where, ticket, campaign.name, taken), "BudgetExhausted", (refusal) =>
                overflow.refuseForBudget(campaign, refusal),
              )
          if (Result.isSuccess(started)) return started.success
          return yield* Effect.fail(outcomes.calledAgain(started.failure))
        }
      }
    })
    const lookUp: Tickets["Service"]["lookUp"] = (ticket) =>
      standing(ticket, false).pipe(
        Effect.flatMap(({ found, slots }): Effect.Effect<Started | "over" | "unknown", Queued> => {
          switch (found._tag) {
            case "live":
              return Effect.succeed(outcomes.startedOf(ticket, found, campaigns.ofTicket(ticket)))
            case "waiting":
              return Effect.flatMapEager(store.now, (now) =>
                Effect.fail(
                  overflow.added(
                    campaigns.ofTicket(ticket),
                    outcomes.queued(ticket, found, slots),
                    now,
                    found.accepted,
                  ),
                ),
              )
            case "called":
            case "starting":
              return Effect.fail(outcomes.queued(ticket, NO_PLACE, slots, true))
            default:
              return Effect.succeed("over")
          }
        }),
        Effect.catchTag("TicketUnknown", () => Effect.succeed("unknown" as const)),
      )
    return {
      lookUp,
      rejoin: (ticket) =>
        Effect.map(lookUp(ticket), (found) => (found === "over" || found === "unknown" ? undefined : found)),
      // a caller who disconnects must not interrupt a start halfway
      start: (ticket) => Effect.uninterruptible(startTicket(ticket)),
      leave: (ticket, taken) =>
        queueOf(ticket).pipe(
          Effect.flatMap((where) => leave(where, ticket, taken)),
          Effect.catchTag("TicketUnknown", () => Effect.void),
          // a page that is being closed does not wait for the answer
          Effect.uninterruptible,
        ),
      silence: (ticket, silentMillis) =>
        Effect.gen(function* () {
          const where = yield* queueOf(ticket)
          if (queue.silence === undefined) return undefined
          const campaign = campaigns.ofTicket(ticket)
          const limit =
            campaign?.SilenceSeconds === undefined
              ? undefined
              : { millis: campaign.SilenceSeconds * 1000, ends: lengthControl(platform, campaign.name) === "endable" }
          const found = yield* step(where, queue.silence(where, ticket, silentMillis, limit))
          switch (found._tag) {
            case "silent":
              return found.endsAt
            case "speech":
              return undefined
            case "ended":
              return yield* Effect.fail(outcomes.ticketOver(found.state))
            case "unknown":
              return yield* Effect.fail(outcomes.ticketUnknown())
          }
        }),
      withdraw: (ticket, address) => {
        const campaign = campaigns.ofTicket(ticket)
        // the ticket's record says whose units it took
        if (campaign !== undefined)
          return giveBack.all(campaign, { id: ticket, ...callerKeys(names, address, undefined) })
        // if all tries fail, the ticket's deadlines end it
        return removed.queueOf(ticket).pipe(
          Effect.flatMap((where) => step(where, queue.withdraw(where, [ticket]))),
          Effect.retry({ schedule: Schedule.spaced(MEMBERSHIP_MILLIS), times: WITHDRAW_TRIES - 1 }),
          Effect.ignore,
        )
      },
      status: (ticket, hidden) =>
        Effect.flatMap(standing(ticket, false, hidden), ({ found, slots }) =>
          Effect.map(store.now, (now) => {
            const campaign = campaigns.ofTicket(ticket)
            const status = statusOf(ticket, found, slots, campaign, now + aheadOf(store))
            return found._tag === "waiting" ? overflow.added(campaign, status, now, found.accepted) : status
          }),
        ),
      attach: (ticket, hidden) =>
        Effect.map(standing(ticket, true, hidden), ({ found, slots }) =>
          eventOf(ticket, found, slots, campaigns.ofTicket(ticket)),
        ),
    }
  }),
)
