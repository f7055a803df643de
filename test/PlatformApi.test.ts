import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Redacted, Tracer } from "effect"
import { Headers, HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import {
  CIRCUIT_OPEN_MILLIS,
  layer,
  PlatformApi,
  type PlatformError,
  START_TIMEOUT_MILLIS,
} from "../src/PlatformApi.ts"
import type { Campaign } from "../src/Settings.ts"
import {
  campaign,
  http,
  type Received,
  type Scripted,
  scriptedServer,
  sessionConfig,
  settings,
} from "./platform/support.ts"

const SECRET = "vgp_topsecret"

const json = (status: number, body: unknown) => ({ status, body: JSON.stringify(body) })
const ok = (data: unknown): Scripted => json(200, { success: true, message: null, code: null, data })
const no = (code: string, message: string | null, status = 200) =>
  json(status, { success: false, message, code, data: null })

/** Runs `use` against a server with scripted answers. */
const against = <A, E>(
  script: (request: Received, index: number) => Scripted,
  use: (api: PlatformApi["Service"], received: ReadonlyArray<Received>) => Effect.Effect<A, E>,
  fields: Partial<Campaign> = {},
) =>
  Effect.gen(function* () {
    const server = yield* scriptedServer(script)
    const configured = campaign({ ApiSecretToken: Redacted.make(SECRET), BaseUrl: `${server.url}api/v1/`, ...fields })
    const live = layer.pipe(Layer.provide([settings(configured), http]))
    return yield* Effect.flatMap(PlatformApi, (api) => use(api, server.received)).pipe(Effect.provide(live))
  })

const start = (script: (request: Received, index: number) => Scripted) =>
  against(script, (api) => api.initiate(sessionConfig(), "a"))

const failing = (answer: Scripted) => Effect.map(Effect.flip(start(() => answer)), ({ reason }) => reason)

const startData = { webSessionId: "w1", conversationSessionId: "s1", sessionWebSocketURL: "wss://p.example/x?token=t" }

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

  it.effect("reads the answer of the second generation, the web session's id first", () =>
    Effect.gen(function* () {
      const session = yield* start(() => ok(startData))
      assert.deepStrictEqual(session, { sessionIds: ["w1", "s1"], webSocketUrl: "wss://p.example/x?token=t" })
    }),
  )

  it.effect("reads the answer of the first generation", () =>
    Effect.gen(function* () {
      const session = yield* start(() => ok({ sessionId: "w9", sessionWebSocketURL: "ws://p.example/x" }))
      assert.deepStrictEqual(session, { sessionIds: ["w9"], webSocketUrl: "ws://p.example/x" })
    }),
  )

  for (const [what, answer] of [
    ["HTTP 429 and its code", no("InitiateWebSession:CONCURRENCY_LIMIT_REACHED", "all 2 calls are taken", 429)],
    ["HTTP 429 and its text", json(429, { detail: "Too many active sessions." })],
    ["a code", no("InitiateWebSession:CONCURRENCY_LIMIT_REACHED", null)],
    ["another code", no("A:B:USER_CUSTOMER_CONCURRENCY_LIMIT_REACHED", "limit", 400)],
    ["a message behind a general code", no("X:BACKEND_CALL_PROCESS_FAIL", "Concurrency limit of 5 exceeded")],
    ["a message in the other form", json(403, { detail: "Too many active sessions" })],
    ["a 503 with its code", no("CONCURRENCY_LIMIT_REACHED", "full", 503)],
  ] as const) {
    it.effect(`recognises a platform at capacity by ${what}`, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* failing(answer))._tag, "AtCapacity")
      }),
    )
  }

  for (const [what, answer, retryAfterMillis] of [
    ["HTTP 429 with a detail", json(429, { detail: "Request was throttled." }), 1_000],
    ["HTTP 429 without a body", { status: 429, body: "" }, 1_000],
    ["HTTP 429 in the words of HTTP", json(429, { detail: "Too many requests" }), 1_000],
    ["the local platform's code", { ...no("RATE_LIMIT_EXCEEDED", "all made", 429), retryAfter: "37" }, 37_000],
    ["wrong keys", { ...no("TOO_MANY_FAILED_KEYS", "too many wrong keys", 429), retryAfter: "2" }, 2_000],
    ["a date, which is ignored", { status: 429, body: "", retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT" }, 1_000],
    ["an envelope with another status", no("X:Y", "Rate limit exceeded"), 1_000],
  ] as const) {
    it.effect(`distinguishes the key's request limit from a platform at capacity: ${what}`, () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* failing(answer), { _tag: "KeyRateLimited", retryAfterMillis })
      }),
    )
  }

  for (const [what, answer] of [
    ["400", no("InitiateWebSession:INVALID_FORMAT", "no text", 400)],
    ["400 without a code", json(400, { detail: "bad" })],
    ["413", { status: 413, body: "" }],
    ["422", json(422, { detail: [] })],
    ["a code of the reference", no("X:CONFIG_CLIENT_IDENTIFIER_TOO_LONG", "too long")],
  ] as const) {
    it.effect(`is refused because of the caller's request by ${what}`, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* failing(answer))._tag, "RequestRefused")
      }),
    )
  }

  for (const [what, answer, expected] of [
    [
      "200 and success false",
      no("I:V:REGION_NOT_FOUND", "no region"),
      { status: 200, code: "REGION_NOT_FOUND", message: "no region" },
    ],
    ["400 for the key", no("V:API_KEY_INVALID", "bad", 400), { status: 400, code: "API_KEY_INVALID", message: "bad" }],
    ["401 and a detail", json(401, { detail: "Invalid token." }), { status: 401, code: "", message: "Invalid token." }],
    [
      "403",
      no("X:RESTRICTED_API_KEY", "concurrency of no use", 403),
      { status: 403, code: "RESTRICTED_API_KEY", message: "concurrency of no use" },
    ],
    [
      "404 that is not JSON",
      { status: 404, body: "<html>" },
      { status: 404, code: "", message: "the platform answered HTTP 404" },
    ],
  ] as const) {
    it.effect(`is refused by ${what}`, () =>
      Effect.gen(function* () {
        const reason = yield* failing(answer)
        assert.strictEqual(reason._tag, "Refused")
        assert.deepInclude(reason, expected)
      }),
    )
  }

  for (const [what, answer, reason, mayHaveHappened] of [
    ["500", json(500, { detail: "oops" }), "server_error", true],
    ["502 of a proxy", { status: 502, body: "bad gateway" }, "server_error", true],
    ["500 with an envelope: the platform itself gave up", no("X", "oops", 500), "server_error", false],
    ["503", { status: 503, body: "" }, "server_error", false],
    ["a backend that failed to start the call", no("X:BACKEND_CALL_PROCESS_FAIL", "no answer"), "server_error", false],
    ["a broken connection", "reset", "unreachable", true],
    ["200 that is not JSON", { status: 200, body: "<html>" }, "malformed", true],
    ["200 without an envelope", json(200, { webSessionId: "w" }), "malformed", true],
    ["an answer without the URL", ok({ webSessionId: "w" }), "malformed", true],
    ["an answer without an id", ok({ sessionWebSocketURL: "ws://p/" }), "malformed", true],
    ["no data", ok(null), "malformed", true],
    ["a URL of another scheme", ok({ ...startData, sessionWebSocketURL: "javascript:alert(1)" }), "malformed", true],
    ["an invalid URL", ok({ ...startData, sessionWebSocketURL: "p.example/x" }), "malformed", true],
  ] as const) {
    it.effect(`has no usable answer from ${what}`, () =>
      Effect.gen(function* () {
        const failure = yield* failing(answer)
        assert.strictEqual(failure._tag, "Unavailable")
        assert.deepInclude(failure, { reason, mayHaveHappened })
      }),
    )
  }

  it.effect("knows that a refused connection started nothing", () =>
    Effect.gen(function* () {
      const port = yield* closedPort
      const configured = settings(campaign({ BaseUrl: `http://127.0.0.1:${port}/api/v1/` }))
      const { reason } = yield* Effect.flatMap(PlatformApi, (api) =>
        Effect.flip(api.initiate(sessionConfig(), "a")),
      ).pipe(Effect.provide(layer.pipe(Layer.provide([configured, http]))))
      assert.strictEqual(reason._tag, "Unavailable")
      assert.deepInclude(reason, { reason: "unreachable", mayHaveHappened: false })
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

describe("reading", () => {
  const figures = (limit: unknown, used: unknown) => (request: Received) =>
    request.url.endsWith("/usage") ? ok({ currentUsage: { Call_Concurrency: used } }) : ok({ Call_Concurrency: limit })

  for (const [limit, used] of [
    [5, 2],
    ["5", "2"],
    ["5.0", 2.0],
  ] as const) {
    it.effect(`understands the figures ${JSON.stringify([limit, used])}`, () =>
      against(figures(limit, used), (api) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 5, inUse: 2 })
        }),
      ),
    )
  }

  for (const limit of ["many", "", -1, null, undefined]) {
    it.effect(`rejects ${JSON.stringify(limit)} as a figure`, () =>
      against(figures(limit, 0), (api) =>
        Effect.gen(function* () {
          const { reason } = yield* Effect.flip(api.concurrency("default"))
          assert.deepInclude(reason, { _tag: "Unavailable", reason: "malformed", mayHaveHappened: false })
        }),
      ),
    )
  }

  it.effect("is refused when the key has no user management", () =>
    against(
      () => no("U:API_ACCESS_MANAGEMENT_RESTRICTION", "no concurrency for you", 403),
      (api) =>
        Effect.gen(function* () {
          const { reason } = yield* Effect.flip(api.concurrency("default"))
          assert.deepInclude(reason, { _tag: "Refused", code: "API_ACCESS_MANAGEMENT_RESTRICTION" })
        }),
    ),
  )

  it.effect("is tried once more after a failure that may be temporary", () =>
    against(
      (request, index) => (index === 0 ? "reset" : figures(3, 1)(request)),
      (api, received) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* api.concurrency("default"), { limit: 3, inUse: 1 })
          assert.strictEqual(received.length, 3)
        }),
    ),
  )

  for (const [answer, expected] of [
    [ok({ status: 3 }), "running"],
    [ok({ status: 1, endedAt: null }), "running"],
    [ok({ status: 3, endedAt: "0001-01-01T00:00:00" }), "running"],
    [ok({ status: 3, endedAt: "2026-01-01T00:00:00Z" }), "over"],
    [ok({ status: 4 }), "over"],
    [ok({ status: "Canceled" }), "over"],
    [ok({ status: 6 }), "over"],
    [{ status: 404, body: "" }, "unknown"],
    [no("H:WEB_SESSION_NOT_FOUND", "none"), "unknown"],
  ] as const) {
    it.effect(`reports ${expected} for ${JSON.stringify(answer)}`, () =>
      against(
        () => answer,
        (api, received) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* api.sessionStatus("default", "w/1")).status, expected)
            assert.strictEqual(received[0]?.url, "/api/v1/business/b1/websession/history/w%2F1")
            assert.strictEqual(received[0]?.method, "POST")
          }),
      ),
    )
  }

  describe("of a client's sessions", () => {
    const SINCE = Date.parse("2026-01-01T12:00:00Z")
    const session = (n: number, secondsAgo: number, fields: object = {}) => ({
      ...{
        id: `w${n}`,
        webSessionId: `w${n}`,
        conversationSessionId: `s${n}`,
        clientIdentifier: "me",
        webCampaignId: "c1",
      },
      createdAt: new Date(SINCE - secondsAgo * 1_000).toISOString(),
      ...fields,
    })
    /** Pages of an endless history; each covers this many seconds and has one session of another client. */
    const endless = (seconds: number) => (request: Received) => {
      const page = Number(JSON.parse(request.body).nextCursor ?? 0)
      return ok({ items: [session(page, page * seconds, { clientIdentifier: "else" })], nextCursor: String(page + 1) })
    }
    const bodies = (received: ReadonlyArray<Received>) => received.map(({ body }): unknown => JSON.parse(body))

    it.effect(
      "finds those of the client and campaign that began since then, by either clock, on as many pages as needed",
      () => {
        const pages = [
          [session(1, -2), session(2, 0, { clientIdentifier: "else" })],
          [session(3, 30), session(4, 31, { webCampaignId: "c2" }), session(5, 32, { clientIdentifier: null })],
          [session(6, 59, { webCampaignId: null, id: 7, conversationSessionId: "s6" }), session(7, 61)],
          [session(8, 62)],
        ]
        return against(
          (request) => {
            const page = Number(JSON.parse(request.body).nextCursor ?? 0)
            return ok({ items: pages[page], nextCursor: String(page + 1) })
          },
          (api, received) =>
            Effect.gen(function* () {
              assert.deepStrictEqual(yield* api.sessionsOf("default", "me", SINCE), [
                ["w1", "s1"],
                ["w3", "s3"],
                ["w6", "s6"],
              ])
              assert.deepStrictEqual(
                new Set(received.map(({ url }) => url)),
                new Set(["/api/v1/business/b1/websession/history"]),
              )
              const cursors = [undefined, "1", "2"].map((nextCursor) => ({
                limit: 100,
                ...(nextCursor === undefined ? {} : { nextCursor }),
              }))
              assert.deepStrictEqual(bodies(received), cursors)
            }),
        )
      },
    )

    it.effect("shares one reading between queries within a short time, and reads again later", () =>
      against(endless(30), (api, received) =>
        Effect.gen(function* () {
          const ask = (since: number) => api.sessionsOf("default", "me", since)
          assert.deepStrictEqual([yield* ask(SINCE), yield* ask(SINCE + 1_000)], [[], []])
          assert.lengthOf(received, 4)
          // an older one needs more pages
          assert.deepStrictEqual(yield* ask(SINCE - 60_000), [])
          assert.lengthOf(received, 4 + 6)
          yield* TestClock.adjust("2 seconds")
          assert.deepStrictEqual(yield* ask(SINCE), [])
          assert.lengthOf(received, 4 + 6 + 4)
        }),
      ),
    )

    it.effect("is undefined when that is more than ten pages away, and not read again within the short time", () =>
      against(endless(1), (api, received) =>
        Effect.gen(function* () {
          assert.isUndefined(yield* api.sessionsOf("default", "me", SINCE))
          assert.isUndefined(yield* api.sessionsOf("default", "me", SINCE + 1_000))
          assert.lengthOf(received, 10)
        }),
      ),
    )

    for (const [what, answer] of [
      ["has no such list", { status: 404, body: "" }],
      ["does not let the key read it", { status: 403, body: "" }],
      ["answers in another format", ok([])],
      ["lists the oldest first", ok({ items: [session(1, 600), session(2, 0)] })],
      ["does not name the callers", ok({ items: [session(1, 0, { clientIdentifier: undefined })] })],
      ["has an invalid time", ok({ items: [session(1, 0, { createdAt: "yesterday" })] })],
    ] as const) {
      it.effect(`is undefined when the platform ${what}`, () =>
        against(
          () => answer,
          (api) => Effect.map(api.sessionsOf("default", "me", SINCE), (found) => assert.isUndefined(found)),
        ),
      )
    }

    it.effect("fails when the platform fails", () =>
      against(
        () => json(503, {}),
        (api) =>
          Effect.map(Effect.flip(api.sessionsOf("default", "me", SINCE)), ({ reason }) =>
            assert.strictEqual(reason._tag, "Unavailable"),
          ),
      ),
    )
  })

  describe("verifies a campaign's settings", () => {
    const business = ok({ name: "Shop" })
    const campaign = ok({ name: "Front", sessionEnded: { url: "https://gate.example/hook?secret=s" } })
    const regions = ok([{ id: "eu" }, { id: "us" }])
    const verify = (answers: ReadonlyArray<Scripted>) => {
      let n = 0
      return against(
        () => answers[Math.min(n++, answers.length - 1)] ?? json(500, {}),
        (api, received) =>
          Effect.map(api.verify("default"), (findings) => ({
            findings,
            states: findings.map(({ state }) => state),
            says: findings.map(({ detail }) => detail).join("\n"),
            paths: received.map(({ method, url }) => `${method} ${url}`),
          })),
      )
    }

    it.effect("by business, web campaign and region, each with its own harmless read", () =>
      Effect.gen(function* () {
        const { paths, says, states } = yield* verify([business, campaign, regions])
        assert.deepStrictEqual(states, ["ok", "ok", "ok"])
        assert.deepStrictEqual(paths, [
          "GET /api/v1/business/b1",
          "GET /api/v1/business/b1/webcampaigns/c1",
          "GET /api/v1/regions",
        ])
        assert.include(says, "business b1 (Shop)")
        assert.include(says, "https://gate.example/hook")
        assert.notInclude(says, "secret")
      }),
    )

    it.effect.each<[string, ReadonlyArray<Scripted>, RegExp]>([
      [
        "a wrong campaign",
        [business, no("W:WEB_CAMPAIGN_NOT_FOUND", "no such web campaign", 404)],
        /\.WebCampaignId: no such/,
      ],
      [
        "a wrong region",
        [business, campaign, ok([{ id: "mars" }])],
        /\.DefaultRegionId: the platform has no region eu; it has mars/,
      ],
      ["a wrong business", [no("B:BUSINESS_NOT_FOUND", "no such business", 404)], /\.BusinessId: no such business/],
      ["a wrong key", [json(401, { detail: "Invalid token." })], /\.ApiSecretToken: Invalid token\./],
      [
        "a wrong business, or a key that is restricted to other businesses",
        [no("B:RESTRICTED_API_KEY", "this key is restricted to other businesses", 403)],
        /VoiceAiPlatform\.BusinessId or VoiceAiPlatform\.ApiSecretToken: this key is restricted to other businesses/,
      ],
      ["an address without an API", [{ status: 404, body: "" }], /\.BaseUrl: there is no platform API/],
      ["another API", [json(404, { detail: "Not Found" })], /\.BaseUrl: there is no platform API/],
      ["a page", [{ status: 200, body: "<!doctype html>" }], /\.BaseUrl: .*envelope/],
    ])("and names the setting of %s", ([, answers, words]) =>
      Effect.gen(function* () {
        const { says, states } = yield* verify(answers)
        assert.strictEqual(states.filter((state) => state === "failed").length, 1, says)
        assert.match(says, words)
      }),
    )

    it.effect("and reports what the platform does not reveal", () =>
      Effect.gen(function* () {
        const may = no("R:PERMISSION_MISSING", "this key needs the permission", 403)
        for (const silent of [{ status: 404, body: "" }, no("ROUTE_NOT_FOUND", "no endpoint", 404), may]) {
          const { findings } = yield* verify([business, silent, silent])
          assert.deepStrictEqual(
            findings.map(({ state }) => state),
            ["ok", "not_checked", "not_checked"],
          )
        }
      }),
    )
  })
})

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

  it.effect("to the content of one caller only does not open the circuit, and serves everyone else", () => {
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
  })

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

/** A port on which nothing listens. */
const closedPort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() =>
      resume(typeof address === "object" && address ? Effect.succeed(address.port) : Effect.die("no port")),
    )
  })
})
