/**
 * What a host without Effect is answered: every expected outcome as a plain object, told apart by `status`. The codes are
 * those of the gate's answers over HTTP.
 */

import type { RequestError } from "../Gatekeeper.ts"
import { toProblem } from "../http/failures.ts"
import { type ProblemDetails, problems } from "../http/problems.ts"
import { eventsUrl } from "../http/successes.ts"
import type {
  Blocked,
  Draining,
  FieldIssue,
  InvalidRequest,
  NotYourTurn,
  PlatformUnavailable,
  Queued,
  RateLimited,
  Started,
  StoreUnavailable,
  TicketOver,
  TicketState,
  TicketStatus,
  TicketUnknown,
} from "../Session.ts"

/** The session has started; `webSocketUrl` opens one WebSocket and is good for about five minutes. */
export interface StartedResult extends Started {
  readonly status: "started"
}

/** The caller waits; `uniqueRequestId` is the caller's ticket and only credential. */
export interface QueuedResult {
  readonly status: "queued"
  readonly uniqueRequestId: string
  /** 1 is next; 0 when the ticket is called already */
  readonly queuePosition: number
  readonly queueLength: number
  /** null while no call has been measured */
  readonly estimatedWaitSeconds: number | null
  /** the voice agent cannot be reached at the moment; nobody loses their place */
  readonly disrupted: boolean
  /** the ticket is called already and may start at once (a request that named its ticket again) */
  readonly called: boolean
  /** where a browser receives the ticket's events, below the path where the gate is mounted */
  readonly eventsUrl: string
}

/** Not done, for a reason that is no accident. */
export interface RefusedResult<Code extends string> {
  readonly status: "refused"
  /** stable; for programs */
  readonly code: Code
  /** for people; never contains a secret */
  readonly message: string
  /** when to try again, where that is known */
  readonly retryAfterSeconds?: number
  /** of a wrong request: every field that is wrong and what was expected */
  readonly issues?: ReadonlyArray<FieldIssue>
  /** of `blocked`: what is held against the address */
  readonly reason?: Blocked["reason"]
  /** of `rate_limited`: the budget that is used up */
  readonly limit?: RateLimited["limit"]
  /** of `not_your_turn`, `agent_busy` and `agent_unavailable`: 1 is next */
  readonly queuePosition?: number
  /** of `ticket_over`: how it ended */
  readonly state?: TicketState
}

/**
 * `request_refused`: the platform does not accept what the request says; `platform_rejected`: it said no to the gate's key or
 * campaign; `platform_unavailable`: the session ended before it could begin, the start took too long, or it failed three times while
 * others began their calls.
 */
export type LaunchRefusal = "request_refused" | "platform_rejected" | "platform_unavailable" | "store_unavailable"
export type RequestRefusal =
  | InvalidRequest["code"]
  | "no_client_address"
  | "blocked"
  | "rate_limited"
  | "queue_full"
  | "draining"
  | LaunchRefusal
export type TicketRefusal = "ticket_unknown" | "store_unavailable"
export type StartRefusal = NotYourTurn["code"] | "ticket_unknown" | "ticket_over" | "draining" | LaunchRefusal

export type RequestResult = StartedResult | QueuedResult | RefusedResult<RequestRefusal>
export type StartResult = StartedResult | RefusedResult<StartRefusal>
export type StatusResult = { readonly status: "found"; readonly ticket: TicketStatus } | RefusedResult<TicketRefusal>
export type LeaveResult = { readonly status: "left" } | RefusedResult<"store_unavailable">
/** `released` says whether a slot was freed: false for repeats and for sessions that are not known. */
export type SessionEndedResult =
  | { readonly status: "accepted"; readonly released: boolean }
  | RefusedResult<"store_unavailable">

/** What a problem has to say beside its code and its words. */
interface Details extends Omit<RefusedResult<string>, "status" | "code" | "message" | "issues"> {
  readonly errors?: ReadonlyArray<FieldIssue>
}

const refused = <Code extends string>({
  code,
  detail,
  members: { errors, ...members },
}: Pick<ProblemDetails<Code, Details>, "code" | "detail" | "members">): RefusedResult<Code> => ({
  status: "refused",
  code,
  message: detail,
  ...members,
  ...(errors === undefined ? {} : { issues: errors }),
})

export const started = (session: Started): StartedResult => ({ status: "started", ...session })

export const noClientAddress = (): RefusedResult<"no_client_address"> =>
  refused(problems.noClientAddress.make("address: Expected an IPv4 or IPv6 address."))

export const storeUnavailable = (error: StoreUnavailable): RefusedResult<"store_unavailable"> =>
  refused(toProblem(error))

const queued = (ticket: Queued, basePath: string): QueuedResult => ({
  status: "queued",
  uniqueRequestId: ticket.uniqueRequestId,
  queuePosition: ticket.queuePosition,
  queueLength: ticket.queueLength,
  estimatedWaitSeconds: ticket.estimatedWaitSeconds,
  disrupted: ticket.disrupted,
  called: ticket.called,
  eventsUrl: eventsUrl(basePath, ticket.uniqueRequestId),
})

/** What else can come of a request. */
export const notStarted = (error: RequestError, basePath: string): QueuedResult | RefusedResult<RequestRefusal> =>
  error._tag === "Queued" ? queued(error, basePath) : refused(toProblem(error))

export const ticketRefused = (error: TicketUnknown | StoreUnavailable): RefusedResult<TicketRefusal> =>
  refused(toProblem(error))

export const startRefused = (
  error: TicketUnknown | NotYourTurn | TicketOver | PlatformUnavailable | StoreUnavailable | Draining,
): RefusedResult<StartRefusal> => refused(toProblem(error))
