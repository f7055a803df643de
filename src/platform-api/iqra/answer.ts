/**
 * Reads an HTTP answer of the default platform. Failures come in two forms: HTTP 200 with `success: false` (the reference
 * implementation), or an HTTP error status with `{detail}` or the envelope (its documentation, and the local platform). Codes
 * are nested with colons; only the last segment counts.
 */
import { Effect, Option, Schema } from "effect"
import { AtCapacity, KeyRateLimited, PlatformError, RequestRefused, refused, unavailable } from "../errors.ts"
import { type Answered, type CallKind, malformed, retryAfterOf, safeText } from "../requests/answer.ts"

const Envelope = Schema.Struct({
  success: Schema.optionalKey(Schema.Boolean),
  message: Schema.optionalKey(Schema.NullOr(Schema.String)),
  code: Schema.optionalKey(Schema.NullOr(Schema.String)),
  detail: Schema.optionalKey(Schema.Unknown),
  data: Schema.optionalKey(Schema.Unknown),
})
type Envelope = typeof Envelope.Type

const decodeEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(Envelope))

const CAPACITY_CODES = new Set(["CONCURRENCY_LIMIT_REACHED", "USER_CUSTOMER_CONCURRENCY_LIMIT_REACHED"])

/** The reference implementation reports a reached limit under other codes; its .NET middleware looks for these words. */
const CAPACITY_WORDS = /concurrency|too many/i

/** A rate limit of the key's requests. "Too many requests" is HTTP's own phrase for 429. */
const REQUEST_LIMIT_CODES = new Set(["RATE_LIMIT_EXCEEDED", "TOO_MANY_FAILED_KEYS", "TOO_MANY_REQUESTS"])
const REQUEST_LIMIT_WORDS = /too many (?:requests|failed)|rate.?limit|throttl/i

const isAboutLimits = (text: string): boolean => CAPACITY_WORDS.test(text) || REQUEST_LIMIT_WORDS.test(text)

/** Statuses that blame the request's content (RFC 9110): malformed, too large, unprocessable. */
const REQUEST_STATUSES = new Set([400, 413, 422])
/** Codes that blame the request's content, whatever the status. */
const REQUEST_CODES = new Set(["CONFIG_CLIENT_IDENTIFIER_TOO_LONG", "INVALID_REQUEST", "VALIDATION_FAILED"])
/** Codes that blame the gate's key or settings, whatever the status. */
const GATE_CODES =
  /^(?:KEY_NOT_FOUND|API_KEY_INVALID|RESTRICTED_API_KEY|API_ACCESS_MANAGEMENT_RESTRICTION|\w+_DISABLED|\w+_NOT_FOUND)$/

/** Refusals of the key or the request. They are never about capacity or the rate of requests, whatever their text contains. */
const NOT_CAPACITY = new Set([
  "INVALID_FORMAT",
  "KEY_NOT_FOUND",
  "API_KEY_INVALID",
  "RESTRICTED_API_KEY",
  "API_ACCESS_MANAGEMENT_RESTRICTION",
  "USER_DISABLED",
  "BUSINESS_DISABLED",
  "REGION_NOT_FOUND",
  "CONFIG_CLIENT_IDENTIFIER_TOO_LONG",
])

/** Temporary failures inside the platform. `Refused` would tell the caller not to retry. */
const PASSING = new Set(["BACKEND_CALL_PROCESS_FAIL", "REGION_NO_AVAILABLE_SERVERS"])

const lastSegment = (code: string): string => code.slice(code.lastIndexOf(":") + 1).trim()

const textOf = (envelope: Envelope | undefined): string => {
  if (typeof envelope?.message === "string" && envelope.message !== "") return envelope.message
  return typeof envelope?.detail === "string" ? envelope.detail : ""
}

const limitsRequests = (status: number, code: string, texts: string): boolean =>
  REQUEST_LIMIT_CODES.has(code) ||
  (!CAPACITY_CODES.has(code) && !NOT_CAPACITY.has(code) && REQUEST_LIMIT_WORDS.test(texts)) ||
  (status === 429 && !saysAtCapacity("start", code, texts))

const saysAtCapacity = (kind: CallKind, code: string, texts: string): boolean =>
  CAPACITY_CODES.has(code) || (kind === "start" && !NOT_CAPACITY.has(code) && CAPACITY_WORDS.test(texts))

const isOfRequest = (status: number, code: string): boolean =>
  !GATE_CODES.test(code) && (REQUEST_STATUSES.has(status) || REQUEST_CODES.has(code))

const failureOf = (
  kind: CallKind,
  { retryAfter, status }: Answered,
  envelope: Envelope | undefined,
  secret: string,
  fromCaller: string,
): PlatformError => {
  const code = safeText(lastSegment(envelope?.code ?? ""), secret)
  const text = safeText(textOf(envelope), secret)
  const message = text === "" ? `the platform answered ${code === "" ? `HTTP ${status}` : code}` : text
  // A text may quote what the caller has sent, which must not make all others wait: then only the code counts.
  const mayQuote = isAboutLimits(fromCaller)
  const texts = `${envelope?.code ?? ""} ${mayQuote ? "" : text}`
  if (limitsRequests(status, code, texts)) {
    return new PlatformError({ reason: new KeyRateLimited({ retryAfterMillis: retryAfterOf(retryAfter), message }) })
  }
  if (saysAtCapacity(kind, code, texts)) {
    return new PlatformError({ reason: new AtCapacity({ message }) })
  }
  const isOfCaller = kind === "start" && isOfRequest(status, code)
  // The start did not happen after a 503 (request not handled, RFC 9110 §15.6.4) or an envelope (the platform itself gave
  // up). Any other 5xx may come from a proxy while the platform continued.
  if (status >= 500 && status !== 501) {
    const declined = status === 503 || envelope?.success === false
    return unavailable("server_error", kind === "start" && !declined, message)
  }
  // perhaps the platform is full, perhaps not: this caller waits for a moment, others are called
  if (mayQuote && isAboutLimits(text) && !isOfCaller && !NOT_CAPACITY.has(code))
    return unavailable("server_error", false, message)
  // 408: the request did not arrive completely (RFC 9110 §15.5.9)
  if (PASSING.has(code) || status === 408) return unavailable("server_error", false, message)
  if (status >= 300 && status < 400) {
    return unavailable("malformed", false, `the platform redirects (HTTP ${status}): set BaseUrl to the final address`)
  }
  if (isOfCaller) {
    return new PlatformError({ reason: new RequestRefused({ status, code, message }) })
  }
  return refused(status, code, message)
}

/**
 * Returns the `data` of a successful answer, or fails.
 *
 * @param secret the key, which is removed from messages
 * @param fromCaller the parts of the request that its caller chose
 */
export const readAnswer = (
  kind: CallKind,
  answered: Answered,
  secret: string,
  fromCaller = "",
): Effect.Effect<unknown, PlatformError> => {
  const { body, status } = answered
  const envelope = Option.getOrUndefined(decodeEnvelope(body))
  if (status < 200 || status >= 300) return Effect.fail(failureOf(kind, answered, envelope, secret, fromCaller))
  if (envelope?.success === undefined)
    return Effect.fail(
      malformed(kind, "the answer is not in the platform's format: check BaseUrl, another server may answer there"),
    )
  return envelope.success
    ? Effect.succeed(envelope.data)
    : Effect.fail(failureOf(kind, answered, envelope, secret, fromCaller))
}
