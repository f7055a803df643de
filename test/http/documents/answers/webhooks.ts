/** Answers to vendors' webhooks. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_BODY_BYTES } from "../../../../src/http/answers/answer.ts"
import { REFUSED_WEBHOOKS_PER_MINUTE } from "../../../../src/http/webhooks/limits.ts"
import { session } from "../../../support/gate.ts"
import { servedTest } from "../../../support/gate-server.ts"
import { shop, VENDOR_WEBHOOK } from "../../support.ts"
import { codeOf, type OpenApiCheck } from "../openapi-check.ts"

export const webhooks = ({ check }: OpenApiCheck): void => {
  servedTest("the document says all of a vendor's webhook", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask, request } = yield* check(port)
      yield* request()
      const receive = (verdict: typeof world.webhook) => {
        world.webhook = verdict
        return ask("POST", VENDOR_WEBHOOK, { body: {}, headers: { "content-type": "application/webhook+json" } })
      }
      assert.deepStrictEqual(codeOf(yield* receive({ _tag: "unexpected" })), [404, "not_found"])
      const refused = yield* receive({ _tag: "refused", reason: "The signature is wrong." })
      assert.deepStrictEqual(codeOf(refused), [401, "webhook_unauthorized"])
      assert.include(refused.body.message, "The signature is wrong.")
      assert.deepInclude(yield* receive({ _tag: "ignored", because: "other_event" }), {
        status: 200,
        body: { released: false },
      })
      const ended = { _tag: "ended", sessions: [session(1).sessionIds] } as const
      assert.deepInclude(yield* receive(ended), { status: 200, body: { released: true } })
      assert.deepInclude(yield* receive(ended), { status: 200, body: { released: false } })
      world.webhookRefusal = { _tag: "refused", reason: "The signature is missing." }
      assert.deepStrictEqual(codeOf(yield* receive(ended)), [401, "webhook_unauthorized"])
    }),
  )

  servedTest("the document says all of a vendor's webhook after many refused ones", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask } = yield* check(port)
      world.webhook = { _tag: "refused", reason: "The signature is wrong." }
      const receive = ask("POST", VENDOR_WEBHOOK, { body: {} })
      for (let n = 0; n < REFUSED_WEBHOOKS_PER_MINUTE; n++) yield* receive
      assert.deepStrictEqual(codeOf(yield* receive), [429, "rate_limited"])
    }),
  )

  servedTest("the document says all of a vendor's long webhook", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask } = yield* check(port)
      world.webhook = { _tag: "ignored", because: "other_event" }
      // with the transcript of a long call
      const long = yield* ask("POST", VENDOR_WEBHOOK, { body: { transcript: "x".repeat(MAX_BODY_BYTES * 4) } })
      assert.deepInclude(long, { status: 200 })
    }),
  )
}
