import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { FIRST_RETRY_MILLIS, layer, sign, WEBHOOK_TIMEOUT_MILLIS, Webhooks } from "../../src/platform/Webhooks.ts"

const secret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
const target = {
  url: "http://gate.example/api/webhook/session-ended",
  headers: { "X-Api-Token": Redacted.make("t0ken") },
  signingSecret: secret,
}

/** A receiver whose answers are told one after the other, the last one repeated; `undefined` never answers, 0 breaks. */
const receiver = (...answers: Array<number | undefined>) => {
  const requests: Array<HttpClientRequest.HttpClientRequest> = []
  const seconds: Array<string> = []
  const client = HttpClient.make((request) =>
    Effect.gen(function* () {
      const status = answers[Math.min(requests.length, answers.length - 1)]
      requests.push(request)
      seconds.push(String(Math.floor((yield* Clock.currentTimeMillis) / 1000)))
      if (status === undefined) return yield* Effect.never
      if (status === 0) {
        const reason = new HttpClientError.TransportError({ request })
        return yield* new HttpClientError.HttpClientError({ reason })
      }
      const empty = status === 204 ? null : ""
      return HttpClientResponse.fromWeb(request, new Response(empty, { status }))
    }),
  )
  return { requests, seconds, layer: layer.pipe(Layer.provide(Layer.succeed(HttpClient.HttpClient, client))) }
}

const bodyOf = (request: HttpClientRequest.HttpClientRequest | undefined) =>
  request?.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : undefined

const send = (body: string) => Effect.flatMap(Webhooks, (webhooks) => webhooks.send(target, body))

describe("webhooks", () => {
  it("are signed as the vector of Standard Webhooks says", () => {
    const signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}')
    assert.strictEqual(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  })

  it.effect("carry the custom headers, an id, the time and the signature of the very body", () => {
    const { requests, layer } = receiver(200)
    return Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_999)
      yield* send('{"a":1}')
      yield* TestClock.adjust(0)
      const headers: Readonly<Record<string, string | undefined>> = requests[0]?.headers ?? {}
      const id = headers["webhook-id"] ?? ""
      assert.match(id, /^msg_[0-9a-f-]{36}$/)
      assert.strictEqual(headers["x-api-token"], "t0ken")
      assert.strictEqual(headers["content-type"], "application/json")
      assert.strictEqual(headers["webhook-timestamp"], "1700000000")
      assert.strictEqual(headers["webhook-signature"], sign(secret, id, 1_700_000_000, '{"a":1}'))
      assert.strictEqual(bodyOf(requests[0]), '{"a":1}')
      yield* TestClock.adjust("2 days")
      assert.lengthOf(requests, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("are repeated under the same id with a new time until they are taken", () => {
    const { requests, seconds, layer } = receiver(500, 0, 401, undefined, 204)
    return Effect.gen(function* () {
      yield* send("{}")
      yield* TestClock.adjust(WEBHOOK_TIMEOUT_MILLIS + FIRST_RETRY_MILLIS * 100)
      assert.lengthOf(requests, 5)
      const ids = new Set(requests.map((request) => request.headers["webhook-id"]))
      assert.strictEqual(ids.size, 1)
      const times = requests.map((request) => request.headers["webhook-timestamp"])
      assert.deepStrictEqual(times, seconds)
      assert.notStrictEqual(times[0], times[4])
      for (const { headers } of requests) {
        const expected = sign(secret, headers["webhook-id"] ?? "", Number(headers["webhook-timestamp"]), "{}")
        assert.strictEqual(headers["webhook-signature"], expected)
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("come later and later, and are given up after about a day", () => {
    const { requests, layer } = receiver(503)
    return Effect.gen(function* () {
      yield* send("{}")
      yield* TestClock.adjust("1 hour")
      const early = requests.length
      assert.isAtLeast(early, 11)
      assert.isAtMost(early, 14)
      yield* TestClock.adjust("2 days")
      const all = requests.length
      assert.strictEqual(all, 36)
      yield* TestClock.adjust("2 days")
      assert.strictEqual(requests.length, all)
    }).pipe(Effect.provide(layer))
  })

  it.effect("of different events have different ids, and one does not wait for another", () => {
    const { requests, layer } = receiver(undefined, 200)
    return Effect.gen(function* () {
      yield* send("1")
      yield* send("2")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(requests.map(bodyOf), ["1", "2"])
      assert.notStrictEqual(requests[0]?.headers["webhook-id"], requests[1]?.headers["webhook-id"])
    }).pipe(Effect.provide(layer))
  })
})
