/**
 * Tokens that a gate refuses, each with its reason: nothing is spent for them that others need, neither a lookup of an address nor a unit of a limit
 * nor a place, no start is tried, and those with a good token are served meanwhile.
 */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { COOLDOWN_MILLIS } from "../../../src/identity-tokens/jwks.ts"
import { eventually } from "../../harness/process.ts"
import {
  BEGIN,
  begin,
  caller,
  figures,
  type GateServices,
  gateLayer,
  hangUp,
  makeWorld,
  remaining,
  type World,
} from "../../support/gate.ts"
import { askBy, claimsOf, type KeyServer, makePair, SECRET, startKeyServer, token } from "../../support/tokens.ts"

const first = makePair("RS256", "first")
const unknown = makePair("ES256", "unknown")
const forged = makePair("RS256", "forged")
let tokens = 0
/** Claims that the gate accepts, of a token that was not used yet. */
const claims = (more: Readonly<Record<string, unknown>> = {}) =>
  claimsOf("ada", { aud: "voicegate", iss: "https://shop.example", jti: String(++tokens), ...more })

const none = (): string => {
  const [, payload = ""] = token(claims()).split(".")
  return `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`
}
const publicKey = first.publicKey.export({ type: "spki", format: "pem" })

const refusedFor = (reason: string) => ({ _tag: "IdentityRefused", reason })
const REFUSED: ReadonlyArray<readonly [what: string, given: () => string, expected: object]> = [
  ["no token where one is required", () => "", { _tag: "IdentityRequired" }],
  ["no token at all", () => "nonsense", refusedFor("malformed")],
  ["another audience", () => token(claims({ aud: "others" })), refusedFor("audience")],
  ["another issuer", () => token(claims({ iss: "https://evil.example" })), refusedFor("issuer")],
  ["one that has expired", () => token(claims({ iat: undefined, exp: BEGIN / 1000 - 31 })), refusedFor("expired")],
  ["one of the future", () => token(claims({ nbf: BEGIN / 1000 + 31 })), refusedFor("not_yet_valid")],
  ["another algorithm than the key's", () => first.token(claims(), { alg: "PS256" }), refusedFor("algorithm")],
  ["the algorithm none, without a signature", none, refusedFor("algorithm")],
  ["the public key as a secret", () => token(claims(), { secret: publicKey, kid: "first" }), refusedFor("signature")],
  ["another key under a known name", () => forged.token(claims(), { kid: "first" }), refusedFor("signature")],
  ["a key that nobody publishes", () => unknown.token(claims()), refusedFor("unknown_key")],
  ["another campaign", () => token(claims({ voicegate: { campaigns: ["sales"] } })), refusedFor("campaign")],
  ["no id where it is used once", () => token(claims({ jti: undefined })), refusedFor("malformed")],
]

type Body = (world: World, server: KeyServer) => Effect.Effect<void, unknown, GateServices | Scope.Scope>

/** A gate that requires tokens, of a secret or of a published key, and takes each once; its campaign `open` requires none. */
const test = (name: string, body: Body, answer?: KeyServer["answer"]): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => startKeyServer(first.published)),
        (started) => Effect.promise(() => started.close()),
      )
      if (answer !== undefined) server.answer = answer
      const world = makeWorld()
      const Identity = {
        ...{ Secrets: [SECRET], JwksUrl: server.url, Audience: "voicegate", Issuer: "https://shop.example" },
        ...{ Required: true, SingleUse: true },
      }
      const given = {
        Identity,
        VoiceAiPlatform: {
          MaxConcurrency: 3,
          Campaigns: { open: { WebCampaignId: "open", MaxConcurrency: 1, IdentityRequired: false } },
        },
      }
      yield* Effect.provide(body(world, server), gateLayer(world, given))
    }).pipe(Effect.scoped),
  )
}

const isAsked = (server: KeyServer, times: number) =>
  Effect.promise(() => eventually("the server is asked", () => server.asked >= times))

describe("a refused token", () => {
  test("costs others nothing, whatever is wrong with it", (world, server) =>
    Effect.gen(function* () {
      for (const [what, given, expected] of REFUSED) {
        for (const _ of [1, 2, 3]) expect(yield* askBy(given(), caller(1)), what).toMatchObject(expected)
      }
      expect([world.lookedUp, world.initiated, server.asked]).toEqual([[], [], 1])
      expect(yield* figures(3)).toEqual({ leases: 0, waiting: 0, live: 0 })
      assert.strictEqual(yield* remaining(caller(1)), 20)
      // others are served, and this address too
      yield* begin(caller(1), { identity: token(claims()) })
      yield* begin(caller(2), { identity: first.token(claims()) })
      yield* begin(caller(1), { campaignId: "open" })
      expect([world.lookedUp.length, world.initiated.length]).toEqual([3, 3])
    }))

  test("that was used before costs others nothing either", (world) =>
    Effect.gen(function* () {
      const given = token(claims())
      const { sessionId } = yield* begin(caller(1), { identity: given })
      yield* hangUp(sessionId)
      yield* TestClock.adjust("5 seconds")
      for (const n of [1, 2, 3]) expect(yield* askBy(given, caller(n))).toMatchObject(refusedFor("replayed"))
      const waiting = token(claims({ sub: "bob" }))
      expect((yield* askBy(waiting, caller(4)))._tag).toBe("Started")
      expect(yield* askBy(waiting, caller(5), { campaignId: "open" })).toMatchObject(refusedFor("replayed"))
      expect([world.lookedUp.length, world.initiated.length]).toEqual([2, 2])
      expect(yield* figures(3)).toEqual({ leases: 1, waiting: 0, live: 1 })
    }))
})

describe("a token whose key cannot be read", () => {
  const UNREADABLE: ReadonlyArray<readonly [what: string, answer: NonNullable<KeyServer["answer"]>]> = [
    ["is down", () => ({ status: 503, body: "" })],
    ["does not answer", () => undefined],
    ["sends too much", () => ({ body: JSON.stringify({ keys: [first.published], more: "x".repeat(70_000) }) })],
    ["sends something else", () => ({ body: "<html>" })],
  ]
  for (const [what, answer] of UNREADABLE) {
    test(
      `is answered 503 while the server ${what}: others are served, the server is asked once, and nothing is spent`,
      (world, server) =>
        Effect.gen(function* () {
          yield* isAsked(server, 1)
          const asked = yield* Effect.forkChild(askBy(first.token(claims()), caller(1)))
          while (asked.pollUnsafe() === undefined) {
            yield* TestClock.adjust("1 second")
            yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
          }
          const unavailable = { _tag: "IdentityUnavailable" }
          expect(yield* Fiber.join(asked)).toMatchObject(unavailable)
          for (const n of [1, 2, 3]) expect(yield* askBy(first.token(claims()), caller(n))).toMatchObject(unavailable)
          expect([world.lookedUp, world.initiated, server.asked]).toEqual([[], [], 1])
          assert.strictEqual(yield* remaining(caller(1)), 20)
          yield* begin(caller(1), { identity: token(claims()) })
          yield* begin(caller(2), { campaignId: "open" })
          // and it is read as soon as it may be asked again
          server.publish(first.published)
          yield* TestClock.adjust(COOLDOWN_MILLIS)
          yield* isAsked(server, 2)
          yield* begin(caller(3), { identity: first.token(claims()) })
        }),
      answer,
    )
  }
})
