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
import { Context, Effect, Layer, Metric, Result } from "effect"
import { Admission } from "./Admission.ts"
import { CallerNames } from "./CallerNames.ts"
import type { Admitted, FifoQueue } from "./FifoQueue.ts"
import { background } from "./gatekeeper/background.ts"
import { callerGroup } from "./gatekeeper/caller-group.ts"
import { makeCampaigns, Secrets } from "./gatekeeper/campaigns.ts"
import { type CapacityUnknown, makeCapacity } from "./gatekeeper/capacity.ts"
import { makeClosing } from "./gatekeeper/closing.ts"
import { makeOperator, type Operator } from "./gatekeeper/console.ts"
import { makeDoubts } from "./gatekeeper/doubts.ts"
import { makeGates } from "./gatekeeper/gates.ts"
import { makeGiveBack, type Taken } from "./gatekeeper/give-back.ts"
import { guarded } from "./gatekeeper/guard.ts"
import { makeInstance } from "./gatekeeper/instance.ts"
import { makeLaunch, type StoredConfig } from "./gatekeeper/launch.ts"
import * as metrics from "./gatekeeper/metrics.ts"
import { blocked, draining, queued, queueFull } from "./gatekeeper/outcomes.ts"
import { makeSessionIds } from "./gatekeeper/session-ids.ts"
import { makeSteps } from "./gatekeeper/steps.ts"
import { makeTickets } from "./gatekeeper/tickets.ts"
import { makeUnchecked } from "./gatekeeper/unchecked.ts"
import { type Validated, validate } from "./gatekeeper/validate.ts"
import { requestOf, type WebSessionConfig } from "./gatekeeper/web-session.ts"
import { type IpFacts, IpIntel, type IpIntelFailed } from "./IpIntel.ts"
import { limitKey, networkKey } from "./ip-intel/address.ts"
import { BLOCKABLE } from "./ip-intel/facts.ts"
import type { PlatformApi } from "./PlatformApi.ts"
import type { PushChannel } from "./PushChannel.ts"
import { RateLimiter } from "./RateLimiter.ts"
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
    /** What an operator sees and does; whoever calls it has been authorised. */
    readonly operator: Operator
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
    const limiter = yield* RateLimiter
    const admission = yield* Admission
    const ipIntel = yield* IpIntel
    const secret = yield* Secrets
    const campaigns = makeCampaigns(settings)
    const capacity = yield* makeCapacity(campaigns)
    const steps = yield* makeSteps(campaigns, capacity)
    const { at, step } = steps
    const giveBack = yield* makeGiveBack(steps)
    const sessionIds = yield* makeSessionIds(steps)
    const closing = makeClosing()
    const launch = yield* makeLaunch(steps, sessionIds, closing)
    const doubts = yield* makeDoubts(steps)
    const instance = yield* makeInstance
    const gates = yield* makeGates(settings, campaigns, capacity, steps, instance)
    const tickets = yield* makeTickets(campaigns, steps, launch, gates.removed)
    const names = yield* CallerNames

    const refuse = (reason: Blocked["reason"]): Effect.Effect<never, Blocked> =>
      Effect.andThen(Metric.update(metrics.blocked[reason], 1), Effect.fail(blocked(reason)))

    const { BlockDatacenter, BlockProxy, BlockTor, BlockVpn } = settings.Security
    const blocks = { vpn: BlockVpn, proxy: BlockProxy, tor: BlockTor, datacenter: BlockDatacenter }
    const forbidden = BLOCKABLE.filter((fact) => blocks[fact])
    const unchecked = yield* makeUnchecked(settings.IpIntel.OnError)
    const judged = {
      onSuccess: (facts: IpFacts): Effect.Effect<void, Blocked> => {
        const reason = forbidden.find((fact) => facts[fact] === true)
        if (reason !== undefined) return refuse(reason)
        const open = forbidden.find((fact) => facts[fact] === null)
        return open === undefined
          ? Effect.void
          : unchecked("unknown_fact", `${ipIntel.provider} does not say whether the address is ${open}`)
      },
      onFailure: ({ message, reason }: IpIntelFailed) => unchecked(reason, message),
    }
    /** Whoever is refused anyway is not looked up: a lookup costs money, and others wait for the provider's budget. */
    const checkAddress = (address: string): Effect.Effect<void, Blocked | RateLimited> =>
      forbidden.length === 0
        ? Effect.void
        : Effect.flatMap(
            limiter.refusal(names.of(limitKey(address))),
            (refused): Effect.Effect<void, Blocked | RateLimited> =>
              refused === undefined ? Effect.matchEffect(ipIntel.lookup(address), judged) : Effect.fail(refused),
          )

    const namesOf = (address: string): Pick<Taken, "caller" | "network"> => {
      // without its `.0/24` or `::/48`, which would be stored with every ticket
      const short = networkKey(address).slice(0, -5)
      return { caller: names.of(limitKey(address)), network: short === "" ? "" : names.of(short) }
    }

    /**
     * Limits, then slot or queue, then the platform. What is held from here on must not be left half taken by a caller who hangs
     * up, nor by a store that did what it was asked and could not say so.
     */
    const enter = ({ campaign, config }: Validated, address: string): Effect.Effect<Started, RequestError> => {
      const where = at(campaign)
      const { caller, network } = namesOf(address)
      const ticket = campaigns.newTicket(campaign, secret())
      const stored: StoredConfig = { ...config, from: callerGroup(names.of(networkKey(address) || limitKey(address))) }
      const taken: Taken = { ticket, caller, network, campaign }
      const after = <E>(given: Effect.Effect<void>, error: E): Effect.Effect<never, E> =>
        Effect.andThen(given, Effect.fail(error))
      /** Whether the ticket was admitted is not known, unless the store was not even asked. */
      const notAdmitted = (error: RateLimited | StoreUnavailable): Effect.Effect<never, RequestError> =>
        error._tag === "StoreUnavailable" && error.unasked !== true
          ? after(giveBack.all(taken), error)
          : Effect.fail(error)
      /** A slot whose session may run is left to the session's end, or to the deadline of the start. */
      const notStarted = (error: PlatformUnavailable | StoreUnavailable): Effect.Effect<never, RequestError> =>
        error._tag === "StoreUnavailable" ? after(giveBack.quota(taken), error) : Effect.fail(error)
      const decide = (admitted: Admitted): Effect.Effect<Started, RequestError> => {
        switch (admitted._tag) {
          case "waiting":
            return Effect.fail(queued(ticket, admitted, where.slots))
          case "full":
            return after(giveBack.quota(taken), queueFull(admitted.averageMillis, where.slots))
          case "draining":
            return after(giveBack.quota(taken), draining())
          case "starting":
            return Effect.matchEffect(launch(where, ticket, admitted.lease, stored, giveBack.all(taken)), {
              onFailure: notStarted,
              onSuccess: (launched) =>
                Result.isSuccess(launched)
                  ? Effect.succeed(launched.success)
                  : Effect.fail(queued(ticket, launched.failure, where.slots)),
            })
        }
      }
      const newcomer = { id: ticket, caller, network, holds: limiter.holds, data: JSON.stringify(stored) }
      return Effect.uninterruptible(
        Effect.matchEffect(step(where, admission.admit(where, newcomer)), {
          onFailure: notAdmitted,
          onSuccess: decide,
        }),
      )
    }

    const request = (body: unknown, { address }: Caller): Effect.Effect<Started, RequestError> =>
      Effect.suspend(() => {
        const validated = validate(campaigns, settings.Queue, body)
        if (Result.isFailure(validated)) return Effect.fail(validated.failure)
        const asked = validated.success
        const named = Effect.flatMap(checkAddress(address), () => enter(asked, address))
        const checked = closing.underWay(names.ready === undefined ? named : Effect.andThen(names.ready, named))
        return asked.ticket === undefined
          ? checked
          : Effect.flatMap(tickets.rejoin(asked.ticket), (again) =>
              again === undefined ? checked : Effect.succeed(again),
            )
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
    const operator = yield* makeOperator(campaigns, capacity, steps, instance, gates)
    // before what runs beside the requests ends
    yield* Effect.addFinalizer(() => closing.close)

    return Gatekeeper.of({
      request: (body, caller) => Effect.matchEffect(request(body, caller), counted),
      start: (ticket) => closing.underWay(tickets.start(ticket)),
      leave: tickets.leave,
      withdraw: (ticket, { address }) => {
        const campaign = campaigns.ofTicket(ticket)
        return campaign === undefined ? Effect.void : giveBack.all({ ticket, campaign, ...namesOf(address) })
      },
      status: tickets.status,
      attach: tickets.attach,
      sessionEnded: tickets.sessionEnded,
      capacityProblem: Effect.sync(capacity.problem),
      queueProblem: Effect.sync(() => {
        const [failing] = upkeep.failing()
        return failing === undefined ? undefined : `The queue of campaign ${failing} cannot be served: see the log.`
      }),
      operator,
      close: closing.close,
    })
  }),
).pipe(Layer.provide([CallerNames.layer, guarded]))
