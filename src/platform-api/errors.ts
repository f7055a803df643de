/**
 * How a call to the platform can fail. No error carries the key, a request or a response: only what was understood of
 * them.
 */
import { Schema } from "effect"

/** Every slot of the platform is taken: a code or the words of the answer say so. */
export class AtCapacity extends Schema.TaggedError<AtCapacity>()("AtCapacity", { message: Schema.String }) {}

/**
 * The key has made all the requests it may make for now (HTTP 429 that is not about calls): this says nothing about free
 * slots.
 */
export class KeyRateLimited extends Schema.TaggedError<KeyRateLimited>()("KeyRateLimited", {
  /** how long the platform asks to be left alone (ms); a second where it does not say */
  retryAfterMillis: Schema.Int,
  message: Schema.String,
}) {}

/** The platform refuses to start because of what this caller's request says: other requests are not concerned. */
export class RequestRefused extends Schema.TaggedError<RequestRefused>()("RequestRefused", {
  /** HTTP status; 200 for a failure that came in a successful response */
  status: Schema.Int,
  /** last segment of the envelope's code, or empty */
  code: Schema.String,
  message: Schema.String,
}) {}

/** The platform refuses the key or the campaign: wrong, restricted, missing, … Trying again does not help. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  /** HTTP status; 200 for a failure that came in a successful response */
  status: Schema.Int,
  /** last segment of the envelope's code, or empty */
  code: Schema.String,
  message: Schema.String,
}) {}

/** No usable answer; `mayHaveHappened` when a start may have been carried out, always false for a read. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.Literals(["timeout", "unreachable", "server_error", "malformed", "circuit_open", "defect"]),
  mayHaveHappened: Schema.Boolean,
  /** of `circuit_open`: how long the platform is not asked (ms) */
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

/** A `PlatformError` for lack of a usable answer. */
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

/** A `PlatformError` for an answer that says no. */
export const refused = (status: number, code: string, message: string): PlatformError =>
  new PlatformError({ reason: new Refused({ status, code, message }) })
