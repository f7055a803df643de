/** How a call to the platform can fail. No error contains the key, a request or a raw response. */
import { Schema } from "effect"

/** Every slot of the platform is taken, according to a code or the text of its answer. */
export class AtCapacity extends Schema.TaggedError<AtCapacity>()("AtCapacity", { message: Schema.String }) {}

/** The key has reached its request rate limit (HTTP 429 that is not about calls). Slots may be free. */
export class KeyRateLimited extends Schema.TaggedError<KeyRateLimited>()("KeyRateLimited", {
  /** the platform's Retry-After (ms); a second when it sends none */
  retryAfterMillis: Schema.Int,
  message: Schema.String,
}) {}

/** The platform refuses to start because of this request's content; other requests are not affected. */
export class RequestRefused extends Schema.TaggedError<RequestRefused>()("RequestRefused", {
  /** HTTP status; 200 for a failure that came in a successful response */
  status: Schema.Int,
  /** last segment of the envelope's code, or empty */
  code: Schema.String,
  message: Schema.String,
}) {}

/** The platform refuses the key or the campaign: wrong, restricted, missing, … A retry does not help. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  /** HTTP status; 200 for a failure that came in a successful response */
  status: Schema.Int,
  /** last segment of the envelope's code, or empty */
  code: Schema.String,
  message: Schema.String,
}) {}

/** No usable answer; `mayHaveHappened` is true when a start may have been carried out, and false for a read. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.Literals(["timeout", "unreachable", "server_error", "malformed", "circuit_open", "defect"]),
  mayHaveHappened: Schema.Boolean,
  /** for `circuit_open`: how long calls keep failing (ms) */
  retryAfterMillis: Schema.optionalKey(Schema.Int),
  message: Schema.String,
}) {}

/** A call to the platform failed; the message never contains the key. */
export class PlatformError extends Schema.TaggedError<PlatformError>()("PlatformError", {
  reason: Schema.Union([AtCapacity, KeyRateLimited, RequestRefused, Refused, Unavailable]),
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** A `PlatformError` for a missing or unusable answer. */
export const unavailable = (
  reason: Unavailable["reason"],
  mayHaveHappened: boolean,
  message: string,
  retryAfterMillis?: number,
): PlatformError =>
  new PlatformError({
    reason: new Unavailable({
      reason,
      mayHaveHappened,
      message,
      ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }),
    }),
  })

export const refused = (status: number, code: string, message: string): PlatformError =>
  new PlatformError({ reason: new Refused({ status, code, message }) })
