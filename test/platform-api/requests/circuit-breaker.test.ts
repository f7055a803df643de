import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import type { PlatformError } from "../../../src/platform-api/errors.ts"
import { layer } from "../../../src/platform-api/layer.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { CIRCUIT_OPEN_MILLIS } from "../../../src/platform-api/requests/circuit.ts"
import { START_TIMEOUT_MILLIS } from "../../../src/platform-api/requests/transport.ts"
import { campaign, sessionConfig, settings } from "../../platform/support.ts"
import { startData } from "../support.ts"

describe("a platform that does not answer", () => {
  /** A client that counts its calls and has a scripted answer. */
  const counting = (answer: () => "never" | "broken" | Response) => {
    const calls = { count: 0 }
    const client = HttpClient.make((request) => {
      calls.count++
      const outcome = answer()
      if (outcome === "never") return Effect.never
      if (outcome === "broken") {
        return Effect.fail(
          new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request }) }),
        )
      }
      return Effect.succeed(HttpClientResponse.fromWeb(request, outcome))
    })
    return { calls, layer: Layer.succeed(HttpClient.HttpClient, client) }
  }
  const started = () => new Response(JSON.stringify({ success: true, data: startData }))
  const reasonOf = (effect: Effect.Effect<unknown, PlatformError>) =>
    Effect.map(Effect.flip(effect), (error) => error.reason)

  it.effect("times out, and the session may have started", () => {
    const fake = counting(() => "never")
    return Effect.gen(function* () {
      const api = yield* PlatformApi
      const fiber = yield* Effect.forkChild(reasonOf(api.initiate(sessionConfig(), "a")))
      yield* TestClock.adjust(START_TIMEOUT_MILLIS - 1)
      assert.strictEqual(fiber.pollUnsafe(), undefined)
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* Fiber.join(fiber), { reason: "timeout", mayHaveHappened: true })
      assert.strictEqual(fake.calls.count, 1)
    }).pipe(Effect.provide(layer.pipe(Layer.provide([settings(campaign({})), fake.layer]))))
  })

  const ofFive = ["a", "b", "c", "d", "e"]

  it.effect("opens the circuit after failures of five callers, and is probed after growing intervals", () => {
    let healthy = false
    const fake = counting(() => (healthy ? started() : "broken"))
    return Effect.gen(function* () {
      const api = yield* PlatformApi
      const initiate = (group: string) => api.initiate(sessionConfig(), group)
      for (const group of ofFive) assert.deepInclude(yield* reasonOf(initiate(group)), { reason: "unreachable" })
      assert.deepInclude(yield* reasonOf(initiate("f")), { reason: "circuit_open", mayHaveHappened: false })
      assert.strictEqual(fake.calls.count, 5)
      yield* TestClock.adjust(CIRCUIT_OPEN_MILLIS)
      // now two callers are enough, but not one
      for (const group of ["a", "a", "b"]) {
        assert.deepInclude(yield* reasonOf(initiate(group)), { reason: "unreachable" })
      }
      assert.deepInclude(yield* reasonOf(initiate("c")), { reason: "circuit_open" })
      assert.strictEqual(fake.calls.count, 8)
      yield* TestClock.adjust(CIRCUIT_OPEN_MILLIS)
      assert.deepInclude(yield* reasonOf(initiate("a")), { reason: "circuit_open" })
      yield* TestClock.adjust(CIRCUIT_OPEN_MILLIS)
      healthy = true
      assert.deepStrictEqual((yield* initiate("a")).sessionIds, ["w1", "s1"])
      assert.deepStrictEqual((yield* initiate("b")).sessionIds, ["w1", "s1"])
    }).pipe(Effect.provide(layer.pipe(Layer.provide([settings(campaign({})), fake.layer]))))
  })

  it.effect(
    "a platform that does not answer to the content of one caller only does not open the circuit, and serves everyone else",
    () => {
      const fake = HttpClient.make((request) => {
        const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
        const answer = body.includes("poison") ? new Response("", { status: 503 }) : started()
        return Effect.succeed(HttpClientResponse.fromWeb(request, answer))
      })
      return Effect.gen(function* () {
        const api = yield* PlatformApi
        const poison = sessionConfig({ clientIdentifier: "poison" })
        for (let i = 0; i < 200; i++) {
          assert.deepInclude(yield* reasonOf(api.initiate(poison, "attacker")), { reason: "server_error" })
          if (i % 20 === 0) assert.lengthOf((yield* api.initiate(sessionConfig(), `honest ${i}`)).sessionIds, 2)
        }
      }).pipe(
        Effect.provide(layer.pipe(Layer.provide([settings(campaign({})), Layer.succeed(HttpClient.HttpClient, fake)]))),
      )
    },
  )

  it.effect("does not stay cut off because of one caller's probes", () => {
    let away = true
    const fake = HttpClient.make((request) => {
      const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
      const answer = away || body.includes("poison") ? new Response("", { status: 503 }) : started()
      return Effect.succeed(HttpClientResponse.fromWeb(request, answer))
    })
    return Effect.gen(function* () {
      const api = yield* PlatformApi
      for (const group of ofFive) yield* reasonOf(api.initiate(sessionConfig(), group))
      assert.deepInclude(yield* reasonOf(api.initiate(sessionConfig(), "f")), { reason: "circuit_open" })
      away = false
      yield* TestClock.adjust(CIRCUIT_OPEN_MILLIS)
      const poison = sessionConfig({ clientIdentifier: "poison" })
      for (let i = 0; i < 20; i++) {
        assert.deepInclude(yield* reasonOf(api.initiate(poison, "attacker")), { reason: "server_error" })
      }
      assert.lengthOf((yield* api.initiate(sessionConfig(), "honest")).sessionIds, 2)
    }).pipe(
      Effect.provide(layer.pipe(Layer.provide([settings(campaign({})), Layer.succeed(HttpClient.HttpClient, fake)]))),
    )
  })

  it.effect("still starts sessions when reading one session's history fails", () => {
    const fake = HttpClient.make((request) =>
      Effect.succeed(
        HttpClientResponse.fromWeb(
          request,
          request.url.includes("/history/") ? new Response("", { status: 500 }) : started(),
        ),
      ),
    )
    return Effect.gen(function* () {
      const api = yield* PlatformApi
      for (let i = 0; i < 20; i++) {
        assert.deepInclude(yield* reasonOf(api.sessionStatus("default", "w1")), { reason: "server_error" })
      }
      assert.lengthOf((yield* api.initiate(sessionConfig(), "honest")).sessionIds, 2)
    }).pipe(
      Effect.provide(layer.pipe(Layer.provide([settings(campaign({})), Layer.succeed(HttpClient.HttpClient, fake)]))),
    )
  })

  it.effect("opens the circuit although it answers reads, which say nothing of starts", () => {
    const fake = HttpClient.make((request) =>
      Effect.succeed(
        HttpClientResponse.fromWeb(
          request,
          request.method === "GET" ? Response.json({ success: true, data: {} }) : new Response("", { status: 503 }),
        ),
      ),
    )
    return Effect.gen(function* () {
      const api = yield* PlatformApi
      for (const group of ofFive) {
        assert.deepInclude(yield* reasonOf(api.initiate(sessionConfig(), group)), { _tag: "Unavailable" })
        yield* api.verify("default")
      }
      assert.deepInclude(yield* reasonOf(api.initiate(sessionConfig(), "f")), { reason: "circuit_open" })
    }).pipe(
      Effect.provide(layer.pipe(Layer.provide([settings(campaign({})), Layer.succeed(HttpClient.HttpClient, fake)]))),
    )
  })

  it.effect("opens the circuit after five refused connections of one caller, whose input cannot be the reason", () => {
    const fake = HttpClient.make((request) =>
      Effect.fail(
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.TransportError({ request, cause: { code: "ECONNREFUSED", syscall: "connect" } }),
        }),
      ),
    )
    return Effect.gen(function* () {
      const api = yield* PlatformApi
      for (let i = 0; i < 5; i++) {
        assert.deepInclude(yield* reasonOf(api.initiate(sessionConfig(), "a")), { reason: "unreachable" })
      }
      assert.deepInclude(yield* reasonOf(api.initiate(sessionConfig(), "a")), { reason: "circuit_open" })
    }).pipe(
      Effect.provide(layer.pipe(Layer.provide([settings(campaign({})), Layer.succeed(HttpClient.HttpClient, fake)]))),
    )
  })

  it.effect("is distinguished from one that refuses or is at capacity, and from another platform", () => {
    let answer: () => "broken" | Response = () => Response.json({ detail: "concurrency" }, { status: 429 })
    const fake = counting(() => answer())
    const elsewhere = campaign({ name: "elsewhere", BaseUrl: "http://127.0.0.2:9/api/v1/" })
    return Effect.gen(function* () {
      const api = yield* PlatformApi
      for (let i = 0; i < 7; i++)
        assert.strictEqual((yield* reasonOf(api.initiate(sessionConfig(), "a")))._tag, "AtCapacity")
      answer = () => Response.json({ detail: "Invalid token." }, { status: 401 })
      for (let i = 0; i < 7; i++)
        assert.strictEqual((yield* reasonOf(api.initiate(sessionConfig(), "a")))._tag, "Refused")
      answer = () => "broken"
      for (const group of ofFive) yield* reasonOf(api.initiate(sessionConfig(), group))
      assert.deepInclude(yield* reasonOf(api.initiate(sessionConfig(), "a")), { reason: "circuit_open" })
      answer = started
      assert.deepStrictEqual((yield* api.initiate(sessionConfig({ campaign: "elsewhere" }), "a")).sessionIds, [
        "w1",
        "s1",
      ])
    }).pipe(Effect.provide(layer.pipe(Layer.provide([settings(campaign({}), elsewhere), fake.layer]))))
  })
})
