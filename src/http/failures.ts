/**
 * What each error of the gate is to a caller: its problem with status, code, headers, members and words. The one table of this,
 * for the answers over HTTP, for the events of a push channel and for the results of the promise facade.
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

/** When to try again after these, in seconds. */
const STORE_RETRY = 5
const CONNECTION_RETRY = 30

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers: every budget as a policy, and the one that decided as it stands, so
 * that no `t` is later than Retry-After. A concurrent budget has a unit of its own and no window.
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
      // repeated as it is, it would be refused again
      return problems.requestRefused.tell(message)
    case "rejected":
      return problems.platformRejected.tell(message, retryAfterSeconds)
    case "unavailable":
      return problems.platformUnavailable.tell(message, retryAfterSeconds)
  }
}

const failures = {
  InvalidRequest: ({ code, issues, message }: InvalidRequest) =>
    problems.invalidRequest.tell(code, message, { errors: issues }, {}),
  Blocked: ({ message, reason }: Blocked) => problems.blocked.tell("blocked", message, { reason }, {}),
  RateLimited: (error: RateLimited) =>
    problems.rateLimited.tell(
      "rate_limited",
      error.message,
      { retryAfterSeconds: error.retryAfterSeconds, limit: error.limit },
      rateLimitHeaders(error),
    ),
  TooManyConnections: ({ message }: TooManyConnections) => problems.tooManyConnections.tell(message, CONNECTION_RETRY),
  QueueFull: ({ message, retryAfterSeconds }: QueueFull) => problems.queueFull.tell(message, retryAfterSeconds),
  Draining: ({ message, retryAfterSeconds }: Draining) => problems.draining.tell(message, retryAfterSeconds),
  PlatformUnavailable: platformUnavailable,
  // its own message is for the log
  StoreUnavailable: (_: StoreUnavailable) => problems.storeUnavailable.tell(messages.storeUnavailable, STORE_RETRY),
  TicketUnknown: ({ message }: TicketUnknown) => problems.ticketUnknown.tell(message),
  NotYourTurn: ({ code, message, queuePosition }: NotYourTurn) =>
    problems.notYourTurn.tell(code, message, queuePosition === undefined ? {} : { queuePosition }, {}),
  TicketOver: ({ message, state }: TicketOver) => problems.ticketOver.tell("ticket_over", message, { state }, {}),
}

type Tag = keyof typeof failures
type Failures = { readonly [T in Tag]: Parameters<(typeof failures)[T]>[0] }
type Tellings = { readonly [T in Tag]: ReturnType<(typeof failures)[T]> }

/** All errors that are problems. */
export type Failure = Failures[Tag]

/** The same, as TypeScript follows it from a tag to what is told. */
const table: { readonly [T in Tag]: (error: Failures[T]) => Tellings[T] } = failures

const tellAs = <T extends Tag>(tag: T, error: Failures[T]): Tellings[T] => table[tag](error)

/** What this error is to a caller; its code is one of those that its tag may have. */
export const tell = <T extends Tag>(error: Failures[T] & { readonly _tag: T }): Tellings[T] => tellAs(error._tag, error)
