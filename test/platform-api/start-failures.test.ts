/** What the gate concludes from each refusal and failure of a start. */
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { layer } from "../../src/platform-api/layer.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import { campaign, http, type Scripted, sessionConfig, settings } from "../platform/support.ts"
import { against, json, no, ok, start, startData } from "./support.ts"

const failing = (answer: Scripted) => Effect.map(Effect.flip(start(() => answer)), ({ reason }) => reason)

describe("starting a session", () => {
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
    ["a date that has passed", { status: 429, body: "", retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT" }, 1_000],
    ["an envelope with another status", no("X:Y", "Rate limit exceeded"), 1_000],
  ] as const) {
    it.effect(`distinguishes the key's request limit from a platform at capacity: ${what}`, () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* failing(answer), { _tag: "KeyRateLimited", retryAfterMillis })
      }),
    )
  }

  const LIMITS = { metadata: { note: "no rate limit, too many calls" } }
  for (const [what, answer, expected] of [
    ["a 400", no("X:INVALID_FORMAT", "metadata.note: no rate limit, too many calls", 400), "RequestRefused"],
    ["a code of the request", no("X:CONFIG_CLIENT_IDENTIFIER_TOO_LONG", "rate limit … is too long"), "RequestRefused"],
    ["another failure", no("X:Y", "no rate limit, too many calls"), "Unavailable"],
    ["a limit by its code", no("X:RATE_LIMIT_EXCEEDED", "no rate limit, too many calls"), "KeyRateLimited"],
    ["a full platform by its code", no("X:CONCURRENCY_LIMIT_REACHED", "too many calls"), "AtCapacity"],
    ["a 429", json(429, { detail: "no rate limit, too many calls" }), "KeyRateLimited"],
  ] as const) {
    it.effect(`a caller whose own text speaks of limits does not make others wait: ${what} is ${expected}`, () =>
      Effect.gen(function* () {
        const failed = against(
          () => answer,
          (api) => api.initiate(sessionConfig(LIMITS), "a"),
        )
        const { reason } = yield* Effect.flip(failed)
        assert.strictEqual(reason._tag, expected)
        if (reason._tag === "Unavailable") assert.isFalse(reason.mayHaveHappened)
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
