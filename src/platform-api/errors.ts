/**
 * How a call to the platform can fail. No error carries the key, a request or a response: only what was understood of
 * them.
 */
import { Schema } from "effect"

/** Every slot of the platform is taken (HTTP 429, or an envelope whose code or message says so). */
export class AtCapacity extends Schema.TaggedError<AtCapacity>()("AtCapacity", { message: Schema.String }) {}

/** The platform understood and refused: a wrong key, a campaign that does not exist, … Trying again does not help. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  /** HTTP status; 200 for a failure that came in a successful response */
  status: Schema.Int,
  /** last segment of the envelope's code, or empty */
  code: Schema.String,
  message: Schema.String,
}) {}

/** No usable answer; `mayHaveHappened` when a start may have been carried out, always false for a read. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.Literals(["timeout", "unreachable", "server_error", "malformed", "circuit_open"]),
  mayHaveHappened: Schema.Boolean,
  message: Schema.String,
}) {}

/** A call to the platform failed; the message never contains the key. */
export class PlatformError extends Schema.TaggedError<PlatformError>()("PlatformError", {
  reason: Schema.Union([AtCapacity, Refused, Unavailable]),
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** A `PlatformError` for lack of a usable answer. */
export const unavailable = (reason: Unavailable["reason"], mayHaveHappened: boolean, message: string): PlatformError =>
  new PlatformError({ reason: new Unavailable({ reason, mayHaveHappened, message }) })

/** A `PlatformError` for an answer that says no. */
export const refused = (status: number, code: string, message: string): PlatformError =>
  new PlatformError({ reason: new Refused({ status, code, message }) })
