/**
 * One HTTP exchange with the platform: authorised, with a timeout. Failures become a `PlatformError` that contains nothing of
 * the request and distinguishes a request that was certainly not sent from one that may have arrived.
 */
import { Clock, Effect } from "effect"
import { Headers, type HttpClient, type HttpClientError, HttpClientRequest } from "effect/http"
import {
  boundedText,
  codeOf,
  explained,
  hasBadCertificate,
  MAX_ANSWER_BYTES,
  speaksNoTls,
  withoutRedirects,
} from "../../lib/http-client.ts"
import { retryAfterSeconds } from "../../lib/retry-after.ts"
import { type PlatformError, unavailable } from "../errors.ts"
import type { Answered, CallKind } from "./answer.ts"
import { withSpanUrl } from "./span-url.ts"

/** Timeout for starting a session, in milliseconds; a lease in `starting` must last longer. */
export const START_TIMEOUT_MILLIS = 15_000
/** The longest timeout of a start, in milliseconds: the gate has some seconds left to record what became of it. */
export const LONGEST_START_MILLIS = 25_000
/** Timeout for one attempt of a read, in milliseconds. */
export const READ_TIMEOUT_MILLIS = 5_000

/** A platform's API as a campaign uses it. */
export interface Endpoint {
  /** the campaign's name */
  readonly campaign: string
  /** with a slash at its end */
  readonly baseUrl: string
  /** Endpoints with the same name share a circuit breaker; the base URL if absent. */
  readonly circuit?: string
  readonly authorise: (call: Call) => Effect.Effect<Readonly<Record<string, string>>>
  /** Reads an answer: the data that the call asked for, or a failure. */
  readonly read: (call: Call, answered: Answered) => Effect.Effect<unknown, PlatformError>
}

/** One call; `path` is relative to the endpoint's base URL, its segments already encoded. */
export interface Call {
  readonly kind: CallKind
  readonly method: "GET" | "POST" | "DELETE" | "PATCH" | "PUT"
  readonly path: string
  /** the path as spans show it, without the id of a session; the same as `path` if absent */
  readonly shownPath?: string
  readonly body?: unknown
  /** `START_TIMEOUT_MILLIS` if absent */
  readonly timeoutMillis?: number
  /** fields of a `multipart/form-data` body, in place of `body` */
  readonly multipart?: Readonly<Record<string, string>>
  /** fields of an `application/x-www-form-urlencoded` body, in place of `body` */
  readonly form?: Readonly<Record<string, string>>
  /** the parts of the request that its caller chose; a refusal may quote them */
  readonly fromCaller?: string
  /** the part of the request that no message of the gate may contain, such as an SDP with its caller's addresses; a refusal may quote it */
  readonly unquotable?: string
}

/** Codes of Node and undici for a connection that was never established. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
])

/** What of the scheme of the address is probably wrong. */
const schemeHint = (baseUrl: string, code: string): string => {
  if (speaksNoTls(code)) return `; it does not answer in TLS: if it speaks plain HTTP, its address begins with http://`
  return baseUrl.startsWith("http://") &&
    (code === "ECONNRESET" || code === "UND_ERR_SOCKET" || code.startsWith("HPE_"))
    ? "; if it speaks TLS, its address begins with https://"
    : ""
}

const transportFailure = (call: Call, baseUrl: string, error: HttpClientError.HttpClientError): PlatformError => {
  const host = hostOf(baseUrl)
  const { code, connecting } = codeOf(error.reason.cause)
  const detail = explained(code) + schemeHint(baseUrl, code)
  if (error.reason._tag === "InvalidUrlError" || error.reason._tag === "EncodeError") {
    return unavailable(
      "malformed",
      false,
      `the request to ${host} could not be built: check the address in the settings`,
    )
  }
  if (error.reason._tag !== "TransportError") {
    return unavailable("malformed", call.kind === "start", `the answer of ${host} could not be read${detail}`)
  }
  // where the handshake of TLS has failed, nothing was sent
  const unsent = connecting || NEVER_CONNECTED.has(code) || hasBadCertificate(code) || speaksNoTls(code)
  return unsent
    ? unavailable("unreachable", false, `cannot connect to ${host}${detail}`)
    : unavailable("unreachable", call.kind === "start", `the connection to ${host} broke${detail}`)
}

const hostOf = (baseUrl: string): string => (URL.canParse(baseUrl) ? new URL(baseUrl).host : "the platform")

const requestOf = (
  { body, form, method, multipart, path }: Call,
  baseUrl: string,
  authorisation: Readonly<Record<string, string>>,
) => {
  const address = baseUrl + path
  const request = HttpClientRequest.make(method)
  if (multipart !== undefined) {
    return HttpClientRequest.bodyFormDataRecord(request(address, { headers: authorisation }), multipart)
  }
  const headers = { ...authorisation, ...(form === undefined ? { "content-type": "application/json" } : {}) }
  const plain = request(address, { acceptJson: true, headers })
  if (form !== undefined) return HttpClientRequest.bodyUrlParams(plain, form)
  return body === undefined ? plain : HttpClientRequest.bodyJsonUnsafe(plain, body)
}

/** Sends one call and returns the answer's data, not yet decoded. */
export const exchange = Effect.fnUntraced(function* (client: HttpClient.HttpClient, endpoint: Endpoint, call: Call) {
  const timeout = call.kind === "start" ? (call.timeoutMillis ?? START_TIMEOUT_MILLIS) : READ_TIMEOUT_MILLIS
  const authorisation = yield* endpoint.authorise(call)
  const request = requestOf(call, endpoint.baseUrl, authorisation)
  // A host may record headers in its traces with its own list of redacted names; the key, and a session's id, are always redacted.
  const redactedNames = yield* Headers.CurrentRedactedNames
  const executed = client.execute(request)
  const answer = yield* (
    call.shownPath === undefined ? executed : withSpanUrl(endpoint.baseUrl + call.shownPath)(executed)
  ).pipe(
    Effect.flatMap(
      Effect.fnUntraced(function* (response) {
        const { date, location, "retry-after": given } = response.headers
        // a date that has passed says nothing
        const seconds = retryAfterSeconds(given, date, yield* Clock.currentTimeMillis) ?? 0
        const body = yield* boundedText(response, MAX_ANSWER_BYTES)
        return { status: response.status, body, retryAfter: seconds > 0 ? String(seconds) : given, location }
      }),
    ),
    withoutRedirects,
    Effect.provideService(Headers.CurrentRedactedNames, [...redactedNames, ...Object.keys(authorisation), "location"]),
    Effect.mapError((error) => transportFailure(call, endpoint.baseUrl, error)),
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () =>
        Effect.fail(
          unavailable(
            "timeout",
            call.kind === "start",
            `${hostOf(endpoint.baseUrl)} did not answer within ${timeout / 1000} s`,
          ),
        ),
    }),
  )
  return yield* endpoint.read(call, answer)
})
