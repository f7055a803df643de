/**
 * Maps each error of the gate to its problem: status, code, headers, members and message. HTTP answers, push events and the results
 * of the promise facade all use this table.
 */
import * as messages from "../messages.ts"
import type { TooManyConnections } from "../PushChannel.ts"
import type {
  Blocked,
  Draining,
  InvalidRequest,
  NotYourTurn,
  PlatformUnavailable,
  QueueFull,
  RateLimited,
  StoreUnavailable,
  TicketOver,
  TicketUnknown,
} from "../Session.ts"
import { problems } from "./problems.ts"

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

const platformUnavailable = ({ kind, message, retryAfterSeconds }: PlatformUnavailable) => {
  switch (kind) {
    case "refused":
      // no Retry-After: the same request would be refused again
      return problems.requestRefused.make(message)
    case "rejected":
      return problems.platformRejected.make(message, retryAfterSeconds)
    case "unavailable":
      return problems.platformUnavailable.make(message, retryAfterSeconds)
  }
}

const failures = {
  InvalidRequest: ({ code, issues, message }: InvalidRequest) =>
    problems.invalidRequest.make(code, message, { errors: issues }, {}),
  Blocked: ({ message, reason }: Blocked) => problems.blocked.make("blocked", message, { reason }, {}),
  RateLimited: (error: RateLimited) =>
    problems.rateLimited.make(
      "rate_limited",
      error.message,
      { retryAfterSeconds: error.retryAfterSeconds, limit: error.limit },
      rateLimitHeaders(error),
    ),
  TooManyConnections: ({ message }: TooManyConnections) => problems.tooManyConnections.make(message, CONNECTION_RETRY),
  QueueFull: ({ message, retryAfterSeconds }: QueueFull) => problems.queueFull.make(message, retryAfterSeconds),
  Draining: ({ message, retryAfterSeconds }: Draining) => problems.draining.make(message, retryAfterSeconds),
  PlatformUnavailable: platformUnavailable,
  // the error's own message is only for the log
  StoreUnavailable: (_: StoreUnavailable) => problems.storeUnavailable.make(messages.storeUnavailable, STORE_RETRY),
  TicketUnknown: ({ message }: TicketUnknown) => problems.ticketUnknown.make(message),
  NotYourTurn: ({ code, message, queuePosition }: NotYourTurn) =>
    problems.notYourTurn.make(code, message, queuePosition === undefined ? {} : { queuePosition }, {}),
  TicketOver: ({ message, state }: TicketOver) => problems.ticketOver.make("ticket_over", message, { state }, {}),
}

type Tag = keyof typeof failures
type Failures = { readonly [T in Tag]: Parameters<(typeof failures)[T]>[0] }
type Problems = { readonly [T in Tag]: ReturnType<(typeof failures)[T]> }

/** All errors that map to a problem. */
export type Failure = Failures[Tag]

/** The same table, typed so that TypeScript can correlate a tag with its problem. */
const table: { readonly [T in Tag]: (error: Failures[T]) => Problems[T] } = failures

const toProblemOf = <T extends Tag>(tag: T, error: Failures[T]): Problems[T] => table[tag](error)

/** The problem of an error; the type of its code follows from the error's tag. */
export const toProblem = <T extends Tag>(error: Failures[T] & { readonly _tag: T }): Problems[T] =>
  toProblemOf(error._tag, error)
