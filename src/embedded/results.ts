/**
 * Results for a host without Effect: every expected outcome is a plain object, distinguished by `status`. The codes are the same
 * as over HTTP.
 */

import type { RequestError } from "../gatekeeper/Gatekeeper.ts"
import { type CodeOf, toProblem } from "../http/answers/failures.ts"
import { eventsUrl } from "../http/incoming/paths.ts"
import { type ProblemDetails, problems } from "../protocol/problems.ts"
import type {
  Blocked,
  BudgetExhausted,
  Draining,
  FieldIssue,
  IdentityReason,
  PlatformUnavailable,
  RateLimited,
  StoreUnavailable,
} from "../protocol/refusals.ts"
import type { Queued, Started } from "../protocol/session-answers.ts"
import type { NotYourTurn, TicketOver, TicketState, TicketStatus, TicketUnknown } from "../protocol/ticket.ts"

/** The session has started; `webSocketUrl` opens one WebSocket and is valid for about five minutes. */
export interface StartedResult extends Started {
  readonly status: "started"
}

/** The caller is in the queue; `uniqueRequestId` is the caller's ticket and only credential. */
export interface QueuedResult extends Omit<Queued, "_tag"> {
  readonly status: "queued"
  /** the path of the ticket's events, with the gate's mount path */
  readonly eventsUrl: string
}

/** Refused, for an expected reason. */
export interface RefusedResult<Code extends string> {
  readonly status: "refused"
  /** stable; for programs */
  readonly code: Code
  /** for people; never contains a secret */
  readonly message: string
  /** when to try again, if known */
  readonly retryAfterSeconds?: number
  /** for an invalid request: every invalid field and what was expected */
  readonly issues?: ReadonlyArray<FieldIssue>
  /** for `blocked`: the fact about the address that is the reason; for `identity_refused`: what is wrong with the token */
  readonly reason?: Blocked["reason"] | IdentityReason
  /** for `rate_limited`: the budget that is used up */
  readonly limit?: RateLimited["limit"]
  /** for `not_your_turn`, `agent_busy` and `agent_unavailable`: 1 is next */
  readonly queuePosition?: number
  /** for `ticket_over`: how it ended */
  readonly state?: TicketState
}

/**
 * `request_refused`: the platform does not accept the request's content; `platform_rejected`: it refused the gate's key or
 * campaign; `platform_unavailable`: the session ended before it could start, the start took too long, or it failed three times
 * while other callers' starts succeeded.
 */
export type LaunchRefusal = CodeOf<PlatformUnavailable | StoreUnavailable>
export type RequestRefusal = CodeOf<Exclude<RequestError, Queued>> | "no_client_address"
export type TicketRefusal = CodeOf<TicketUnknown | StoreUnavailable>
export type StartRefusal = CodeOf<NotYourTurn | TicketUnknown | TicketOver | BudgetExhausted | Draining> | LaunchRefusal

export type RequestResult = StartedResult | QueuedResult | RefusedResult<RequestRefusal>
export type StartResult = StartedResult | RefusedResult<StartRefusal>
export type StatusResult = { readonly status: "found"; readonly ticket: TicketStatus } | RefusedResult<TicketRefusal>
export type LeaveResult = { readonly status: "left" } | RefusedResult<"store_unavailable">
/** `released` tells whether a slot was freed: false for repeats and for unknown sessions. */
export type SessionEndedResult =
  | { readonly status: "accepted"; readonly released: boolean }
  | RefusedResult<"store_unavailable">

export type ReadyResult = { readonly status: "ready" } | RefusedResult<"not_ready">

/** A problem's members besides code and message. */
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

export const notReady = (message: string): RefusedResult<"not_ready"> => ({
  status: "refused",
  code: "not_ready",
  message,
})

export const storeUnavailable = (error: StoreUnavailable): RefusedResult<"store_unavailable"> =>
  refused(toProblem(error))

const queued = ({ _tag: _, ...place }: Queued, basePath: string): QueuedResult => ({
  status: "queued",
  ...place,
  eventsUrl: eventsUrl(basePath, place.uniqueRequestId),
})

export const notStarted = (error: RequestError, basePath: string): QueuedResult | RefusedResult<RequestRefusal> =>
  error._tag === "Queued" ? queued(error, basePath) : refused(toProblem(error))

export const ticketRefused = (error: TicketUnknown | StoreUnavailable): RefusedResult<TicketRefusal> =>
  refused(toProblem(error))

export const startRefused = (
  error: TicketUnknown | NotYourTurn | TicketOver | BudgetExhausted | PlatformUnavailable | StoreUnavailable | Draining,
): RefusedResult<StartRefusal> => refused(toProblem(error))
