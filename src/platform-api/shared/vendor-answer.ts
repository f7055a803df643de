/**
 * Reads the answers of vendors, whose statuses mean what HTTP says: 2xx has the data as JSON, 401 and 403 blame the key, 402 the
 * account, 404 the agent, 429 the rate of requests. Each adapter recognises what its vendor says in its own way, above all that all calls
 * of the account are in use.
 */
import { Effect, Option, Predicate, Redacted, Schema } from "effect"
import { AtCapacity, KeyRateLimited, PlatformError, RequestRefused, refused, unavailable } from "../errors.ts"
import { type Answered, malformed, retryAfterOf, safeText } from "../requests/answer.ts"
import type { Call } from "../requests/transport.ts"

/** The texts of an error under the names that vendors use. */
const ErrorBody = Schema.Struct({
  code: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Unknown),
  message: Schema.optionalKey(Schema.Unknown),
  error_message: Schema.optionalKey(Schema.Unknown),
  msg: Schema.optionalKey(Schema.Unknown),
  detail: Schema.optionalKey(Schema.Unknown),
})
const decodeError = Schema.decodeUnknownOption(ErrorBody)
const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** The error itself, which some vendors put below `error`. */
const innermost = (error: unknown): unknown =>
  Predicate.hasProperty(error, "error") && Predicate.isObject(error.error) ? error.error : error

const decodeBody = (body: string): typeof ErrorBody.Type | undefined =>
  Option.getOrUndefined(decodeError(Option.getOrUndefined(Option.map(decodeJson(body), innermost))))

/** An answer that is not a success. */
export interface VendorFailure {
  readonly status: number
  /** the vendor's code, or empty */
  readonly code: string
  /** all that the vendor says, as it was sent */
  readonly text: string
}

/** How a vendor's answers differ from others'. */
export interface VendorAnswers {
  readonly vendor: string
  /** removed from messages */
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  /** Whether a failure says that every call which the account may have is running. */
  readonly isAtCapacity: (failure: VendorFailure) => boolean
  /** Whether a failure blames the account, such as one without credit, whatever its status. Without this function, none does. */
  readonly isRefusal?: (failure: VendorFailure) => boolean
  /** Whether an answer of 500 or above is the vendor's own, so that it has given the start up. Without this function, none is. */
  readonly hasGivenUp?: (failure: VendorFailure) => boolean
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const REQUEST_STATUSES = new Set([400, 413, 422])

/** How many characters of a refusal's text are read: each of its words is searched for in the request. */
const MAX_SAID = 1_000
/** A word with a line end that is written out, as in JSON within JSON. */
const ESCAPED_END = /\\[rnt]/g
/** Shorter words occur in any text. */
const WORD = /[^\s"'`,;()<>[\]{}\\]{6,}/g

/** A vendor's text without the words that occur in `unquotable`, also as a part of a longer word. */
const withoutQuotes = (text: string, unquotable: string): string =>
  text
    .slice(0, MAX_SAID)
    .replace(ESCAPED_END, " ")
    .replace(WORD, (word) => (unquotable.includes(word.replace(/[.:!?]+$/, "")) ? "<redacted>" : word))

export const readVendorAnswer =
  ({ hasGivenUp, isAtCapacity, isRefusal, secrets, vendor }: VendorAnswers) =>
  (
    { fromCaller = "", kind, unquotable }: Call,
    { body, retryAfter, status }: Answered,
  ): Effect.Effect<unknown, PlatformError> => {
    if (status >= 200 && status < 300) {
      if (body === "") return Effect.succeed({})
      const json = decodeJson(body)
      return Option.isSome(json)
        ? Effect.succeed(json.value)
        : Effect.fail(malformed(kind, `${vendor}'s answer is not JSON: check BaseUrl, another server may answer there`))
    }
    const safe = (text: string): string => {
      const shown = secrets.reduce((kept, secret) => kept.replaceAll(Redacted.value(secret), "<redacted>"), text)
      return safeText(unquotable === undefined ? shown : withoutQuotes(shown, unquotable), "")
    }
    const error = decodeBody(body)
    const code = safe(textOf(error?.code) || textOf(error?.error))
    const said = safe(
      [error?.message, error?.error_message, error?.msg, error?.detail].map(textOf).find((each) => each !== "") ?? "",
    )
    const message = `${vendor} answered HTTP ${status}${said === "" ? "" : `: ${said}`}`
    // Such a refusal may quote what the caller has sent, and must not make all others wait.
    const isEcho = REQUEST_STATUSES.has(status) && isAtCapacity({ status, code: "", text: fromCaller })
    if (!isEcho && isAtCapacity({ status, code, text: body })) {
      return Effect.fail(new PlatformError({ reason: new AtCapacity({ message }) }))
    }
    if (isRefusal?.({ status, code, text: body }) === true) return Effect.fail(refused(status, code, message))
    if (status === 429) {
      const reason = new KeyRateLimited({ retryAfterMillis: retryAfterOf(retryAfter), message })
      return Effect.fail(new PlatformError({ reason }))
    }
    // 503: not handled (RFC 9110 §15.6.4); any other 5xx that is not the vendor's own may come from a proxy while the vendor continued
    if (status >= 500 && status !== 501) {
      const declined = status === 503 || hasGivenUp?.({ status, code, text: body }) === true
      return Effect.fail(unavailable("server_error", kind === "start" && !declined, message))
    }
    if (status >= 300 && status < 400) {
      return Effect.fail(
        unavailable("malformed", false, `${vendor} redirects (HTTP ${status}): set BaseUrl to the final address`),
      )
    }
    if (kind === "start" && REQUEST_STATUSES.has(status)) {
      return Effect.fail(new PlatformError({ reason: new RequestRefused({ status, code, message }) }))
    }
    return Effect.fail(refused(status, code, message))
  }
