/** The keys of a JWKS (RFC 7517) that may prove who calls: public ones of RS, ES and EdDSA, for signatures. Others are left out. */
import { Option, Schema } from "effect"
import type { CryptoKey, JWK } from "jose"

/** The algorithms that a key may be for, by its type and curve; the first is that of a key which names none. */
const ALGORITHMS: Readonly<Record<string, ReadonlyArray<string>>> = {
  RSA: ["RS256", "RS384", "RS512"],
  "EC P-256": ["ES256"],
  "EC P-384": ["ES384"],
  "EC P-521": ["ES512"],
  "OKP Ed25519": ["EdDSA", "Ed25519"],
}

/** Every algorithm that a key of a JWKS may be for. */
export const PUBLIC_ALGORITHMS: ReadonlySet<string> = new Set(Object.values(ALGORITHMS).flat())

/** The base64url of a modulus of 2048 bits, the least that RFC 7518 §3.3 allows. */
const LEAST_MODULUS_LENGTH = 342
/** A server of keys publishes a few; more are somebody else's. */
const MOST_KEYS = 64

const Key = Schema.Struct({
  kty: Schema.String,
  crv: Schema.optionalKey(Schema.String),
  kid: Schema.optionalKey(Schema.String),
  alg: Schema.optionalKey(Schema.String),
  use: Schema.optionalKey(Schema.String),
  key_ops: Schema.optionalKey(Schema.Array(Schema.String)),
  n: Schema.optionalKey(Schema.String),
  e: Schema.optionalKey(Schema.String),
  x: Schema.optionalKey(Schema.String),
  y: Schema.optionalKey(Schema.String),
  d: Schema.optionalKey(Schema.Unknown),
})
const decodeDocument = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ keys: Schema.Array(Schema.Unknown).check(Schema.isMaxLength(MOST_KEYS)) })),
)
const decodeKey = Schema.decodeUnknownOption(Key)

/** A public key with the one algorithm that it is for. */
export interface PublicKey {
  readonly kid: string | undefined
  readonly alg: string
  readonly key: CryptoKey | Uint8Array
  /** as it was published */
  readonly published: JWK
}

const algorithmOf = ({ alg, crv, kty }: typeof Key.Type): string | undefined => {
  const allowed = ALGORITHMS[kty === "RSA" ? kty : `${kty} ${crv}`] ?? []
  return alg === undefined ? allowed[0] : allowed.find((each) => each === alg)
}

const usable = (given: unknown): { readonly alg: string; readonly jwk: typeof Key.Type } | undefined => {
  const jwk = Option.getOrUndefined(decodeKey(given))
  // a private key that somebody has published is nobody's proof
  if (jwk === undefined || jwk.d !== undefined) return undefined
  if (jwk.use !== undefined && jwk.use !== "sig") return undefined
  if (jwk.key_ops !== undefined && !jwk.key_ops.includes("verify")) return undefined
  if (jwk.kty === "RSA" && (jwk.n ?? "").length < LEAST_MODULUS_LENGTH) return undefined
  const alg = algorithmOf(jwk)
  return alg === undefined ? undefined : { alg, jwk }
}

/** The usable keys of a document; undefined if it is no JWKS. */
export const readKeys = async (
  { importJWK }: Pick<typeof import("jose"), "importJWK">,
  text: string,
): Promise<ReadonlyArray<PublicKey> | undefined> => {
  const document = Option.getOrUndefined(decodeDocument(text))
  if (document === undefined) return undefined
  const keys: Array<PublicKey> = []
  for (const given of document.keys) {
    const found = usable(given)
    if (found === undefined) continue
    const { alg, jwk } = found
    const { crv, e, kid, kty, n, x, y } = jwk
    const published = {
      ...Object.fromEntries(Object.entries({ crv, e, kid, n, x, y }).filter(([, value]) => value !== undefined)),
      kty,
      alg,
    }
    try {
      keys.push({ kid, alg, key: await importJWK(published, alg), published })
    } catch {
      // its numbers are no key
    }
  }
  return keys
}
