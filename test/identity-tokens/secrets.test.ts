/** Tokens that are signed with a secret of `Identity.Secrets`. */

import { createHmac, createPublicKey, generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { IdentityTokens } from "../../src/identity-tokens/IdentityTokens.ts"
import { layer } from "../../src/identity-tokens/layer.ts"
import { settingsWith } from "../harness/settings.ts"
import { memoryStore } from "../harness/stores.ts"
import { BEGIN } from "../support/gate.ts"
import { claimsOf, makePair, SECRET, token, tokenOf } from "../support/tokens.ts"

const OLD = "the-secret-before-of-32-characters"

/** Why a token is refused, or its subject. */
const verdictOf = (given: string) =>
  IdentityTokens.use(({ verify }) =>
    verify === undefined
      ? Effect.die("no token is read")
      : Effect.map(Effect.result(verify(given)), (result) => {
          if (Result.isSuccess(result)) return result.success.identity.subject
          return "reason" in result.failure ? result.failure.reason : result.failure._tag
        }),
  )

const tokens = (Identity: Readonly<Record<string, unknown>>) =>
  layer.pipe(Layer.provide(Layer.merge(memoryStore, settingsWith({ Identity }))))

const verifies = (
  name: string,
  Identity: Readonly<Record<string, unknown>>,
  body: Effect.Effect<void, unknown, IdentityTokens>,
): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      yield* Effect.provide(body, tokens({ Secrets: [SECRET], ...Identity }))
    }),
  )
}

const seconds = BEGIN / 1000

describe("a token of a secret", () => {
  verifies(
    "proves its subject, by any secret of the list",
    { Secrets: [SECRET, OLD] },
    Effect.gen(function* () {
      assert.strictEqual(yield* verdictOf(tokenOf("customer-7")), "customer-7")
      assert.strictEqual(yield* verdictOf(token(claimsOf("customer-7"), { secret: OLD })), "customer-7")
      assert.strictEqual(yield* verdictOf(token(claimsOf("customer-7"), { secret: `${OLD}-else` })), "signature")
    }),
  )

  verifies(
    "says more of its subject in the claim voicegate",
    {},
    Effect.gen(function* () {
      const { verify } = yield* IdentityTokens
      const voicegate = {
        campaigns: ["sales"],
        limits: { hour: 3, day: 9, callSeconds: 600 },
        variables: { plan: "gold" },
        name: "Ada",
      }
      const verified = yield* verify?.(tokenOf("customer-7", { voicegate, jti: "1", iss: "shop" })) ?? Effect.die("off")
      assert.deepStrictEqual(verified, {
        identity: { subject: "customer-7", name: "Ada", limits: voicegate.limits, variables: voicegate.variables },
        campaigns: ["sales"],
        use: "shop\n1",
        until: BEGIN + 600_000,
      })
    }),
  )

  verifies(
    "is refused when it is no token, or says what it must not",
    {},
    Effect.gen(function* () {
      const [header = "", payload = "", signature = ""] = tokenOf("customer-7").split(".")
      for (const malformed of [
        "x",
        "..",
        `${header}.${payload}`,
        `${header}.${payload}.${signature}.x`,
        `${header}.${payload}.${signature}.x.y`,
        token(claimsOf("customer-7"), { alg: 7 }),
        token(claimsOf("customer-7"), { crit: ["exp"] }),
        token(claimsOf("customer-7"), { crit: ["b64"], b64: false }),
        token("text"),
        token({ exp: seconds + 60 }),
        token({ sub: "customer-7" }),
        token({ sub: "customer-7", exp: "tomorrow" }),
        tokenOf(""),
        tokenOf("x".repeat(256)),
        tokenOf("line\nbreak"),
        tokenOf("customer-7", { jti: 7 }),
        tokenOf("customer-7", { nbf: "now" }),
        tokenOf("customer-7", { voicegate: "gold" }),
        tokenOf("customer-7", { voicegate: { limit: { hour: 3 } } }),
        tokenOf("customer-7", { voicegate: { limits: { hourly: 3 } } }),
        tokenOf("customer-7", { voicegate: { limits: { hour: 0 } } }),
        tokenOf("customer-7", { voicegate: { limits: { day: 1.5 } } }),
        tokenOf("customer-7", { voicegate: { limits: { callSeconds: 86_401 } } }),
        tokenOf("customer-7", { voicegate: { variables: { plan: 7 } } }),
        tokenOf("customer-7", { voicegate: { campaigns: "sales" } }),
        tokenOf("customer-7", { filler: "x".repeat(4096) }),
      ]) {
        assert.strictEqual(yield* verdictOf(malformed), "malformed", malformed.slice(0, 300))
      }
    }),
  )

  verifies(
    "is refused by its times, which may be off by half a minute",
    {},
    Effect.gen(function* () {
      const at = (more: object) => verdictOf(token({ ...claimsOf("customer-7"), ...more }))
      assert.strictEqual(yield* at({ exp: seconds - 29 }), "customer-7")
      assert.strictEqual(yield* at({ exp: seconds - 31 }), "expired")
      assert.strictEqual(yield* at({ iat: seconds + 29 }), "customer-7")
      assert.strictEqual(yield* at({ iat: seconds + 31 }), "not_yet_valid")
      assert.strictEqual(yield* at({ nbf: seconds + 29 }), "customer-7")
      assert.strictEqual(yield* at({ nbf: seconds + 31 }), "not_yet_valid")
    }),
  )

  verifies(
    "lives for a day at most, from its signature on or else from now",
    {},
    Effect.gen(function* () {
      const at = (iat: number | undefined, exp: number) =>
        verdictOf(token({ sub: "customer-7", exp, ...(iat === undefined ? {} : { iat }) }))
      assert.strictEqual(yield* at(seconds, seconds + 86_400), "customer-7")
      assert.strictEqual(yield* at(seconds, seconds + 86_401), "malformed")
      assert.strictEqual(yield* at(seconds - 86_400, seconds + 60), "malformed")
      assert.strictEqual(yield* at(undefined, seconds + 86_400), "customer-7")
      assert.strictEqual(yield* at(undefined, seconds + 86_500), "malformed")
      assert.strictEqual(yield* at(undefined, 1e300), "malformed")
    }),
  )

  verifies(
    "is refused for another issuer or audience, where the settings name one",
    { Issuer: "https://shop.example", Audience: "voicegate" },
    Effect.gen(function* () {
      const of = (more: Readonly<Record<string, unknown>>) =>
        verdictOf(tokenOf("customer-7", { iss: "https://shop.example", aud: "voicegate", ...more }))
      assert.strictEqual(yield* of({}), "customer-7")
      assert.strictEqual(yield* of({ aud: ["other", "voicegate"] }), "customer-7")
      assert.strictEqual(yield* of({ aud: "other" }), "audience")
      assert.strictEqual(yield* of({ aud: undefined }), "audience")
      assert.strictEqual(yield* of({ aud: [] }), "audience")
      assert.strictEqual(yield* of({ iss: "https://evil.example" }), "issuer")
      assert.strictEqual(yield* of({ iss: undefined }), "issuer")
    }),
  )

  verifies(
    "is refused with another algorithm, and with none",
    {},
    Effect.gen(function* () {
      const [, payload = ""] = tokenOf("customer-7").split(".")
      const none = Buffer.from('{"alg":"none"}').toString("base64url")
      assert.strictEqual(yield* verdictOf(`${none}.${payload}.`), "algorithm")
      for (const alg of ["none", "None", "HS512", "HS384", "RS256", "ES256", "EdDSA", "dir", "__proto__", ""]) {
        assert.strictEqual(yield* verdictOf(token(claimsOf("customer-7"), { alg })), "algorithm", alg)
      }
      assert.strictEqual(yield* verdictOf(makePair("RS256", "1").token(claimsOf("customer-7"))), "algorithm")
    }),
  )

  verifies(
    "is not proved by what the header says of its key",
    {},
    Effect.gen(function* () {
      const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
      const jwk = createPublicKey(privateKey).export({ format: "jwk" })
      const pem = publicKey.export({ type: "spki", format: "pem" })
      for (const header of [
        { jwk },
        { jku: "http://127.0.0.1:9/" },
        { x5u: "http://127.0.0.1:9/" },
        { kid: "../../etc" },
      ]) {
        assert.strictEqual(yield* verdictOf(token(claimsOf("customer-7"), { secret: pem, ...header })), "signature")
      }
      const [header = "", payload = ""] = tokenOf("customer-7").split(".")
      const other = createHmac("sha256", SECRET).update(`${header}.${payload} `).digest("base64url")
      assert.strictEqual(yield* verdictOf(`${header}.${payload}.${other}`), "signature")
      assert.strictEqual(yield* verdictOf(`${header}.${payload}.`), "signature")
    }),
  )

  it.effect("is not read where the settings have no key", () =>
    Effect.gen(function* () {
      const { keys, verify } = yield* IdentityTokens
      assert.isUndefined(verify)
      assert.isUndefined(keys)
    }).pipe(Effect.provide(tokens({}))),
  )
})
