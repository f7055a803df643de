/**
 * Maps each error of the gate to its problem: status, code, headers, members and message. HTTP answers, push events and the results
 * of the promise facade all use this table.
 */

import { Schema } from "effect"
import { offersField, withOffers } from "../../protocol/offers.ts"
import {
  type Problem,
  type ProblemDetails,
  plain,
  problem,
  problems,
  retried,
  retryHeader,
  seconds,
  unauthenticated,
  wrongFields,
} from "../../protocol/problems.ts"
import type { RequestRefusal } from "../../protocol/refusals.ts"
import {
  Blocked,
  type BudgetExhausted,
  type Closed,
  type Draining,
  IdentityRefused,
  type IdentityRequired,
  type IdentityUnavailable,
  InvalidRequest,
  type PlatformUnavailable,
  type QueueFull,
  RateLimited,
  type StartFailed,
  type StoreUnavailable,
} from "../../protocol/refusals.ts"
import { isoTime } from "../../protocol/session-answers.ts"
import * as texts from "../../protocol/texts.ts"
import {
  type CalledAgain,
  type CredentialRefused,
  NotYourTurn,
  TicketOver,
  type TicketUnknown,
} from "../../protocol/ticket.ts"
import type { TooManyConnections } from "../../push-channel/PushChannel.ts"

/** Retry delays in seconds. */
const STORE_RETRY = 5
const CONNECTION_RETRY = 30

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers: every limit as a policy, and the current state of the exhausted one only, so
 * that no `t` is later than Retry-After. The concurrency limit has its own unit and no window.
 */
const rateLimitHeaders = ({ limit, limits, retryAfterSeconds }: RateLimited) => ({
  "retry-after": String(retryAfterSeconds),
  "ratelimit-policy": limits
    .map((l) => `"${l.name}";q=${l.quota};${l.windowSeconds > 0 ? `w=${l.windowSeconds}` : 'qu="concurrent-requests"'}`)
    .join(", "),
  ratelimit: limits
    .filter((l) => l.name === limit)
    .map((l) => `"${l.name}";r=${l.remaining};t=${l.resetSeconds}`)
    .join(", "),
})

/** The problems with which an error may be answered, and the function that makes one from the error. */
const answered = <E, P extends ReadonlyArray<Problem>, D extends ProblemDetails>(
  problems: P,
  toProblem: (error: E) => D,
) => ({ problems, toProblem })

const invalidRequest = problem("InvalidRequest", 400, InvalidRequest.fields.code.literals, wrongFields)
const identityRequired = unauthenticated(
  "IdentityRequired",
  "identity_required",
  'Bearer realm="voicegate"',
  "the request has no token that says who calls, and the campaign needs one",
)
const REFUSED_TOKEN = 'Bearer realm="voicegate", error="invalid_token"'
const identityRefused = problem("IdentityRefused", 401, ["identity_refused"], {
  members: { reason: IdentityRefused.fields.reason },
  headers: { "www-authenticate": Schema.String.annotate({ description: `\`${REFUSED_TOKEN}\`.` }) },
  remark: "the token does not prove who calls",
})
const identityUnavailable = retried("IdentityUnavailable", 503, "identity_unavailable")
const blocked = problem("Blocked", 403, ["blocked"], { members: { reason: Blocked.fields.reason }, headers: {} })
const rateLimited = problem("RateLimited", 429, ["rate_limited"], {
  members: { retryAfterSeconds: seconds, limit: RateLimited.fields.limit },
  headers: {
    ...retryHeader,
    "ratelimit-policy": Schema.String.annotate({ description: "Every rate limit of the caller." }),
    ratelimit: Schema.String.annotate({ description: "The exhausted rate limit." }),
  },
  remark: "a rate limit of the caller is exhausted; with `limit`, `RateLimit-Policy` and `RateLimit`",
})
const queueFull = problem("QueueFull", 503, ["queue_full"], {
  members: { retryAfterSeconds: seconds, offers: offersField },
  headers: retryHeader,
})
const closed = problem("Closed", 503, ["closed"], {
  members: {
    retryAfterSeconds: seconds,
    opensAt: Schema.optionalKey(
      Schema.String.annotate({ description: "When it opens, ISO 8601; absent when that is not within a year." }),
    ),
    offers: offersField,
  },
  headers: retryHeader,
  remark: "the campaign is closed by its hours, or would be before the caller's turn",
})
const budgetMembers = {
  retryAfterSeconds: seconds,
  budget: Schema.String.annotate({ description: "The name of the budget." }),
  resetsAt: Schema.String.annotate({ description: "When its next hour, day or month begins, ISO 8601." }),
  offers: offersField,
}
const ownBudgetExhausted = problem("BudgetExhausted", 429, ["budget_exhausted"], {
  members: budgetMembers,
  headers: retryHeader,
  remark: "a budget of the caller's own is used up",
})
const sharedBudgetExhausted = problem("SharedBudgetExhausted", 503, ["budget_exhausted"], {
  members: budgetMembers,
  headers: retryHeader,
  remark: "a budget of the campaign or its account is used up",
})
/** The problem of `BudgetExhausted`. */
const budgetProblems = [ownBudgetExhausted, sharedBudgetExhausted]
const toBudgetProblem = ({ budget, message, offers, own, resetsAt, retryAfterSeconds }: BudgetExhausted) =>
  (own ? ownBudgetExhausted : sharedBudgetExhausted).make(
    "budget_exhausted",
    message,
    { retryAfterSeconds, budget, resetsAt: isoTime(resetsAt), ...withOffers(offers) },
    { "retry-after": String(retryAfterSeconds) },
  )
const draining = retried("Draining", 503, "draining")
const requestRefused = plain(
  "RequestRefused",
  422,
  "request_refused",
  "the platform does not accept the content of the request",
)
const platformRejected = retried("PlatformRejected", 502, "platform_rejected")
const platformUnavailable = retried("PlatformUnavailable", 503, "platform_unavailable")
const tooManyConnections = retried("TooManyConnections", 429, "too_many_connections")
const ticketUnknown = plain("TicketUnknown", 404, "ticket_unknown")
const notYourTurn = problem("NotYourTurn", 409, NotYourTurn.fields.code.literals, {
  members: { queuePosition: NotYourTurn.fields.queuePosition },
  headers: {},
  remark: "after `agent_busy` and `agent_unavailable` the ticket keeps its place and will be called again",
})
const credentialRefused = unauthenticated(
  "CredentialRefused",
  "credential_refused",
  'Bearer realm="voicegate offers"',
  "no token, or one of another credential",
)
const credentialUsed = problem("CredentialUsed", 409, ["credential_used"], {
  members: {},
  headers: {},
  remark: "an offer was already made with this token",
})
/** The problems of `StartFailed`. */
export const startProblems = [requestRefused, platformUnavailable]
export const toStartProblem = ({
  kind,
  message,
  retryAfterSeconds,
}: Pick<StartFailed, "kind" | "message" | "retryAfterSeconds">) =>
  // no Retry-After for the first: the same request would be refused again
  kind === "refused" ? requestRefused.make(message) : platformUnavailable.make(message, retryAfterSeconds)

const calledAgain = problem("CalledAgain", 409, ["agent_busy", "agent_unavailable"], {
  members: { queuePosition: NotYourTurn.fields.queuePosition },
  headers: {},
  remark: "the ticket keeps its place and will be called again, with another credential",
})
/** The problem of `CalledAgain`, where nothing else of `NotYourTurn` is answered. */
export const calledAgainProblems = [calledAgain]
export const toCalledAgainProblem = ({ code, message, queuePosition }: CalledAgain) =>
  calledAgain.make(code, message, queuePosition === undefined ? {} : { queuePosition }, {})

const ticketOver = problem("TicketOver", 410, ["ticket_over"], {
  members: { state: TicketOver.fields.state },
  headers: {},
})

/** The refusals of a session request; the type checks that none is missing. */
const requestFailures = {
  InvalidRequest: answered([invalidRequest], ({ code, issues, message }: InvalidRequest) =>
    invalidRequest.make(code, message, { errors: issues }, {}),
  ),
  IdentityRequired: answered([identityRequired], ({ message }: IdentityRequired) => identityRequired.make(message)),
  IdentityRefused: answered([identityRefused], ({ message, reason }: IdentityRefused) =>
    identityRefused.make("identity_refused", message, { reason }, { "www-authenticate": REFUSED_TOKEN }),
  ),
  IdentityUnavailable: answered([identityUnavailable], ({ message, retryAfterSeconds }: IdentityUnavailable) =>
    identityUnavailable.make(message, retryAfterSeconds),
  ),
  Blocked: answered([blocked], ({ message, reason }: Blocked) => blocked.make("blocked", message, { reason }, {})),
  RateLimited: answered([rateLimited], (error: RateLimited) =>
    rateLimited.make(
      "rate_limited",
      error.message,
      { retryAfterSeconds: error.retryAfterSeconds, limit: error.limit },
      rateLimitHeaders(error),
    ),
  ),
  BudgetExhausted: answered(budgetProblems, toBudgetProblem),
  QueueFull: answered([queueFull], ({ message, offers, retryAfterSeconds }: QueueFull) =>
    queueFull.make(
      "queue_full",
      message,
      { retryAfterSeconds, ...withOffers(offers) },
      { "retry-after": String(retryAfterSeconds) },
    ),
  ),
  Closed: answered([closed], ({ message, offers, opensAt, retryAfterSeconds }: Closed) =>
    closed.make(
      "closed",
      message,
      { retryAfterSeconds, ...(opensAt === undefined ? {} : { opensAt }), ...withOffers(offers) },
      { "retry-after": String(retryAfterSeconds) },
    ),
  ),
  Draining: answered([draining], ({ message, retryAfterSeconds }: Draining) =>
    draining.make(message, retryAfterSeconds),
  ),
  PlatformUnavailable: answered(
    [requestRefused, platformRejected, platformUnavailable],
    ({ kind, message, retryAfterSeconds }: PlatformUnavailable) =>
      kind === "rejected"
        ? platformRejected.make(message, retryAfterSeconds)
        : toStartProblem({ kind, message, retryAfterSeconds }),
  ),
  // the error's own message is only for the log
  StoreUnavailable: answered([problems.storeUnavailable], (_: StoreUnavailable) =>
    problems.storeUnavailable.make(texts.storeUnavailable, STORE_RETRY),
  ),
} satisfies Readonly<Record<RequestRefusal["_tag"], unknown>>

export const failures = {
  ...requestFailures,
  TooManyConnections: answered([tooManyConnections], ({ message }: TooManyConnections) =>
    tooManyConnections.make(message, CONNECTION_RETRY),
  ),
  TicketUnknown: answered([ticketUnknown], ({ message }: TicketUnknown) => ticketUnknown.make(message)),
  NotYourTurn: answered([notYourTurn], ({ code, message, queuePosition }: NotYourTurn) =>
    notYourTurn.make(code, message, queuePosition === undefined ? {} : { queuePosition }, {}),
  ),
  CredentialRefused: answered([credentialRefused, credentialUsed], ({ code, message }: CredentialRefused) =>
    code === "credential_used" ? credentialUsed.make(code, message, {}, {}) : credentialRefused.make(message),
  ),
  TicketOver: answered([ticketOver], ({ message, state }: TicketOver) =>
    ticketOver.make("ticket_over", message, { state }, {}),
  ),
}

export const requestProblems: ReadonlyArray<Problem> = Object.values(requestFailures).flatMap(
  ({ problems }): ReadonlyArray<Problem> => problems,
)

type Tag = keyof typeof failures
type Failures = { readonly [T in Tag]: Parameters<(typeof failures)[T]["toProblem"]>[0] }
type Problems = { readonly [T in Tag]: ReturnType<(typeof failures)[T]["toProblem"]> }

export type Failure = Failures[Tag]

/** `failures`, typed so that TypeScript can correlate a tag with its problem. */
const table: { readonly [T in Tag]: { readonly toProblem: (error: Failures[T]) => Problems[T] } } = failures

const toProblemOf = <T extends Tag>(tag: T, error: Failures[T]): Problems[T] => table[tag].toProblem(error)

/** The problem of an error; the type of its code follows from the error's tag. */
export const toProblem = <T extends Tag>(error: Failures[T] & { readonly _tag: T }): Problems[T] =>
  toProblemOf(error._tag, error)

export type CodeOf<E extends Failure> = Problems[E["_tag"]]["code"]
