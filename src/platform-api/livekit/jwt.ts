/**
 * JSON Web Tokens with HMAC SHA-256 (RFC 7515, RFC 7519), the only algorithm that is signed and accepted here. `effect/crypto` has no
 * synchronous HMAC, and a library for JWT brings twenty algorithms that a verifier must then exclude.
 */
import { Option, Schema } from "effect"
import { equal } from "../../lib/equal.ts"
import { hmacSha256 } from "../shared/digests.ts"

/** How far the clocks of signer and verifier may differ (s). */
const LEEWAY_SECONDS = 60
/** A longer token was not made for us. */
const MAX_LENGTH = 16_384

const Header = Schema.fromJsonString(Schema.Struct({ alg: Schema.Literal("HS256") }))
const Claims = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
const decodeHeader = Schema.decodeUnknownOption(Header)
const decodeClaims = Schema.decodeUnknownOption(Claims)

export type JwtClaims = Readonly<Record<string, unknown>>

const encode = (value: JwtClaims): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const decode = (part: string): string => Buffer.from(part, "base64url").toString("utf8")

export const signJwt = (claims: JwtClaims, secret: string): string => {
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode(claims)}`
  return `${signed}.${hmacSha256(secret, signed, "base64url")}`
}

/** The claims of a token that the secret has signed, that has an end, and that is valid at `now` (ms); undefined of any other. */
export const verifyJwt = (token: string, secret: string, now: number): JwtClaims | undefined => {
  const parts = token.split(".")
  const [header = "", payload = "", signature = ""] = parts
  if (token.length > MAX_LENGTH || parts.length !== 3) return undefined
  if (Option.isNone(decodeHeader(decode(header)))) return undefined
  if (!equal(signature, hmacSha256(secret, `${header}.${payload}`, "base64url"))) return undefined
  const claims = Option.getOrUndefined(decodeClaims(decode(payload)))
  const seconds = now / 1000
  if (typeof claims?.exp !== "number" || claims.exp + LEEWAY_SECONDS <= seconds) return undefined
  return typeof claims.nbf === "number" && claims.nbf - LEEWAY_SECONDS > seconds ? undefined : claims
}
