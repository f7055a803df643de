/** The outbox of webhooks and its delivery, on both databases. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { sign } from "../../../src/lib/standard-webhooks.ts"
import { Businesses } from "../../../src/platform/businesses/Businesses.ts"
import { WebCampaigns } from "../../../src/platform/businesses/WebCampaigns.ts"
import { makeVaultKey } from "../../../src/platform/data/Vault.ts"
import type { WebhookTarget } from "../../../src/platform/model.ts"
import * as Services from "../../../src/platform/services.ts"
import { MAX_ATTEMPTS_KEPT } from "../../../src/platform/webhooks/attempts.ts"
import * as Deliveries from "../../../src/platform/webhooks/Deliveries.ts"
import { layer as deliver } from "../../../src/platform/webhooks/deliver.ts"
import { client } from "../../../src/platform/webhooks/rules.ts"
import {
  CLAIM_MILLIS,
  FIRST_RETRY_MILLIS,
  pauseAfter,
  RETRY_PERIOD_MILLIS,
  Webhooks,
} from "../../../src/platform/webhooks/Webhooks.ts"
import { onEachEngine, servicesOf } from "../engines.ts"
import { prepare, until } from "../support.ts"

const signingSecret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
const target = {
  url: "http://gate.example/api/webhook/session-ended",
  headers: { "X-Api-Token": Redacted.make("t0ken-of-the-receiver") },
  signingSecret,
}

/** A receiver that answers with this status and these headers; 0 breaks, undefined never answers. */
const receiver = (
  answer: () => number | undefined,
  body: string | ((request: HttpClientRequest.HttpClientRequest) => string) = "",
  headers: () => Record<string, string> = () => ({}),
) => {
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
      return HttpClientResponse.fromWeb(
        request,
        new Response(typeof body === "string" ? body : body(request), { status, headers: headers() }),
      )
    }),
  )
  return { requests, layer: Layer.succeed(HttpClient.HttpClient, client) }
}

const bodyOf = (request: HttpClientRequest.HttpClientRequest | undefined) =>
  request?.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : undefined
const idOf = (request: HttpClientRequest.HttpClientRequest | undefined) => request?.headers["webhook-id"]

onEachEngine("the outbox", (engine) => {
  const startedWith = Effect.fnUntraced(function* (receives: WebhookTarget) {
    const database = yield* engine.database
    const context = yield* Layer.build(Layer.fresh(servicesOf(database)))
    yield* Effect.provideContext(prepare(receives), context)
    const webhooks = Context.get(context, Webhooks)
    const send = (body: string) =>
      webhooks.enqueue({ userId: "u1", businessId: "b1", webCampaignId: "c1", webSessionId: "s1", body })
    const states = Effect.map(webhooks.list("b1", {}), ({ items }) => items.map(({ state }) => state))
    return { context, database, webhooks, send, states }
  })
  const started = startedWith(target)

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
      assert.strictEqual(
        request?.headers["webhook-signature"],
        sign(Redacted.value(signingSecret), id, "1700000000", '{"a":1}'),
      )
      assert.strictEqual(bodyOf(request), '{"a":1}')
      const [delivery] = (yield* webhooks.list("b1", {})).items
      assert.deepInclude(delivery, { id, attempts: 1 })
    }),
  )

  it.effect("keeps what was sent and answered, without a secret, not even one that the answer repeats", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_000)
      const { context, database, send, webhooks } = yield* started
      const echo = (request: HttpClientRequest.HttpClientRequest) =>
        `\u0000got ${request.headers["x-api-token"]} for ${Redacted.value(signingSecret)} ${"x".repeat(5_000)}`
      const { requests, layer } = receiver(() => 503, echo)
      const deliveries = Context.get(
        yield* Layer.build(Deliveries.layer.pipe(Layer.provide(Layer.succeedContext(context)))),
        Deliveries.Deliveries,
      )
      yield* Layer.build(deliver.pipe(Layer.provide(layer), Layer.provide(Layer.succeedContext(context))))
      yield* send('{"a":1}')
      yield* until(() => requests.length === 1)
      const [{ id = "" } = {}] = (yield* webhooks.list("b1", {})).items
      // the answer is read and stored after the request was seen
      const kept = yield* Effect.eventually(
        Effect.gen(function* () {
          const found = yield* deliveries.find("u1", id)
          return yield* found.log.length === 1 ? Effect.succeed(found) : Effect.fail("not yet")
        }),
      )
      const [attempt] = kept.log
      assert.strictEqual(kept.body, '{"a":1}')
      assert.deepInclude(attempt, { number: 1, at: 1_700_000_000_000, url: target.url, status: 503, error: null })
      assert.deepStrictEqual(attempt?.headers, [
        ["X-Api-Token", "••••••••"],
        ["content-type", "application/json"],
        ["webhook-id", id],
        ["webhook-timestamp", "1700000000"],
        ["webhook-signature", "••••••••"],
      ])
      assert.match(attempt?.answer ?? "", /^\ufffdgot •{8} for •{8} x+$/)
      assert.isTrue(attempt?.truncated)
      assert.strictEqual((yield* Effect.flip(deliveries.find("u2", id)))._tag, "Refused")
      const dump = yield* Effect.promise(() => engine.dump(database))
      assert.notInclude(dump, "t0ken-of-the-receiver")
      assert.notInclude(dump, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    }),
  )

  it.effect("is not held up by a user whose receiver never answers, and who sends many failed messages again", () =>
    Effect.gen(function* () {
      const { context, send, webhooks } = yield* started
      const business = yield* Effect.provideContext(
        Effect.flatMap(Effect.service(Businesses), (businesses) => businesses.find("u2", "b3")),
        context,
      )
      const other = { url: "http://other.example/hook", headers: {} }
      yield* Effect.provideContext(
        Effect.flatMap(Effect.service(WebCampaigns), (campaigns) =>
          campaigns.create(business, { id: "c3", name: "Other", sessionEnded: other }),
        ),
        context,
      )
      const answered: Array<string> = []
      const client = HttpClient.make((request) => {
        if (request.url !== other.url) return Effect.never
        answered.push(request.url)
        return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: 200 })))
      })
      for (let n = 0; n < 100; n++) yield* send(`{"n":${n}}`)
      for (const delivery of yield* webhooks.claim(100)) yield* webhooks.settle(delivery, false, "no response")
      const deliveries = Context.get(
        yield* Layer.build(Deliveries.layer.pipe(Layer.provide(Layer.succeedContext(context)))),
        Deliveries.Deliveries,
      )
      // long before the first date there is
      assert.strictEqual(yield* deliveries.sendFailedAgain("u1", Number.MIN_SAFE_INTEGER), 100)
      // the clock does not move, so that no attempt times out
      yield* Layer.build(
        deliver.pipe(
          Layer.provide(Layer.succeed(HttpClient.HttpClient, client)),
          Layer.provide(Layer.succeedContext(context)),
        ),
      )
      yield* webhooks.enqueue({
        userId: "u2",
        businessId: "b3",
        webCampaignId: "c3",
        webSessionId: "s3",
        body: "{}",
      })
      yield* until(() => answered.length === 1)
    }),
  )

  it.effect("says of a receiver that does not exist, or is not public, why there was no answer", () =>
    Effect.gen(function* () {
      for (const [allowPrivate, error] of [
        [true, "ECONNREFUSED"],
        [false, "the address is not on the public internet"],
      ] as const) {
        // nothing listens on port 1
        const { context, send, webhooks } = yield* startedWith({ url: "http://127.0.0.1:1/", headers: {} })
        const services = Layer.succeedContext(context)
        const { find } = Context.get(
          yield* Layer.build(Layer.fresh(Deliveries.layer).pipe(Layer.provide(services))),
          Deliveries.Deliveries,
        )
        yield* Layer.build(
          Layer.fresh(deliver).pipe(Layer.provide(Layer.fresh(client(allowPrivate))), Layer.provide(services)),
        )
        yield* send("{}")
        const [{ id = "" } = {}] = (yield* webhooks.list("b1", {})).items
        const { lastOutcome, log } = yield* Effect.eventually(
          Effect.gen(function* () {
            const found = yield* find("u1", id)
            return yield* found.log.length > 0 && found.lastOutcome !== null
              ? Effect.succeed(found)
              : Effect.fail("not yet")
          }),
        )
        assert.deepInclude(log.at(-1), { number: 1, status: null, error, answer: null })
        assert.strictEqual(lastOutcome, "no response")
      }
    }),
  )

  it.effect("keeps the last attempts of a message, and says why one had no answer", () =>
    Effect.gen(function* () {
      const { context, send, webhooks } = yield* started
      const deliveries = Context.get(
        yield* Layer.build(Deliveries.layer.pipe(Layer.provide(Layer.succeedContext(context)))),
        Deliveries.Deliveries,
      )
      yield* send("{}")
      const attempt = {
        at: 0,
        durationMillis: 1,
        url: target.url,
        headers: [],
        status: null,
        answer: null,
        truncated: false,
      }
      const [{ id = "" } = {}] = (yield* webhooks.list("b1", {})).items
      for (let number = 1; number <= MAX_ATTEMPTS_KEPT + 3; number++) {
        yield* TestClock.adjust("1 hour")
        const [claimed] = yield* webhooks.claim(1)
        if (claimed === undefined) return assert.fail("it was not due")
        yield* webhooks.settle(claimed, false, "no response", { ...attempt, error: "ECONNREFUSED" })
      }
      const { attempts, log } = yield* deliveries.find("u1", id)
      assert.strictEqual(attempts, MAX_ATTEMPTS_KEPT + 3)
      assert.deepStrictEqual(
        log.map(({ error, number }) => [number, error]),
        Array.from({ length: MAX_ATTEMPTS_KEPT }, (_, index) => [MAX_ATTEMPTS_KEPT + 3 - index, "ECONNREFUSED"]),
      )
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

  it.effect("waits as long as a receiver asks, and gives up at once when it is gone", () =>
    Effect.gen(function* () {
      let now = 1_700_000_000_000
      yield* TestClock.setTime(now)
      const { send, states, webhooks } = yield* started
      yield* send("1")
      for (const [waitMillis, expected] of [
        [120_000, 120_000],
        // not longer than the longest pause, so that a receiver does not lose its messages by a slip
        [999_999_000, pauseAfter(1_000)],
        [1, pauseAfter(3)],
      ] as const) {
        const [claimed] = yield* webhooks.claim(1)
        if (claimed === undefined) return yield* Effect.die("it is due")
        yield* webhooks.settle(claimed, false, "HTTP 503", undefined, { waitMillis })
        const [settled] = (yield* webhooks.list("b1", {})).items
        assert.strictEqual(settled?.nextAttemptAt, now + expected)
        now += expected
        yield* TestClock.setTime(now)
      }
      const [last] = yield* webhooks.claim(1)
      if (last === undefined) return yield* Effect.die("it is due")
      assert.strictEqual(yield* webhooks.settle(last, false, "HTTP 410", undefined, { gone: true }), "given_up")
      assert.deepStrictEqual(yield* states, ["given_up"])
    }),
  )

  it.effect(
    "asks again when the receiver's Retry-After is over, by the receiver's own clock, and never after 410",
    () =>
      Effect.gen(function* () {
        let now = 1_700_000_000_000
        yield* TestClock.setTime(now)
        const { context, send, webhooks } = yield* started
        const answers = [
          { status: 503, wait: 120_000, headers: { "retry-after": "120" } },
          // this receiver's clock is decades behind
          {
            status: 429,
            wait: 90_000,
            headers: { date: "Sun, 06 Nov 1994 08:49:37 GMT", "retry-after": "Sun, 06 Nov 1994 08:51:07 GMT" },
          },
          // without `Date`, this machine's clock counts
          { status: 500, wait: 600_000, headers: { "retry-after": new Date(now + 810_000).toUTCString() } },
          { status: 502, wait: pauseAfter(4), headers: { "retry-after": "soon" } },
          { status: 410, wait: 0, headers: { "retry-after": "1" } },
        ] as const
        const { requests, layer } = receiver(
          () => answers[requests.length - 1]?.status,
          "",
          () => answers[requests.length - 1]?.headers ?? {},
        )
        yield* Layer.build(deliver.pipe(Layer.provide(layer), Layer.provide(Layer.succeedContext(context))))
        yield* send("{}")
        for (const { status, wait } of answers) {
          const settled = yield* Effect.eventually(
            Effect.gen(function* () {
              const [delivery] = (yield* webhooks.list("b1", {})).items
              return delivery?.lastOutcome === `HTTP ${status}` ? delivery : yield* Effect.fail("not yet")
            }),
          )
          if (status === 410) {
            assert.deepInclude(settled, { state: "given_up", attempts: answers.length })
            break
          }
          assert.deepInclude(settled, { state: "pending", nextAttemptAt: now + wait })
          now += wait
          yield* TestClock.setTime(now)
          // the database works in real time, so the loop may not sleep yet: the hint wakes it in either case
          yield* webhooks.hint.open
        }
        assert.lengthOf(requests, answers.length)
        assert.lengthOf(yield* webhooks.claim(1), 0)
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
      yield* webhooks.settle({ ...one, attempts: 1 }, false, "no response")
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
