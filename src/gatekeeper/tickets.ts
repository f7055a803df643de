/** What a ticket's holder can do with it, and what the end of a session does: the life of a ticket after its admission. */
import { Effect, Metric, Result } from "effect"
import { type At, FifoQueue, type Standing, type Start } from "../FifoQueue.ts"
import * as messages from "../messages.ts"
import { endedEvent, startCallEvent } from "../PushChannel.ts"
import type {
  NotYourTurn,
  PlatformUnavailable,
  PushEvent,
  Queued,
  Started,
  StoreUnavailable,
  TicketOver,
  TicketStatus,
  TicketUnknown,
} from "../Session.ts"
import { Store } from "../Store.ts"
import type { Campaigns } from "./campaigns.ts"
import { type Launch, ownFailure, storedConfigOf, type Unstarted } from "./launch.ts"
import * as metrics from "./metrics.ts"
import * as outcomes from "./outcomes.ts"
import type { Removed } from "./removed.ts"
import type { Steps } from "./steps.ts"
import { makeUnknownEnds } from "./unknown-ends.ts"

export interface Tickets {
  /** A ticket that still lives is answered again; undefined for one that does not, as if it had not been named. */
  readonly rejoin: (ticket: string) => Effect.Effect<Started | undefined, Queued | StoreUnavailable>
  readonly start: (
    ticket: string,
  ) => Effect.Effect<Started, TicketUnknown | NotYourTurn | TicketOver | PlatformUnavailable | StoreUnavailable>
  readonly leave: (ticket: string) => Effect.Effect<void, StoreUnavailable>
  readonly status: (ticket: string) => Effect.Effect<TicketStatus, TicketUnknown | StoreUnavailable>
  readonly attach: (ticket: string) => Effect.Effect<PushEvent | undefined, TicketUnknown | StoreUnavailable>
  readonly sessionEnded: (sessionIds: ReadonlyArray<string>) => Effect.Effect<boolean, StoreUnavailable>
}

const nowhere = { position: 0, length: 0, averageMillis: 0, disrupted: false }

const eventOf = (ticket: string, standing: Standing, slots: number): PushEvent | undefined => {
  switch (standing._tag) {
    case "waiting":
      return {
        type: "position",
        position: standing.position,
        queueLength: standing.length,
        estimatedWaitSeconds: outcomes.estimateSeconds(standing, slots),
        ...outcomes.disruption(standing),
      }
    case "called":
      return startCallEvent(standing.startBefore)
    case "live": {
      const { sessionId, webSocketUrl } = outcomes.startedOf(ticket, standing.data)
      return { type: "session", webSocketUrl, sessionId }
    }
    case "over":
      return endedEvent(standing.state)
    default:
      return undefined
  }
}

const statusOf = (ticket: string, standing: Exclude<Standing, { _tag: "unknown" }>, slots: number): TicketStatus => {
  switch (standing._tag) {
    case "waiting":
      return {
        uniqueRequestId: ticket,
        state: "waiting",
        queuePosition: standing.position,
        queueLength: standing.length,
        estimatedWaitSeconds: outcomes.estimateSeconds(standing, slots),
        ...outcomes.disruption(standing),
      }
    case "called":
      return {
        uniqueRequestId: ticket,
        state: "called",
        startBefore: startCallEvent(standing.startBefore).startBefore,
      }
    case "starting":
      return { uniqueRequestId: ticket, state: "starting" }
    case "live":
      return { state: "live", ...outcomes.startedOf(ticket, standing.data) }
    case "over":
      return { uniqueRequestId: ticket, state: standing.state }
  }
}

/** Measures a ticket that has just started: its wait for the start call, and how long that took to be followed. */
const startCallTimes = (
  { acceptedAt, calledAt }: Extract<Start, { _tag: "starting" }>,
  now: number,
): Effect.Effect<void> => {
  const followed = Metric.update(metrics.pickedUp, Math.max(0, now - calledAt) / 1000)
  return acceptedAt === 0
    ? followed
    : Effect.andThen(Metric.update(metrics.waited, Math.max(0, calledAt - acceptedAt) / 1000), followed)
}

/** What the end of a session can come to in a campaign, the one that counts for all of them first. */
const END_RESULTS = ["released", "repeat"] as const

/** How long a campaign rests whose called ticket came to a gate that does not serve it (ms): it is called again at once. */
const REST_MILLIS = 1

export const makeTickets = (
  campaigns: Campaigns,
  { at, step }: Steps,
  launch: Launch,
  removed: Removed,
): Effect.Effect<Tickets, never, FifoQueue | Store> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const store = yield* Store

    const noteEnd = makeUnknownEnds()

    const queueOf = (ticket: string): Effect.Effect<At, TicketUnknown | StoreUnavailable> => {
      const campaign = campaigns.ofTicket(ticket)
      return campaign === undefined ? removed.queueOf(ticket) : Effect.succeed(at(campaign))
    }
    const standing = Effect.fnUntraced(function* (ticket: string, connected: boolean) {
      const where = yield* queueOf(ticket)
      const found = yield* step(where, queue.attach(where, ticket, connected))
      if (found._tag === "unknown") return yield* Effect.fail(outcomes.ticketUnknown())
      return { found, slots: where.slots }
    })

    type Starting = Extract<Start, { _tag: "starting" }>
    const launchHere = Effect.fnUntraced(function* (where: At, ticket: string, campaign: string, taken: Starting) {
      const config = storedConfigOf(taken.data)
      if (config === undefined) {
        yield* Effect.logError("What the store keeps with a called ticket is no request. The ticket has failed.")
        yield* step(where, queue.fail(where, ticket, taken.lease, { _tag: "failed" }))
        return yield* Effect.fail(ownFailure())
      }
      yield* startCallTimes(taken, yield* store.now)
      // instances may name the campaign differently in their settings
      return yield* launch(where, ticket, taken.lease, { ...config, campaign })
    })
    /** The gates that serve the campaign call the ticket again, at its own place; or it is told that the campaign is removed. */
    const backInLine = (where: At, ticket: string, { lease }: Starting) =>
      Effect.flatMap(
        step(where, queue.fail(where, ticket, lease, { _tag: "elsewhere", millis: REST_MILLIS })),
        (rested): Effect.Effect<Result.Result<Started, Unstarted>, PlatformUnavailable> =>
          rested._tag === "waiting"
            ? Effect.succeed(Result.fail({ ...rested, busy: true }))
            : Effect.fail(outcomes.platformUnavailable("unavailable", messages.startElsewhere)),
      )
    const begin = Effect.fnUntraced(function* (ticket: string) {
      const campaign = campaigns.ofTicket(ticket)
      const where = yield* queueOf(ticket)
      const taken = yield* step(where, queue.start(where, ticket))
      switch (taken._tag) {
        case "unknown":
          return yield* Effect.fail(outcomes.ticketUnknown())
        case "over":
          return yield* Effect.fail(outcomes.ticketOver(taken.state))
        case "live":
          return outcomes.startedOf(ticket, taken.data)
        case "busy":
          return yield* Effect.fail(outcomes.startInProgress())
        case "waiting":
          return yield* Effect.fail(outcomes.notYourTurn(taken.position))
        case "starting": {
          const launched = yield* campaign === undefined
            ? backInLine(where, ticket, taken)
            : launchHere(where, ticket, campaign.name, taken)
          if (Result.isSuccess(launched)) return launched.success
          const { busy, position } = launched.failure
          return yield* Effect.fail(busy ? outcomes.agentBusy(position) : outcomes.agentUnavailable(position))
        }
      }
    })
    const ends = (queues: ReadonlyArray<At>, sessionIds: ReadonlyArray<string>) =>
      Effect.forEach(queues, (where) => step(where, queue.end(where, sessionIds)), { concurrency: "unbounded" })

    return {
      rejoin: (ticket) =>
        standing(ticket, false).pipe(
          Effect.flatMap(({ found, slots }): Effect.Effect<Started | undefined, Queued> => {
            switch (found._tag) {
              case "live":
                return Effect.succeed(outcomes.startedOf(ticket, found.data))
              case "waiting":
                return Effect.fail(outcomes.queued(ticket, found, slots))
              case "called":
              case "starting":
                return Effect.fail(outcomes.queued(ticket, nowhere, slots, true))
              default:
                return Effect.succeed(undefined)
            }
          }),
          Effect.catchTag("TicketUnknown", () => Effect.succeed(undefined)),
        ),
      // a caller who hangs up must not leave a start half done
      start: (ticket) => Effect.uninterruptible(begin(ticket)),
      leave: (ticket) =>
        queueOf(ticket).pipe(
          Effect.flatMap((where) => step(where, queue.leave(where, ticket))),
          Effect.flatMap((result) => (result === "left" ? Metric.update(metrics.over("left"), 1) : Effect.void)),
          Effect.catchTag("TicketUnknown", () => Effect.void),
        ),
      status: (ticket) => Effect.map(standing(ticket, false), ({ found, slots }) => statusOf(ticket, found, slots)),
      attach: (ticket) => Effect.map(standing(ticket, true), ({ found, slots }) => eventOf(ticket, found, slots)),
      sessionEnded: (sessionIds) =>
        Effect.gen(function* () {
          // one campaign at most knows the session, and its id does not say which; the others know the id where it was told before
          const own = yield* ends(campaigns.all.map(at), sessionIds)
          const results = own.includes("released") ? own : [...own, ...(yield* ends(yield* removed.queues, sessionIds))]
          const result = END_RESULTS.find((each) => results.includes(each)) ?? "unknown"
          yield* Metric.update(metrics.webhooks(result), 1)
          yield* noteEnd(result)
          return result === "released"
        }),
    }
  })
