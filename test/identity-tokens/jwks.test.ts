/** Tokens that are signed with a key of `Identity.JwksUrl`, whose server may be down, slow, huge or hostile. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { IdentityTokens } from "../../src/identity-tokens/IdentityTokens.ts"
import { COOLDOWN_MILLIS, keyOf, REFRESH_MILLIS } from "../../src/identity-tokens/jwks.ts"
import { layer } from "../../src/identity-tokens/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { eventually } from "../harness/process.ts"
import { settingsWith } from "../harness/settings.ts"
import { memoryStore, onEveryStore } from "../harness/stores.ts"
import { BEGIN } from "../support/gate.ts"
import { claimsOf, type KeyServer, makePair, SECRET, startKeyServer, token } from "../support/tokens.ts"

const first = makePair("RS256", "first")
const second = makePair("ES256", "second")
const claims = claimsOf("customer-7", { aud: "voicegate" })

const settings = (url: string, more: object = {}) =>
  settingsWith({ Identity: { JwksUrl: url, Audience: "voicegate", ...more } })

type Tokens = IdentityTokens["Service"]

/** A gate's part that reads tokens, apart from that of other gates on the store. */
const gate = (url: string, more: object = {}): Effect.Effect<Tokens, never, Store | Scope.Scope> =>
  Effect.flatMap(Layer.build(Layer.fresh(layer).pipe(Layer.provide(settings(url, more)))), (built) =>
    Effect.provide(IdentityTokens, built),
  )

const verdictOf = ({ verify }: Tokens, given: string) =>
  verify === undefined
    ? Effect.die("no token is read")
    : Effect.map(Effect.result(verify(given)), (result) => {
        if (Result.isSuccess(result)) return result.success.identity.subject
        return "reason" in result.failure ? result.failure.reason : result.failure._tag
      })

/** Waits, in real time, until the server was asked so often and the answer has arrived. */
const read = (server: KeyServer, { keys }: Tokens, times: number, done: (keys: number, problem: string) => boolean) =>
  Effect.promise(() =>
    eventually("the keys are read", () => {
      const state = keys?.()
      return server.asked >= times && state !== undefined && done(state.keys, state.problem)
    }),
  )

const keyServer = (...keys: ReadonlyArray<object>): Effect.Effect<KeyServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => startKeyServer(...keys)),
    (server) => Effect.promise(() => server.close()),
  )

describe("a token of a published key", () => {
  const test = (name: string, body: Effect.Effect<void, unknown, Store | Scope.Scope>): void => {
    it.effect(name, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(BEGIN)
        yield* Effect.scoped(body)
      }).pipe(Effect.provide(memoryStore)),
    )
  }

  test(
    "proves its subject, by the algorithm of its key alone",
    Effect.gen(function* () {
      const pairs = (["RS256", "ES256", "ES384", "EdDSA"] as const).map((alg) => ({ alg, pair: makePair(alg, alg) }))
      const server = yield* keyServer(...pairs.map(({ pair }) => pair.published))
      const one = yield* gate(server.url)
      for (const { alg, pair } of pairs) {
        assert.strictEqual(yield* verdictOf(one, pair.token(claims)), "customer-7", alg)
        for (const other of ["RS256", "ES256", "ES384", "EdDSA", "RS512", "PS256"].filter((each) => each !== alg)) {
          assert.strictEqual(yield* verdictOf(one, pair.token(claims, { alg: other })), "algorithm", `${alg} ${other}`)
        }
      }
      assert.strictEqual(yield* verdictOf(one, first.token(claims, { kid: "RS256" })), "signature")
      assert.strictEqual(server.asked, 1)
    }),
  )

  test(
    "is not proved by a public key that is taken for a secret",
    Effect.gen(function* () {
      const server = yield* keyServer(first.published)
      const one = yield* gate(server.url)
      const both = yield* gate(server.url, { Secrets: [SECRET] })
      const forms = [
        first.publicKey.export({ type: "spki", format: "pem" }),
        first.publicKey.export({ type: "pkcs1", format: "pem" }),
        JSON.stringify(first.published),
        String(first.publicKey.export({ format: "jwk" }).n),
      ]
      for (const secret of forms) {
        const confused = token(claims, { secret, kid: "first" })
        assert.strictEqual(yield* verdictOf(one, confused), "algorithm")
        assert.strictEqual(yield* verdictOf(both, confused), "signature")
      }
      assert.strictEqual(yield* verdictOf(both, token(claims)), "customer-7")
      assert.strictEqual(yield* verdictOf(both, first.token(claims)), "customer-7")
    }),
  )

  test(
    "is not proved by a key that is not published for signatures",
    Effect.gen(function* () {
      const weak = { kty: "RSA", n: "A".repeat(171), e: "AQAB", kid: "weak" }
      const server = yield* keyServer(
        second.published,
        { ...first.published, kid: "for encryption", use: "enc" },
        { ...first.published, kid: "other operations", key_ops: ["encrypt"] },
        { ...first.published, kid: "private", d: "AQAB" },
        { ...first.published, kid: "another algorithm", alg: "RSA-OAEP" },
        { ...first.published, kid: "curve", kty: "EC" },
        { kty: "oct", k: Buffer.from(SECRET).toString("base64url"), kid: "secret", alg: "HS256" },
        weak,
        { kid: "nothing" },
      )
      const one = yield* gate(server.url)
      assert.strictEqual(yield* verdictOf(one, second.token(claims)), "customer-7")
      for (const kid of [
        "for encryption",
        "other operations",
        "private",
        "another algorithm",
        "curve",
        "weak",
        "nothing",
      ]) {
        assert.strictEqual(yield* verdictOf(one, first.token(claims, { kid })), "unknown_key", kid)
      }
      assert.strictEqual(yield* verdictOf(one, token(claims, { kid: "secret" })), "algorithm")
      assert.strictEqual(yield* verdictOf(one, second.token(claims, { kid: undefined })), "customer-7")
    }),
  )

  test(
    "of a new key has the keys read again, once for all such tokens, and not more often than each half minute",
    Effect.gen(function* () {
      const server = yield* keyServer(first.published)
      const one = yield* gate(server.url)
      yield* read(server, one, 1, (keys) => keys === 1)
      server.publish(first.published, second.published)
      assert.strictEqual(yield* verdictOf(one, second.token(claims)), "unknown_key")
      assert.strictEqual(server.asked, 1)
      yield* TestClock.adjust(COOLDOWN_MILLIS)
      const many = yield* Effect.all(
        Array.from({ length: 50 }, () => verdictOf(one, second.token(claims))),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual([...new Set(many)], ["customer-7"])
      assert.strictEqual(server.asked, 2)
      for (let n = 0; n < 200; n++) {
        assert.strictEqual(yield* verdictOf(one, second.token(claims, { kid: `made up ${n}` })), "unknown_key")
      }
      assert.strictEqual(server.asked, 2)
    }),
  )

  for (const [what, answer] of [
    ["is down", () => ({ status: 500, body: "" })],
    ["sends something else", () => ({ body: "<html>" })],
    ["sends no usable key", () => ({ body: '{"keys":[]}' })],
    ["sends too much", () => ({ body: JSON.stringify({ keys: [first.published], more: "x".repeat(70_000) }) })],
    ["sends too many keys", () => ({ body: JSON.stringify({ keys: Array(65).fill(first.published) }) })],
  ] as const) {
    test(
      `is answered 503 while its server ${what} and no key is known, and known keys go on for as long as the settings say`,
      Effect.gen(function* () {
        const server = yield* keyServer(first.published)
        server.answer = answer
        const one = yield* gate(server.url, { JwksStaleHours: 1 })
        yield* read(server, one, 1, (_keys, problem) => problem !== "")
        assert.strictEqual(yield* verdictOf(one, first.token(claims)), "IdentityUnavailable")
        assert.strictEqual(server.asked, 1)
        server.publish(first.published)
        yield* TestClock.adjust(COOLDOWN_MILLIS)
        yield* read(server, one, 2, (keys, problem) => keys === 1 && problem === "")
        server.answer = answer
        yield* TestClock.adjust(REFRESH_MILLIS)
        yield* read(server, one, 3, (_keys, problem) => problem !== "")
        const late = { ...claims, iat: undefined, exp: BEGIN / 1000 + 8000 }
        assert.strictEqual(yield* verdictOf(one, first.token(late)), "customer-7")
        yield* TestClock.setTime(BEGIN + COOLDOWN_MILLIS + 3_600_000 - 1_000)
        assert.strictEqual(yield* verdictOf(one, first.token(late)), "customer-7")
        yield* TestClock.setTime(BEGIN + COOLDOWN_MILLIS + 3_600_000 + 1_000)
        assert.strictEqual(yield* verdictOf(one, first.token(late)), "IdentityUnavailable")
      }),
    )
  }

  test(
    "does not wait for a server that does not answer, unless no key is known, and then for three seconds",
    Effect.gen(function* () {
      const server = yield* keyServer(first.published)
      const one = yield* gate(server.url)
      yield* read(server, one, 1, (keys) => keys === 1)
      server.answer = () => undefined
      yield* TestClock.adjust(REFRESH_MILLIS)
      yield* read(server, one, 2, () => true)
      assert.strictEqual(yield* verdictOf(one, first.token(claims)), "customer-7")
      const other = yield* Effect.forkChild(verdictOf(one, second.token(claims)))
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* Fiber.join(other), "unknown_key")
      assert.include(one.keys?.().problem, "does not answer within 3 seconds")
      assert.notInclude(one.keys?.().problem, "?")
    }),
  )

  describe("on any store", () =>
    onEveryStore((store) => {
      it.effect(
        "is proved on a gate that cannot reach the server, by the keys that another gate on the store has read",
        () =>
          Effect.gen(function* () {
            yield* TestClock.setTime(BEGIN)
            const server = yield* keyServer(first.published)
            const one = yield* gate(server.url)
            const store = yield* Store
            const now = yield* store.now
            const ofNow = first.token(claimsOf("customer-7", { aud: "voicegate" }, Math.floor(now / 1000) * 1000))
            assert.strictEqual(yield* verdictOf(one, ofNow), "customer-7")
            server.answer = () => ({ status: 503, body: "" })
            // what was read is stored when it has answered
            yield* Effect.promise(() =>
              eventually("another gate knows the keys", () =>
                Effect.runPromise(Effect.map(store.get(keyOf(server.url)), (stored) => stored !== undefined)),
              ),
            )
            const started = yield* gate(server.url)
            assert.strictEqual(yield* verdictOf(started, ofNow), "customer-7")
          }).pipe(Effect.scoped, Effect.provide(store)),
      )
    }))
})
