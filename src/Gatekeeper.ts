/**
 * The pipeline: the one place where the order of checks can be read.
 *
 *     validate → address → limits → slot or queue → platform
 *
 * Before the address is looked up, a refusal of the limits that is known to hold still is repeated.
 *
 * A request succeeds with a started session and fails with whatever else can happen, `Queued` included. What was taken
 * (quota, slot, place) is given back when a later step fails; what a dying process could not give back, the deadlines do.
 */
import { Context, Effect, Layer } from "effect"
import type { Admission } from "./Admission.ts"
import { CallerNames } from "./CallerNames.ts"
import type { FifoQueue } from "./FifoQueue.ts"
import { makeEntrance } from "./gatekeeper/admit.ts"
import { background } from "./gatekeeper/background.ts"
import { makeCampaigns } from "./gatekeeper/campaigns.ts"
import { type CapacityUnknown, makeCapacity } from "./gatekeeper/capacity.ts"
import { makeCheckAddress } from "./gatekeeper/check-address.ts"
import { makeClosing } from "./gatekeeper/closing.ts"
import { makeDoubts } from "./gatekeeper/doubts.ts"
import { makeGates } from "./gatekeeper/gates.ts"
import { makeGiveBack } from "./gatekeeper/give-back.ts"
import { guarded } from "./gatekeeper/guard.ts"
import { makeInstance } from "./gatekeeper/instance.ts"
import { type Internals, internalsOf } from "./gatekeeper/internals.ts"
import { makeLaunch } from "./gatekeeper/launch.ts"
import * as metrics from "./gatekeeper/metrics.ts"
import { makeSessionIds } from "./gatekeeper/session-ids.ts"
import { makeSteps } from "./gatekeeper/steps.ts"
import { makeTickets } from "./gatekeeper/tickets.ts"
import { type Validated, validate } from "./gatekeeper/validate.ts"
import { requestOf, type WebSessionConfig } from "./gatekeeper/web-session.ts"
import type { IpIntel } from "./IpIntel.ts"
import type { PlatformApi } from "./PlatformApi.ts"
import type { PushChannel } from "./PushChannel.ts"
import type { RateLimiter } from "./RateLimiter.ts"
import type {
  Blocked,
  Draining,
  InvalidRequest,
  NotYourTurn,
  PlatformUnavailable,
  PushEvent,
  Queued,
  QueueFull,
  RateLimited,
  Started,
  StoreUnavailable,
  TicketOver,
  TicketStatus,
  TicketUnknown,
} from "./Session.ts"
import { Settings } from "./Settings.ts"
import type { Store } from "./Store.ts"

export type { WebSessionConfig } from "./gatekeeper/web-session.ts"

/** Who asks: the client's address in canonical form. */
export interface Caller {
  readonly address: string
}

/** A started session, or a ticket in the queue, with the caller's budgets where they were taken. */
export type RequestError =
  | InvalidRequest
  | Blocked
  | RateLimited
  | Queued
  | QueueFull
  | Draining
  | PlatformUnavailable
  | StoreUnavailable

export class Gatekeeper extends Context.Service<
  Gatekeeper,
  {
    /** Runs a request body, as it came, through the pipeline. */
    readonly request: (body: unknown, caller: Caller) => Effect.Effect<Started, RequestError>
    /** A called ticket starts its session. Asked again while the session lives, it answers the same session. */
    readonly start: (
      ticket: string,
    ) => Effect.Effect<
      Started,
      TicketUnknown | NotYourTurn | TicketOver | PlatformUnavailable | StoreUnavailable | Draining
    >
    /** Gives up a place or a reserved slot. Idempotent; a running call ends with its session. */
    readonly leave: (ticket: string) => Effect.Effect<void, StoreUnavailable>
    /**
     * Takes back a ticket that `request` has just answered and of which the caller could not be told. Waits for nothing. A session
     * that runs already ends as any other.
     */
    readonly withdraw: (ticket: string, caller: Caller) => Effect.Effect<void>
    /** Where the ticket stands; asking counts as a sign of presence. */
    readonly status: (ticket: string) => Effect.Effect<TicketStatus, TicketUnknown | StoreUnavailable>
    /** The platform says that a session has ended, under any of its ids. True when that freed a slot. */
    readonly sessionEnded: (sessionIds: ReadonlyArray<string>) => Effect.Effect<boolean, StoreUnavailable>
    /**
     * A connection of the ticket is open on this instance (tell `PushChannel` first): what it has to know now.
     */
    readonly attach: (ticket: string) => Effect.Effect<PushEvent | undefined, TicketUnknown | StoreUnavailable>
    /** Why the slots of a campaign are not known, in words for anybody; undefined when all are known. */
    readonly capacityProblem: Effect.Effect<string | undefined>
    /** Which campaign's queue the store did not let the gate look after a moment ago, in words for anybody; undefined when none. */
    readonly queueProblem: Effect.Effect<string | undefined>
    /** What an operator sees and acts through (`operator/`). */
    readonly internals: Internals
    /**
     * Starts nothing more: newcomers and starts are refused with `Draining`. Waits until all that is being started is over, for
     * `CLOSE_MILLIS` at most. A platform that does not answer in time is waited for no longer, and the start fails. Idempotent; done
     * by the end of the layer's scope too.
     */
    readonly close: Effect.Effect<void>
  }
>()("voicegate/Gatekeeper") {}

/** The platform's embedded operation behind the gate: a WebSocket URL, or why there is none yet. */
export const initiateWebSession = (
  config: WebSessionConfig,
  caller: Caller,
): Effect.Effect<string, RequestError, Gatekeeper> =>
  Effect.flatMap(Effect.fromResult(requestOf(config)), (body) =>
    Gatekeeper.use((gatekeeper) => Effect.map(gatekeeper.request(body, caller), ({ webSocketUrl }) => webSocketUrl)),
  )

const outcomeOf: Record<RequestError["_tag"], metrics.RequestOutcome> = {
  InvalidRequest: "invalid",
  Blocked: "blocked",
  RateLimited: "rate_limited",
  Queued: "queued",
  QueueFull: "queue_full",
  Draining: "draining",
  PlatformUnavailable: "platform_unavailable",
  StoreUnavailable: "store_unavailable",
}

/** The gate over whatever concerns there are; reads `Security.Block*`, `IpIntel.OnError` and the campaigns. */
export const layer: Layer.Layer<
  Gatekeeper,
  CapacityUnknown,
  Settings | RateLimiter | FifoQueue | Admission | IpIntel | PlatformApi | PushChannel | Store
> = Layer.effect(
  Gatekeeper,
  Effect.gen(function* () {
    const settings = yield* Settings
    const campaigns = makeCampaigns(settings)
    const capacity = yield* makeCapacity(campaigns)
    const steps = yield* makeSteps(campaigns, capacity)
    const giveBack = yield* makeGiveBack(steps)
    const sessionIds = yield* makeSessionIds(steps)
    const closing = makeClosing()
    const launch = yield* makeLaunch(steps, sessionIds, closing)
    const doubts = yield* makeDoubts(steps)
    const instance = yield* makeInstance
    const gates = yield* makeGates(settings, campaigns, capacity, steps, instance)
    const tickets = yield* makeTickets(campaigns, steps, launch, gates.removed)
    const names = yield* CallerNames
    const checkAddress = yield* makeCheckAddress(names)
    const entrance = yield* makeEntrance(campaigns, names, steps, giveBack, launch)

    /** The order of the checks. Each fails with its refusal; what is taken is taken in the last two, which a hang-up does not interrupt. */
    const check = Effect.fnUntraced(function* (asked: Validated, address: string) {
      if (names.ready !== undefined) yield* names.ready
      yield* checkAddress(address)
      const entrant = entrance.newTicket(asked, address)
      return yield* Effect.uninterruptible(
        Effect.flatMap(entrance.admit(entrant), (lease) => entrance.start(entrant, lease)),
      )
    })
    const request = Effect.fnUntraced(function* (body: unknown, { address }: Caller) {
      const asked = yield* Effect.fromResult(validate(campaigns, settings.Queue, body))
      const again = asked.ticket === undefined ? undefined : yield* tickets.rejoin(asked.ticket)
      return again ?? (yield* closing.underWay(check(asked, address)))
    })

    const context = yield* Effect.context<never>()
    const count = (outcome: metrics.RequestOutcome): void => metrics.requests[outcome].updateUnsafe(1, context)
    const counted = {
      onFailure: (error: RequestError) => {
        count(outcomeOf[error._tag])
        return Effect.fail(error)
      },
      onSuccess: (session: Started) => {
        count("started")
        return Effect.succeed(session)
      },
    }

    yield* capacity.refresh()
    yield* gates.begin
    const upkeep = yield* background(campaigns, capacity, steps, tickets, sessionIds, doubts, gates.removed)
    // before what runs beside the requests ends
    yield* Effect.addFinalizer(() => closing.close)

    return Gatekeeper.of({
      request: (body, caller) => Effect.matchEffect(request(body, caller), counted),
      start: (ticket) => closing.underWay(tickets.start(ticket)),
      leave: tickets.leave,
      withdraw: (ticket, { address }) => {
        const campaign = campaigns.ofTicket(ticket)
        return campaign === undefined ? Effect.void : giveBack.all({ ticket, campaign, ...entrance.keysOf(address) })
      },
      status: tickets.status,
      attach: tickets.attach,
      sessionEnded: tickets.sessionEnded,
      capacityProblem: Effect.sync(capacity.problem),
      queueProblem: Effect.sync(() => {
        const [failing] = upkeep.failing()
        return failing === undefined ? undefined : `The queue of campaign ${failing} cannot be served: see the log.`
      }),
      internals: internalsOf(instance, campaigns, capacity, steps, gates),
      close: closing.close,
    })
  }),
).pipe(Layer.provide([CallerNames.layer, guarded]))
