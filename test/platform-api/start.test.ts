import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Tracer } from "effect"
import { Headers, HttpClient } from "effect/http"
import { sessionConfig } from "../platform/support.ts"
import { against, json, no, ok, SECRET, start, startData } from "./support.ts"

describe("starting a session", () => {
  it.effect("sends the documented request with exactly the documented headers", () =>
    against(
      () => ok(startData),
      (api, received) =>
        Effect.gen(function* () {
          const audio = { inputEncodingType: 3, inputSampleRate: 8000, inputBitsPerSample: 8 } as const
          const caller = { clientIdentifier: "me", dynamicVariables: { name: "Ada" }, metadata: { page: "/" }, audio }
          yield* api.initiate(sessionConfig(caller), "a")
          const request = received[0]
          assert.strictEqual(request?.method, "POST")
          assert.strictEqual(request?.url, "/api/v1/business/b%2F1/websession/initiate")
          assert.strictEqual(request?.headers.authorization, `Token ${SECRET}`)
          assert.strictEqual(request?.headers["content-type"], "application/json")
          assert.deepStrictEqual(JSON.parse(request?.body ?? ""), {
            transportType: 0,
            webCampaignId: "c1",
            regionId: "eu",
            clientIdentifier: "me",
            audioInputConfiguration: {
              sampleRate: 8000,
              bitsPerSample: 8,
              audioEncodingType: 3,
              audioEncodingFallbackMode: 0,
            },
            audioOutputConfiguration: {
              sampleRate: 16000,
              bitsPerSample: 16,
              audioEncodingType: 1,
              audioEncodingFallbackMode: 0,
              frameDurationMs: 30,
            },
            dynamicVariables: { name: "Ada" },
            metadata: { page: "/" },
          })
        }),
      { BusinessId: "b/1" },
    ),
  )

  it.effect("sends an identifier that the platform accepts for a caller without one", () =>
    against(
      () => ok(startData),
      (api, received) =>
        Effect.gen(function* () {
          yield* api.initiate(sessionConfig(), "a")
          assert.match(JSON.parse(received[0]?.body ?? "").clientIdentifier, /^[^/\\]{1,256}$/)
        }),
    ),
  )

  it.effect("reads the answer of the second version of the API, the web session's id first", () =>
    Effect.gen(function* () {
      const session = yield* start(() => ok(startData))
      assert.deepStrictEqual(session, { sessionIds: ["w1", "s1"], webSocketUrl: "wss://p.example/x?token=t" })
    }),
  )

  it.effect("reads the answer of the first version of the API", () =>
    Effect.gen(function* () {
      const session = yield* start(() => ok({ sessionId: "w9", sessionWebSocketURL: "ws://p.example/x" }))
      assert.deepStrictEqual(session, { sessionIds: ["w9"], webSocketUrl: "ws://p.example/x" })
    }),
  )

  for (const answer of [{ status: 503, body: "" }, { status: 500, body: "" }, "reset"] as const) {
    it.effect(`is never retried, not even after ${JSON.stringify(answer)}`, () =>
      against(
        (_, index) => (index === 0 ? ok(startData) : answer),
        (api, received) =>
          Effect.gen(function* () {
            // The second call reuses the connection of the first.
            yield* api.initiate(sessionConfig(), "a")
            yield* Effect.flip(api.initiate(sessionConfig(), "a"))
            assert.strictEqual(received.length, 2)
          }),
      ),
    )
  }

  it.effect("never reveals the key, even when the platform echoes it", () =>
    Effect.gen(function* () {
      for (const answer of [
        json(401, { detail: `bad ${SECRET}` }),
        no(`X:${SECRET}`, `no ${SECRET}`),
        "reset" as const,
      ]) {
        const exit = yield* Effect.exit(start(() => answer))
        assert.isTrue(Exit.isFailure(exit))
        const shown = Exit.isFailure(exit) ? Cause.pretty(exit.cause) + JSON.stringify(exit) : ""
        assert.notInclude(shown, SECRET)
      }
    }),
  )

  it.effect("keeps the key out of traces, also where a host records headers", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        },
      })
      yield* start(() => ok(startData)).pipe(
        Effect.provideService(HttpClient.TracerHeaderFilter, () => true),
        Effect.provideService(Headers.CurrentRedactedNames, ["x-of-the-host"]),
        Effect.withTracer(tracer),
      )
      const attributes = JSON.stringify(spans.map((span) => [...span.attributes]))
      assert.include(attributes, "http.request.header.authorization")
      assert.notInclude(attributes, SECRET)
    }),
  )

  it.effect("fails for a campaign that the settings no longer have", () =>
    against(
      () => ok(startData),
      (api, received) =>
        Effect.gen(function* () {
          const { reason } = yield* Effect.flip(api.initiate(sessionConfig({ campaign: "gone" }), "a"))
          assert.deepInclude(reason, { _tag: "Refused", code: "UNKNOWN_CAMPAIGN" })
          assert.strictEqual(received.length, 0)
        }),
    ),
  )
})
