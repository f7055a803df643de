/**
 * HTTP answers as values, each with its outcome for the access log. Failures are RFC 9457 problem documents with a stable `code`
 * and, for the existing widget, a `message`.
 */
import { accessOf } from "../../protocol/credential.ts"
import * as messages from "../../protocol/messages.ts"
import type { RateLimited } from "../../protocol/refusals.ts"
import { MAX_SILENCE_SECONDS, type Queued, type Relayed, type Started } from "../../protocol/Session.ts"
import type { SingleHeader } from "../../serving/repeated-headers.ts"
import { eventsUrl } from "../incoming/paths.ts"
import { type Failure, toProblem } from "./failures.ts"
import { type ProblemDetails, problems } from "./problems.ts"

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** for the access log; never contains a secret */
  readonly outcome: string
  /** the ticket that the answer is about, for the access log */
  readonly ticket?: string
  /** the campaign of a refused session request, for the access log */
  readonly campaign?: string | undefined
  /** a new ticket that the caller learns only from this answer */
  readonly newTicket?: string
  /** the ticket whose session has started */
  readonly startedTicket?: string
}

const JSON_TYPE = "application/json; charset=utf-8"
const SDP_TYPE = "application/sdp"
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

/** The answer for a problem. */
export const refused = ({ code, detail, headers, members, status }: ProblemDetails): Answer =>
  problem(status, code, detail, { headers, extensions: { ...members } })

/** A session has started: 200. */
export const started = (session: Started): Answer => ({
  ...json(
    200,
    {
      status: "started",
      ...accessOf(session),
      sessionId: session.sessionId,
      uniqueRequestId: session.uniqueRequestId,
      silenceSeconds: session.silenceSeconds,
    },
    "started",
  ),
  ticket: session.uniqueRequestId,
  startedTicket: session.uniqueRequestId,
})

/** The vendor has answered the page's offer: 201, as the vendor answers. */
export const relayed = ({ answer, callId }: Relayed): Answer => ({
  status: 201,
  headers: {
    "content-type": SDP_TYPE,
    ...(callId === undefined ? {} : { location: `/v1/realtime/calls/${callId}` }),
  },
  body: answer,
  outcome: "relayed",
})

const JSON_HEADERS = { "content-type": JSON_TYPE }

/** The ticket waits: 202. `JSON.stringify` omits members that are undefined. */
const queued = (ticket: Queued, basePath: string): Answer => ({
  status: 202,
  outcome: "queued",
  headers: JSON_HEADERS,
  body: JSON.stringify({
    status: "queued",
    uniqueRequestId: ticket.uniqueRequestId,
    queuePosition: ticket.queuePosition,
    estimatedWaitSeconds: ticket.estimatedWaitSeconds,
    disrupted: ticket.disrupted || undefined,
    paused: ticket.paused || undefined,
    pausedUntil: ticket.pausedUntil ?? undefined,
    eventsUrl: eventsUrl(basePath, ticket.uniqueRequestId),
  }),
  ticket: ticket.uniqueRequestId,
  newTicket: ticket.uniqueRequestId,
})

/** The answers of refusals that are repeated, with the same error, to a caller who asks much too often. */
const repeated = new WeakMap<RateLimited, Answer>()
const rateLimited = (error: RateLimited): Answer => {
  const answer = repeated.get(error) ?? refused(toProblem(error))
  repeated.set(error, answer)
  return answer
}

/** The answer for any outcome of a request or ticket other than success. */
export const failed = (error: Failure | Queued, basePath: string): Answer => {
  if (error._tag === "Queued") return queued(error, basePath)
  return error._tag === "RateLimited" ? rateLimited(error) : refused(toProblem(error))
}

/** An address has exceeded `Security.StatusPerMinute`; nothing was looked up. */
export const askedTooOften = (seconds: number): Answer =>
  refused(problems.askedTooOften.make(messages.askedTooOften(seconds), seconds))

/** An unexpected failure; the log has the details. */
export const internalError = refused(problems.internalError.make("An internal error occurred."))

/** Maximum length of a request body, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024
/** The same for a vendor's webhook, which may contain the whole transcript of a call. */
export const MAX_WEBHOOK_BYTES: number = 1024 * 1024

const withHeaders = (answer: Answer, headers: Answer["headers"]): Answer => ({
  ...answer,
  headers: { ...answer.headers, ...headers },
})

/** The path exists, but not for this method. */
export const methodNotAllowed = (allowed: string): Answer =>
  refused(problems.methodNotAllowed.make("method_not_allowed", `method: Expected ${allowed}.`, {}, { allow: allowed }))

/** Closes the connection instead of reading the rest of the body. */
export const unread = (answer: Answer): Answer => withHeaders(answer, { connection: "close" })

export const bodyTooLarge = (maxBytes: number): Answer =>
  unread(refused(problems.bodyTooLarge.make(`The body is larger than ${maxBytes} bytes.`)))

const sentTwice = (name: SingleHeader): Answer =>
  refused(problems.repeatedHeader.make(`${name}: Expected it once, and it was sent more than once.`))

/** What a report of silence must say. */
export const NO_SILENCE = `Expected how long nobody has spoken, a number from 0 to ${MAX_SILENCE_SECONDS}`

export const refusals = {
  repeatedHeader: {
    authorization: sentTwice("authorization"),
    "content-type": sentTwice("content-type"),
    host: sentTwice("host"),
    origin: sentTwice("origin"),
  } satisfies Readonly<Record<SingleHeader, Answer>>,
  bodyPieces: unread(refused(problems.bodyTooLarge.make("The body was sent in too many small pieces."))),
  notFound: refused(problems.notFound.make("There is nothing at this path.")),
  mediaType: refused(problems.unsupportedMediaType.make("content-type: Expected application/json.")),
  encoded: refused(
    problems.unsupportedMediaType.make("content-encoding: Send the body as it is: a compressed one is not supported."),
  ),
  notUtf8: refused(problems.unsupportedMediaType.make("body: Expected UTF-8.")),
  notSdp: refused(problems.unsupportedMediaType.make("content-type: Expected application/sdp.")),
  noOffer: refused(
    problems.invalidOffer.make(
      "invalid_request",
      "body: Expected an SDP offer.",
      { errors: [{ field: "body", message: "Expected an SDP offer" }] },
      {},
    ),
  ),
  noSilence: refused(
    problems.invalidReport.make(
      "invalid_request",
      `seconds: ${NO_SILENCE}.`,
      { errors: [{ field: "seconds", message: NO_SILENCE }] },
      {},
    ),
  ),
  /** a host's body parser consumed the body and kept no usable copy */
  bodyTaken: refused(
    problems.bodyAlreadyRead.make(
      "The body was read before the gate: mount the gate before body parsers, or keep the bytes as request.rawBody.",
    ),
  ),
  malformedJson: refused(problems.malformedJson.make("body: Expected valid JSON.")),
  origin: refused(problems.originNotAllowed.make("origin: Expected an allowed origin (Security.AllowedOrigins).")),
  host: refused(problems.hostNotAllowed.make("host: Expected a name of this gate (Server.AllowedHosts).")),
  metricsAreLocal: problem(
    403,
    "metrics_are_local",
    "Metrics are served to programs on the gate's machine. Server.Metrics can be public, or private for a port of their own.",
  ),
  postOnly: methodNotAllowed("POST"),
  noAddress: refused(problems.noClientAddress.make("The client's address is not known.")),
  upgradeRequired: refused(problems.notFound.make("There is no WebSocket at this path.")),
} as const
