/**
 * Every answer of the gate over HTTP, as a value: what is sent, and how the access log names it. Failures are RFC 9457
 * problem documents with a stable `code` and, for the existing widget, a `message`.
 */
import type { RequestError } from "../Gatekeeper.ts"
import * as messages from "../messages.ts"
import type { TooManyConnections } from "../PushChannel.ts"
import type { NotYourTurn, RateLimited, Started, TicketOver, TicketUnknown } from "../Session.ts"

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** for the access log, and never a secret */
  readonly outcome: string
  /** a waiting ticket of which the caller learns by this answer alone */
  readonly newTicket?: string
}

const JSON_TYPE = "application/json; charset=utf-8"
const PROBLEM_TYPE = "application/problem+json; charset=utf-8"

export const json = (
  status: number,
  value: unknown,
  outcome: string,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({ status, outcome, headers: { "content-type": JSON_TYPE, ...headers }, body: JSON.stringify(value) })

export const noContent = (outcome: string): Answer => ({ status: 204, headers: {}, body: "", outcome })

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
}

/** A problem document. `message` repeats `detail` under the name that the existing widget reads. */
export const problem = (
  status: number,
  code: string,
  detail: string,
  more: {
    readonly headers?: Readonly<Record<string, string>>
    readonly extensions?: Readonly<Record<string, unknown>>
  } = {},
): Answer => ({
  status,
  outcome: code,
  headers: { "content-type": PROBLEM_TYPE, ...more.headers },
  body: JSON.stringify({
    type: `urn:voicegate:problem:${code}`,
    title: titles[status] ?? "Error",
    status,
    detail,
    code,
    message: detail,
    ...more.extensions,
  }),
})

const retryAfter = (seconds: number) => ({
  headers: { "retry-after": String(seconds) },
  extensions: { retryAfterSeconds: seconds },
})

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers: every budget as a policy, and the one that decided as it stands, so
 * that no `t` is later than Retry-After. A concurrent budget has a unit of its own and no window.
 */
const rateLimitHeaders = (error: RateLimited): Record<string, string> => {
  const decided = error.limits.filter((limit) => limit.name === error.limit)
  return {
    "ratelimit-policy": error.limits
      .map(
        (l) => `"${l.name}";q=${l.quota};${l.windowSeconds > 0 ? `w=${l.windowSeconds}` : 'qu="concurrent-requests"'}`,
      )
      .join(", "),
    ratelimit: decided.map((l) => `"${l.name}";r=${l.remaining};t=${l.resetSeconds}`).join(", "),
  }
}

/** A session has started: 200. */
export const started = (session: Started): Answer =>
  json(
    200,
    {
      status: "started",
      webSocketUrl: session.webSocketUrl,
      sessionId: session.sessionId,
      uniqueRequestId: session.uniqueRequestId,
    },
    "started",
  )

/** Everything else that can come of a request or of a ticket. */
export const failed = (
  error: RequestError | TicketUnknown | NotYourTurn | TicketOver | TooManyConnections,
  basePath: string,
): Answer => {
  switch (error._tag) {
    case "Queued":
      return {
        ...json(
          202,
          {
            status: "queued",
            uniqueRequestId: error.uniqueRequestId,
            queuePosition: error.queuePosition,
            estimatedWaitSeconds: error.estimatedWaitSeconds,
            ...(error.disrupted ? { disrupted: true } : {}),
            eventsUrl: `${basePath}/api/session/${error.uniqueRequestId}/events`,
          },
          "queued",
        ),
        newTicket: error.uniqueRequestId,
      }
    case "InvalidRequest":
      return problem(400, error.code, error.message, { extensions: { errors: error.issues } })
    case "Blocked":
      return problem(403, "blocked", error.message, { extensions: { reason: error.reason } })
    case "RateLimited": {
      const { extensions, headers } = retryAfter(error.retryAfterSeconds)
      return problem(429, "rate_limited", error.message, {
        headers: { ...headers, ...rateLimitHeaders(error) },
        extensions: { ...extensions, limit: error.limit },
      })
    }
    case "TooManyConnections":
      return problem(429, "too_many_connections", error.message, retryAfter(30))
    case "QueueFull":
      return problem(503, "queue_full", error.message, retryAfter(error.retryAfterSeconds))
    case "Draining":
      return problem(503, "draining", error.message, retryAfter(error.retryAfterSeconds))
    case "PlatformUnavailable":
      // repeated as it is, it would be refused again
      if (error.kind === "refused") return problem(422, "request_refused", error.message)
      return problem(
        error.kind === "rejected" ? 502 : 503,
        error.kind === "rejected" ? "platform_rejected" : "platform_unavailable",
        error.message,
        retryAfter(error.retryAfterSeconds),
      )
    case "StoreUnavailable":
      return problem(503, "store_unavailable", messages.storeUnavailable, retryAfter(5))
    case "TicketUnknown":
      return problem(404, "ticket_unknown", error.message)
    case "NotYourTurn":
      return problem(409, error.code, error.message, {
        extensions: error.queuePosition === undefined ? {} : { queuePosition: error.queuePosition },
      })
    case "TicketOver":
      return problem(410, "ticket_over", error.message, { extensions: { state: error.state } })
  }
}

/** An address has asked for tickets too often (`Security.StatusPerMinute`); nothing was looked up. */
export const askedTooOften = (seconds: number): Answer =>
  problem(429, "rate_limited", messages.askedTooOften(seconds), retryAfter(seconds))

/** Something that should not happen did; the log has the rest. */
export const internalError = problem(500, "internal_error", "Something went wrong here.")

/** The longest request body, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024

export const refusals = {
  notFound: problem(404, "not_found", "There is nothing at this path."),
  // what is left of the body is not waited for
  tooLarge: problem(413, "body_too_large", `The body is larger than ${MAX_BODY_BYTES} bytes.`, {
    headers: { connection: "close" },
  }),
  mediaType: problem(415, "unsupported_media_type", "content-type: Expected application/json."),
  /** a host's body parser ran before the gate and kept too little */
  bodyTaken: problem(
    500,
    "body_already_read",
    "The body was read before the gate: mount the gate before body parsers, or keep the bytes as request.rawBody.",
  ),
  malformedJson: problem(400, "malformed_json", "body: Expected valid JSON."),
  origin: problem(403, "origin_not_allowed", "origin: Expected an allowed origin (Security.AllowedOrigins)."),
  host: problem(421, "host_not_allowed", "host: Expected a name of this gate (Server.AllowedHosts)."),
  ticketId: problem(404, "ticket_unknown", "No request has this id, or it was over long ago."),
  postOnly: problem(405, "method_not_allowed", "method: Expected POST.", { headers: { allow: "POST" } }),
  noAddress: problem(400, "no_client_address", "The client's address is not known."),
  upgradeRequired: problem(404, "not_found", "There is no WebSocket at this path."),
} as const
