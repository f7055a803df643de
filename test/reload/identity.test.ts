/** A reload that sets, rotates and removes the secrets by which tokens are checked. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { type Json, platform, TOKEN, valid } from "../settings/support.ts"
import { outcomeOf } from "../support/gate.ts"
import { claimsOf, SECRET, token, tokenOf } from "../support/tokens.ts"
import { reload, withGate } from "./support.ts"

const NEW = `${SECRET}-rotated`
const load = (Identity: Json) =>
  valid({
    VoiceAiPlatform: { ...platform, MaxConcurrency: 9 },
    Security: { WebhookApiToken: TOKEN },
    ...(Object.keys(Identity).length === 0 ? {} : { Identity }),
  })
const ask = (identity?: string) =>
  Gatekeeper.use((gate) =>
    Effect.map(
      outcomeOf(gate.request(identity === undefined ? {} : { identity }, { address: "192.0.2.1" })),
      (outcome) => ("reason" in outcome ? outcome.reason : outcome._tag),
    ),
  )

describe("a reload of identity", () => {
  it.effect(
    "requires tokens from now on, accepts both secrets while one is rotated, and reads none when it is off",
    () =>
      withGate(load({}), ({ next }) =>
        Effect.gen(function* () {
          const byNew = token(claimsOf("ada"), { secret: NEW })
          assert.strictEqual(yield* ask("nonsense"), "Started")
          yield* next(load({ Secrets: [SECRET], Required: true }))
          yield* reload
          assert.strictEqual(yield* ask(), "IdentityRequired")
          assert.strictEqual(yield* ask(tokenOf("ada")), "Started")
          assert.strictEqual(yield* ask(byNew), "signature")
          yield* next(load({ Secrets: [NEW, SECRET], Required: true }))
          yield* reload
          assert.strictEqual(yield* ask(tokenOf("ada")), "Started")
          assert.strictEqual(yield* ask(byNew), "Started")
          yield* next(load({ Secrets: [NEW] }))
          yield* reload
          assert.strictEqual(yield* ask(tokenOf("ada")), "signature")
          assert.strictEqual(yield* ask(), "Started")
          yield* next(load({}))
          yield* reload
          assert.strictEqual(yield* ask("nonsense"), "Started")
        }),
      ),
  )

  it.effect("does not let a token be used twice", () =>
    withGate(load({ Secrets: [SECRET], SingleUse: true }), ({ next, starts }) =>
      Effect.gen(function* () {
        const given = tokenOf("ada", { jti: "1" })
        assert.strictEqual(yield* ask(given), "Started")
        yield* next(load({ Secrets: [NEW, SECRET], SingleUse: true }))
        yield* reload
        starts.status = 500
        // a new start would fail: the session is answered again
        assert.strictEqual(yield* ask(given), "Started")
      }),
    ),
  )
})
