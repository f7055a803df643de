/** The outbox of webhooks and its delivery, on both databases. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as Services from "../../src/platform/services.ts"
import { makeVaultKey } from "../../src/platform/Vault.ts"
import { WebCampaigns } from "../../src/platform/WebCampaigns.ts"
import {
  CLAIM_MILLIS,
  FIRST_RETRY_MILLIS,
  pauseAfter,
  RETRY_PERIOD_MILLIS,
  Webhooks,
} from "../../src/platform/Webhooks.ts"
import { layer as deliver } from "../../src/platform/webhooks/deliver.ts"
import { sign } from "../../src/platform/webhooks/sign.ts"
import { onEachEngine, servicesOf } from "./engines.ts"
import { prepare, until } from "./support.ts"

const signingSecret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
const target = {
  url: "http://gate.example/api/webhook/session-ended",
  headers: { "X-Api-Token": Redacted.make("t0ken-of-the-receiver") },
  signingSecret,
}

/** A receiver that answers with this status; 0 breaks, undefined never answers. */
const receiver = (answer: () => number | undefined) => {
  const requests: Array<HttpClientRequest.HttpClientRequest> = []
  const client = HttpClient.make((request) =>
    Effect.gen(function* () {
      requests.push(request)
      const status = answer()
      if (status === undefined) return yield* Effect.never
      if (status === 0) {
        const reason = new HttpClientError.TransportError({ request })
        return yield* new HttpClientError.HttpClientError({ reason })
      }
      return HttpClientResponse.fromWeb(request, new Response("", { status }))
    }),
  )
  return { requests, layer: Layer.succeed(HttpClient.HttpClient, client) }
}

const bodyOf = (request: HttpClientRequest.HttpClientRequest | undefined) =>
  request?.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : undefined
const idOf = (request: HttpClientRequest.HttpClientRequest | undefined) => request?.headers["webhook-id"]

onEachEngine("the outbox", (engine) => {
  const started = Effect.gen(function* () {
    const database = yield* engine.database
    const context = yield* Layer.build(Layer.fresh(servicesOf(database)))
    yield* Effect.provideContext(prepare(target), context)
    const webhooks = Context.get(context, Webhooks)
    const send = (body: string) =>
      webhooks.enqueue({ userId: "u1", businessId: "b1", webCampaignId: "c1", webSessionId: "s1", body })
    const states = Effect.map(webhooks.list("b1", {}), ({ items }) => items.map(({ state }) => state))
    return { context, database, webhooks, send, states }
  })

  it.effect("delivers with the custom headers, an id, the time and the signature of the exact body", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_999)
      const { context, send, webhooks } = yield* started
      const { requests, layer } = receiver(() => 200)
      yield* Layer.build(deliver.pipe(Layer.provide(layer), Layer.provide(Layer.succeedContext(context))))
      yield* send('{"a":1}')
      yield* until(() => requests.length === 1)
      const [request] = requests
      const id = idOf(request) ?? ""
      assert.match(id, /^msg_[0-9a-f-]{36}$/)
      assert.strictEqual(request?.url, target.url)
      assert.strictEqual(request?.headers["x-api-token"], "t0ken-of-the-receiver")
      assert.strictEqual(request?.headers["content-type"], "application/json")
      assert.strictEqual(request?.headers["webhook-timestamp"], "1700000000")
      assert.strictEqual(request?.headers["webhook-signature"], sign(signingSecret, id, 1_700_000_000, '{"a":1}'))
      assert.strictEqual(bodyOf(request), '{"a":1}')
      const [delivery] = (yield* webhooks.list("b1", {})).items
      assert.deepInclude(delivery, { id, attempts: 1 })
    }),
  )

  it.effect("retries a failed delivery with backoff and the same id, and gives it up after a day", () =>
    Effect.gen(function* () {
      const { send, states, webhooks } = yield* started
      yield* send("{}")
      let now = 0
      let tries = 0
      const ids = new Set<string>()
      for (;;) {
        const [claimed] = yield* webhooks.claim(10)
        if (claimed === undefined) break
        tries++
        ids.add(claimed.id)
        assert.strictEqual(claimed.attempts, tries)
        assert.lengthOf(yield* webhooks.claim(10), 0)
        const state = yield* webhooks.settle(claimed, false, "HTTP 503")
        if (state === "given_up") break
        yield* TestClock.setTime(now + pauseAfter(tries) - 1)
        assert.lengthOf(yield* webhooks.claim(10), 0)
        now += pauseAfter(tries)
        yield* TestClock.setTime(now)
      }
      assert.strictEqual(pauseAfter(1), FIRST_RETRY_MILLIS)
      assert.strictEqual(ids.size, 1)
      assert.isAtLeast(now, RETRY_PERIOD_MILLIS - 60 * 60_000)
      assert.isAtMost(now, RETRY_PERIOD_MILLIS)
      assert.isAtMost(tries, 40)
      assert.deepStrictEqual(yield* states, ["given_up"])
    }),
  )

  it.effect("gives each message to one process, and to another when that one has died", () =>
    Effect.gen(function* () {
      const { database, send, states, webhooks } = yield* started
      const other = Context.get(yield* Layer.build(Layer.fresh(servicesOf(database))), Webhooks)
      for (let i = 0; i < 20; i++) yield* send(String(i))
      const claims = yield* Effect.all(
        [webhooks, other, webhooks, other].map((on) => on.claim(10)),
        { concurrency: "unbounded" },
      )
      const ids = claims.flat().map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.lengthOf([...ids, ...(yield* webhooks.claim(100))], 20)
      // They are never settled: their process died.
      yield* TestClock.setTime(CLAIM_MILLIS)
      const again = yield* other.claim(100)
      assert.lengthOf(again, 20)
      const [one] = again
      if (one === undefined) return assert.fail("there are twenty")
      assert.strictEqual(one.attempts, 2)
      assert.strictEqual(yield* other.settle(one, true, "HTTP 200"), "delivered")
      // A late failure of the first attempt changes nothing.
      yield* webhooks.settle({ ...one, attempts: 1 }, false, "no answer")
      assert.strictEqual((yield* states).filter((state) => state === "delivered").length, 1)
    }),
  )

  it.effect("does not delay other receivers because of a slow one", () =>
    Effect.gen(function* () {
      const { context, send } = yield* started
      const { requests, layer } = receiver(() => (requests.length === 1 ? undefined : 200))
      yield* Layer.build(deliver.pipe(Layer.provide(layer), Layer.provide(Layer.succeedContext(context))))
      yield* send("1")
      yield* until(() => requests.length === 1)
      yield* send("2")
      yield* until(() => requests.length === 2)
      assert.deepStrictEqual(requests.map(bodyOf), ["1", "2"])
      assert.notStrictEqual(idOf(requests[0]), idOf(requests[1]))
    }),
  )

  it.effect("seals the receiver's headers and secret: the data tells neither, and another key opens nothing", () =>
    Effect.gen(function* () {
      const { context, database } = yield* started
      const dump = yield* Effect.promise(() => engine.dump(database))
      assert.include(dump, "gate.example")
      assert.notInclude(dump, "t0ken-of-the-receiver")
      assert.notInclude(dump, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
      const known = yield* Context.get(context, WebCampaigns).targetOf("c1")
      assert.deepStrictEqual(known, target)
      const wrong = Services.layer({ database, vaultKey: makeVaultKey(), privateWebhooks: true })
      assert.strictEqual((yield* Effect.flip(Layer.build(Layer.fresh(wrong))))._tag, "VaultKeyInvalid")
    }),
  )
})
