/**
 * Checks one token: its form, the key, the algorithm, the signature, then what it says. A secret verifies HS256 alone, and a public key its
 * own algorithm alone, so the header of a token chooses nothing but which of the gate's keys it is tried with.
 */
import { createSecretKey } from "node:crypto"
import { DateTime, Effect, Predicate } from "effect"
import { MAX_TOKEN_BYTES } from "../protocol/identity.ts"
import {
  type IdentityReason,
  type IdentityRefused,
  type IdentityUnavailable,
  identityRefused,
  identityUnavailable,
} from "../protocol/refusals.ts"
import type { Store } from "../store/Store.ts"
import { timeOfDay } from "../store/time-of-day.ts"
import { tokenOf } from "./claims.ts"
import { CLOCK_TOLERANCE_MILLIS, type IdentityTokens, type VerifiedToken } from "./IdentityTokens.ts"
import type { Jwks } from "./jwks.ts"
import { PUBLIC_ALGORITHMS } from "./public-keys.ts"

type Jose = Pick<typeof import("jose"), "decodeProtectedHeader" | "jwtVerify">

interface Trusted {
  readonly secrets: ReadonlyArray<Uint8Array>
  readonly jwks: Jwks | undefined
  readonly Issuer: string | undefined
  readonly Audience: string | undefined
}

const HMAC = "HS256"

/** Why jose refuses a token whose key is known; undefined for an error that is none of a token. */
const reasonOf = (error: unknown): IdentityReason | undefined => {
  if (!Predicate.hasProperty(error, "code") || typeof error.code !== "string") return undefined
  switch (error.code) {
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "signature"
    case "ERR_JWT_EXPIRED":
      return "expired"
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return "algorithm"
    case "ERR_JWT_CLAIM_VALIDATION_FAILED": {
      const claim = Predicate.hasProperty(error, "claim") ? error.claim : undefined
      const reason = Predicate.hasProperty(error, "reason") ? error.reason : undefined
      if (claim === "aud") return "audience"
      if (claim === "iss") return "issuer"
      return claim === "nbf" && reason === "check_failed" ? "not_yet_valid" : "malformed"
    }
    default:
      return error.code.startsWith("ERR_J") ? "malformed" : undefined
  }
}

/** The header of a token, of which nothing is proved; undefined if it is none. */
const headerOf = ({ decodeProtectedHeader }: Jose, token: string) => {
  if (token.length > MAX_TOKEN_BYTES) return undefined
  try {
    const { alg, kid } = decodeProtectedHeader(token)
    return typeof alg === "string" && (kid === undefined || typeof kid === "string") ? { alg, kid } : undefined
  } catch {
    return undefined
  }
}

export const verifierOf = (
  jose: Jose,
  store: Store["Service"],
  { Audience, Issuer, jwks, secrets }: Trusted,
): Effect.Effect<NonNullable<IdentityTokens["Service"]["verify"]>> =>
  Effect.sync(() => {
    const secretKeys = secrets.map((secret) => createSecretKey(secret))
    const refuse = (reason: IdentityReason) => Effect.fail(identityRefused(reason))

    type Key = Parameters<typeof jose.jwtVerify>[1]
    /** The keys that may have signed it. */
    const keysFor = (
      alg: string,
      kid: string | undefined,
    ): Effect.Effect<ReadonlyArray<Key>, IdentityRefused | IdentityUnavailable> => {
      if (alg === HMAC && secretKeys.length > 0) return Effect.succeed(secretKeys)
      if (jwks === undefined || !PUBLIC_ALGORITHMS.has(alg)) return refuse("algorithm")
      return Effect.flatMap(jwks.find(kid), (found): ReturnType<typeof keysFor> => {
        switch (found._tag) {
          case "unavailable":
            return Effect.fail(identityUnavailable(found.seconds))
          case "unknown":
            return refuse("unknown_key")
          case "keys": {
            const keys = found.keys.filter((each) => each.alg === alg).map(({ key }) => key)
            return keys.length === 0 ? refuse("algorithm") : Effect.succeed(keys)
          }
        }
      })
    }

    const options = {
      clockTolerance: CLOCK_TOLERANCE_MILLIS / 1000,
      requiredClaims: ["sub", "exp"],
      ...(Issuer === undefined ? {} : { issuer: Issuer }),
      ...(Audience === undefined ? {} : { audience: Audience }),
    }
    const verifyBy = (
      token: string,
      key: Key,
      alg: string,
      now: number,
    ): Effect.Effect<VerifiedToken, IdentityRefused> =>
      Effect.flatMap(
        // an error that is none of a token is a defect
        Effect.promise(() =>
          jose
            .jwtVerify(token, key, {
              ...options,
              algorithms: [alg],
              currentDate: DateTime.toDateUtc(DateTime.makeUnsafe(now)),
            })
            .then(
              ({ payload }) => tokenOf(payload, now),
              (error: unknown) => {
                const reason = reasonOf(error)
                if (reason === undefined) throw error
                return reason
              },
            ),
        ),
        (verified) => (typeof verified === "string" ? refuse(verified) : Effect.succeed(verified)),
      )

    return (token) =>
      Effect.gen(function* () {
        const header = headerOf(jose, token)
        if (header === undefined) return yield* refuse("malformed")
        const keys = yield* keysFor(header.alg, header.kid)
        const now = yield* timeOfDay(store)
        const [first, ...others] = keys
        if (first === undefined) return yield* refuse("unknown_key")
        // while a secret is rotated, either may have signed it
        return yield* others.reduce(
          (tried, key) =>
            Effect.catch(tried, (error) =>
              error.reason === "signature" ? verifyBy(token, key, header.alg, now) : Effect.fail(error),
            ),
          verifyBy(token, first, header.alg, now),
        )
      })
  })
