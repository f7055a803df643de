/** What the claims of a token say, once its signature is right. */
import { Option, Schema } from "effect"
import { type Identity, Subject, VoicegateClaim } from "../protocol/identity.ts"
import type { IdentityReason } from "../protocol/refusals.ts"
import { CLOCK_TOLERANCE_MILLIS, MAX_LIFETIME_MILLIS, type VerifiedToken } from "./IdentityTokens.ts"

/** The claims that decide here; a server of tokens may add others. */
const Claims = Schema.Struct({
  sub: Subject,
  exp: Schema.Finite,
  iat: Schema.optionalKey(Schema.Finite),
  iss: Schema.optionalKey(Schema.String),
  jti: Schema.optionalKey(Schema.String.check(Schema.isBetweenLength(1, 256))),
  voicegate: Schema.optionalKey(Schema.Unknown),
})
const decodeClaims = Schema.decodeUnknownOption(Claims)
const decodeVoicegate = Schema.decodeUnknownOption(VoicegateClaim, { onExcessProperty: "error" })

const identityOf = (subject: string, { limits, name, variables }: VoicegateClaim): Identity => ({
  subject,
  ...(name === undefined ? {} : { name }),
  ...(limits === undefined ? {} : { limits }),
  ...(variables === undefined ? {} : { variables }),
})

/**
 * @param now ms since 1970
 * @returns who calls, or why the token is refused
 */
export const tokenOf = (payload: unknown, now: number): VerifiedToken | IdentityReason => {
  const claims = Option.getOrUndefined(decodeClaims(payload))
  if (claims === undefined) return "malformed"
  const { exp, iat, iss = "", jti, sub } = claims
  if (iat !== undefined && iat * 1000 > now + CLOCK_TOLERANCE_MILLIS) return "not_yet_valid"
  // without the time of its signature, it may have lived for as long before
  const lifetime = iat === undefined ? exp * 1000 - now - CLOCK_TOLERANCE_MILLIS : (exp - iat) * 1000
  if (lifetime > MAX_LIFETIME_MILLIS) return "malformed"
  const voicegate = decodeVoicegate(claims.voicegate ?? {})
  if (Option.isNone(voicegate)) return "malformed"
  const { campaigns } = voicegate.value
  return {
    identity: identityOf(sub, voicegate.value),
    ...(campaigns === undefined ? {} : { campaigns }),
    ...(jti === undefined ? {} : { use: `${iss}\n${jti}` }),
    // a NumericDate may have a fraction (RFC 7519 §2), and lifetimes of the store have none
    until: Math.floor(exp * 1000),
  }
}
