/** Signs the token of `token identity`, as a backend of the operator would. */
import { randomUUID } from "node:crypto"
import { Clock, Duration, Effect, type FileSystem, Redacted, Result, Schema, SchemaIssue } from "effect"
import { MAX_TOKEN_BYTES, Subject, VoicegateClaim } from "../../protocol/identity.ts"
import { isoTime } from "../../protocol/session-answers.ts"
import { loadIdentityAccess } from "../../settings/access/identity-access.ts"
import type { SettingsSource } from "../../settings/load.ts"
import type { SettingsInvalid } from "../../settings/problems.ts"

export interface IdentityClaims {
  readonly sub: string
  readonly campaign: ReadonlyArray<string>
  readonly limitHour: number | undefined
  readonly limitDay: number | undefined
  readonly callSeconds: number | undefined
  readonly name: string | undefined
  /** each as name=value */
  readonly variable: ReadonlyArray<string>
  readonly expires: Duration.Duration
}

export interface SignedIdentity {
  readonly sub: string
  readonly jti: string
  /** ISO 8601 */
  readonly expires: string
  readonly token: string
}

/** The token cannot be signed; the message says why. */
class NotSigned extends Schema.TaggedError<NotSigned>()("NotSigned", { message: Schema.String }) {}

const given = <A>(members: Readonly<Record<string, A | undefined>>): Readonly<Record<string, A>> | undefined => {
  const entries = Object.entries(members).filter((entry): entry is [string, A] => entry[1] !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

const variableOf = (text: string): readonly [string, string] => {
  const at = text.indexOf("=")
  return [text.slice(0, at), text.slice(at + 1)]
}

const Claims = Schema.Struct({ sub: Subject, voicegate: Schema.optionalKey(VoicegateClaim) })
const decodeClaims = Schema.decodeUnknownResult(Claims, { errors: "all", onExcessProperty: "error" })
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

export const signIdentity = Effect.fnUntraced(function* (
  source: SettingsSource,
  { callSeconds, campaign, expires, limitDay, limitHour, name, sub, variable }: IdentityClaims,
): Effect.fn.Return<SignedIdentity, SettingsInvalid | NotSigned, FileSystem.FileSystem> {
  const { Audience, Issuer, Secrets } = yield* loadIdentityAccess(source)
  const [secret] = Secrets
  if (secret === undefined) {
    return yield* new NotSigned({
      message: "Identity.Secrets: no secret is set. voicegate token identity-secret prints one.",
    })
  }
  const voicegate = given<unknown>({
    campaigns: campaign.length === 0 ? undefined : campaign,
    limits: given({ hour: limitHour, day: limitDay, callSeconds }),
    name,
    variables: variable.length === 0 ? undefined : Object.fromEntries(variable.map(variableOf)),
  })
  const claims = decodeClaims({ sub, ...(voicegate === undefined ? {} : { voicegate }) })
  if (Result.isFailure(claims)) {
    const { issues } = formatIssue(claims.failure.issue)
    const message = issues.map((issue) => `${(issue.path ?? []).map(String).join(".")}: ${issue.message}`).join("\n")
    return yield* new NotSigned({ message })
  }
  const { SignJWT } = yield* Effect.promise(() => import("jose"))
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const until = now + Duration.toSeconds(expires)
  const jti = randomUUID()
  const token = yield* Effect.promise(() => {
    const unsigned = new SignJWT({ ...claims.success }).setProtectedHeader({ alg: "HS256", typ: "JWT" })
    unsigned.setIssuedAt(now).setExpirationTime(until).setJti(jti)
    if (Audience !== undefined) unsigned.setAudience(Audience)
    if (Issuer !== undefined) unsigned.setIssuer(Issuer)
    return unsigned.sign(new TextEncoder().encode(Redacted.value(secret)))
  })
  return token.length > MAX_TOKEN_BYTES
    ? yield* Effect.fail(
        new NotSigned({ message: `The token has ${token.length} bytes, and may have ${MAX_TOKEN_BYTES}.` }),
      )
    : { sub, jti, expires: isoTime(until * 1000), token }
})
