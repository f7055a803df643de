/**
 * HTTP answers as values, each with its outcome for the access log. Failures are RFC 9457 problem documents with a stable `code`
 * and, for the existing widget, a `message`.
 */

import { type ProblemDetails, problemBody, problems } from "../../protocol/problems.ts"
import type { RateLimited } from "../../protocol/refusals.ts"
import * as texts from "../../protocol/texts.ts"
import type { SingleHeader } from "../../serving/repeated-headers.ts"
import { type Failure, toProblem } from "./failures.ts"

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
  /** who calls, by a signed token, for the access log */
  readonly subject?: string | undefined
  /** a new ticket that the caller learns only from this answer */
  readonly newTicket?: string
  /** the ticket whose session has started */
  readonly startedTicket?: string
}

export const JSON_TYPE = "application/json; charset=utf-8"
const PROBLEM_TYPE = "application/problem+json; charset=utf-8"

export const json = (
  status: number,
  value: unknown,
  outcome: string,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({ status, outcome, headers: { "content-type": JSON_TYPE, ...headers }, body: JSON.stringify(value) })

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
  body: JSON.stringify(problemBody(status, code, detail, more.extensions)),
})

export const refused = ({ code, detail, headers, members, status }: ProblemDetails): Answer =>
  problem(status, code, detail, { headers, extensions: { ...members } })

/** A cache: a caller who asks much too often is refused with the same error again and again, and to encode it each time takes 5 µs. */
const repeated = new WeakMap<RateLimited, Answer>()

const rateLimited = (error: RateLimited): Answer => {
  const known = repeated.get(error)
  if (known !== undefined) return known
  const answer = refused(toProblem(error))
  repeated.set(error, answer)
  return answer
}

export const failed = (error: Failure): Answer =>
  error._tag === "RateLimited" ? rateLimited(error) : refused(toProblem(error))

/** An address has exceeded `Security.StatusPerMinute`; nothing was looked up. */
export const askedTooOften = (seconds: number): Answer =>
  refused(problems.askedTooOften.make(texts.askedTooOften(seconds), seconds))

/** An unexpected failure; the log has the details. */
export const internalError = refused(problems.internalError.make("An internal error occurred."))

export const MAX_BODY_BYTES = 64 * 1024
/** A vendor's webhook may contain the whole transcript of a call. */
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
