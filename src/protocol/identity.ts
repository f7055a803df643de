/**
 * Who a caller is: verified by the gate from a signed token, or by a host that has sessions of its own. Whatever counts per caller
 * counts the subject then, over whatever address.
 */
import { Schema } from "effect"
import { plainText, Variables } from "./request.ts"

/** The longest subject, and the longest name, in UTF-16 units. */
const MAX_SUBJECT = 255

/** What a caller need not pass: `address-check` is `Security.Block*`, such as the VPN block. */
export const TRUSTS = ["none", "address-check"] as const
export type Trust = (typeof TRUSTS)[number]

/**
 * Limits of one subject, which replace those of the settings; an absent one stays as the settings say. There is none of 0, which would read as
 * "no limit" to some and as "no call" to others.
 */
const IdentityLimits = Schema.Struct({
  /** requests that are accepted in any hour */
  hour: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))),
  /** requests that are accepted in any day */
  day: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))),
  /** how long a call may last */
  callSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))),
})
export type IdentityLimits = typeof IdentityLimits.Type

/** The limits of one caller that the rate limiter counts. */
export type CallerLimits = Pick<IdentityLimits, "hour" | "day">

/** Who a caller is, as whoever answers for it says. */
export const Subject = Schema.String.check(Schema.isBetweenLength(1, MAX_SUBJECT), plainText)

/** A name for people, such as those who read the CRM. */
const DisplayName = Schema.String.check(Schema.isBetweenLength(1, MAX_SUBJECT), plainText)

/** A verified caller. Unknown members are refused. */
export const Identity = Schema.Struct({
  /** the host's own id of the caller, such as a customer number */
  subject: Subject,
  name: Schema.optionalKey(DisplayName),
  limits: Schema.optionalKey(IdentityLimits),
  /** dynamic variables, which win over those of the page */
  variables: Schema.optionalKey(Variables),
  /** absent: as `Identity.Trust` says */
  trust: Schema.optionalKey(Schema.Literals(TRUSTS)),
})
export type Identity = typeof Identity.Type

/** The claim `voicegate` of a token. Unknown members are refused: a misspelt limit must not be no limit. */
export const VoicegateClaim = Schema.Struct({
  /** the campaigns that the token is for, by their names in the settings or their web campaign ids; absent for all */
  campaigns: Schema.optionalKey(Schema.Array(Schema.String.check(Schema.isBetweenLength(1, 256)))),
  limits: Schema.optionalKey(IdentityLimits),
  variables: Schema.optionalKey(Variables),
  name: Schema.optionalKey(DisplayName),
})
export type VoicegateClaim = typeof VoicegateClaim.Type

/** The entries of a session's metadata that say who calls. No page can set them. */
export const SUBJECT_METADATA = "voicegate_subject"
export const NAME_METADATA = "voicegate_name"

/** The most bytes of a token. */
export const MAX_TOKEN_BYTES = 4096
