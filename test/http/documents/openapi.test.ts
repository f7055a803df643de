/**
 * Provokes every kind of answer that `/openapi.json` lists at a running gate, and validates it against that document: an answer whose
 * status, headers or body are not described fails, and so does a listed kind that cannot be provoked.
 */

import { mkdtempSync } from "node:fs"
import { createServer, request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { MAX_BODY_BYTES, MAX_WEBHOOK_BYTES } from "../../../src/http/answers/answer.ts"
import { listen } from "../../../src/http/server/server.ts"
import { REFUSED_WEBHOOKS_PER_MINUTE } from "../../../src/http/webhooks/limits.ts"
import { createGate } from "../../../src/index.ts"
import { noFacts } from "../../../src/ip-intel/facts.ts"
import { limitKey } from "../../../src/lib/ip/address.ts"
import { newOfferToken } from "../../../src/platform-api/shared/offer-token.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { CONNECTIONS_PER_CALLER } from "../../../src/push-channel/connection-table.ts"
import { PushChannel } from "../../../src/push-channel/PushChannel.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { settingsFor, startPlatform } from "../../embedded/support.ts"
import { eventually } from "../../harness/process.ts"
import type { Answered } from "../../harness/wire-document.ts"
import {
  atCapacity,
  awaitedSession,
  platformIsAway,
  platformRefuses,
  platformRefusesRequest,
  relayedSession,
  session,
  type World,
} from "../../support/gate.ts"
import { eventStream, type Reply, rawCall, refusedUpgrade, servedTest, webSocket } from "../../support/gate-server.ts"
import { claimsOf, SECRET, token as signedToken } from "../../support/tokens.ts"
import { REQUEST, rooms, shop, token, VENDOR_WEBHOOK, WEBHOOK } from "../support.ts"
import { codeOf, makeOpenApiCheck, ticketOf } from "./openapi-check.ts"

const NOBODY = "n".repeat(22)
const KEY = "AAAAAAAAAAAAAAAAAAAAAA=="
const foreign = { origin: "https://evil.example" }

const AVAILABILITY = "/api/availability"

const ENDPOINTS = [
  ["POST", REQUEST],
  ["GET", `/api/session/${NOBODY}`],
  ["DELETE", `/api/session/${NOBODY}`],
  ["POST", `/api/session/${NOBODY}/leave`],
  ["POST", `/api/session/${NOBODY}/start`],
  ["POST", `/api/session/${NOBODY}/relay`],
  ["POST", `/api/session/${NOBODY}/silence`],
  ["GET", `/api/session/${NOBODY}/events`],
  ["POST", WEBHOOK],
  ["POST", VENDOR_WEBHOOK],
  ["GET", "/api/events"],
  ["GET", "/api/budgets/team"],
  ["POST", "/api/budgets/team"],
  ["GET", AVAILABILITY],
  ["GET", "/health/live"],
  ["GET", "/health/ready"],
] as const

const openapi = makeOpenApiCheck()

const EVENTS_TOKEN = "the-token-of-the-events"
const events = { Events: { Token: [EVENTS_TOKEN] } }
const withEvents = { ...shop, VoiceAiPlatform: events }

type Ask = Effect.Success<ReturnType<typeof openapi.check>>["ask"]
const readEvents = (ask: Ask, query = "") =>
  ask("GET", `/api/events${query}`, { headers: { authorization: `Bearer ${EVENTS_TOKEN}` } })

const BUDGETS_TOKEN = "the-token-of-the-budgets"
const budgets = {
  Budget: { Token: BUDGETS_TOKEN },
  Budgets: [
    { Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 3 },
    { Name: "own", Of: "caller", Unit: "minutes", Per: "day", Cap: 3 },
  ],
}
const budgetsOf = (ask: Ask) => {
  const headers = { authorization: `Bearer ${BUDGETS_TOKEN}` }
  return {
    read: (path: string) => ask("GET", `/api/budgets/${path}`, { headers }),
    adjust: (name: string, body: unknown, more = {}) =>
      ask("POST", `/api/budgets/${name}`, { body, headers: { ...headers, ...more } }),
  }
}

describe("the document says all of", () => {
  servedTest("the document says all of a ticket's life, and what is wrong with a request", shop, ({ port }) =>
    Effect.gen(function* () {
      const { ask, hangUp, request, start } = yield* openapi.check(port)
      yield* request()
      const ticket = ticketOf(yield* request({}, { origin: "https://shop.example" }))
      const path = `/api/session/${ticket}`
      yield* ask("GET", path)
      yield* ask("HEAD", path)
      assert.deepStrictEqual(codeOf(yield* start(ticket)), [409, "not_your_turn"])
      yield* hangUp(1)
      assert.strictEqual((yield* ask("GET", path)).body.state, "called")
      assert.strictEqual((yield* start(ticket)).status, 200)
      assert.strictEqual((yield* ask("GET", path)).body.state, "live")
      const other = ticketOf(yield* request())
      yield* ask("DELETE", `/api/session/${other}`)
      yield* ask("GET", `/api/session/${other}`)
      const beacon = ticketOf(yield* request())
      const left = yield* ask("POST", `/api/session/${beacon}/leave`, { headers: { "content-type": "text/plain" } })
      assert.strictEqual(left.status, 204)
      assert.strictEqual((yield* ask("GET", `/api/session/${beacon}`)).body.state, "left")
      assert.deepStrictEqual(codeOf(yield* start(other)), [410, "ticket_over"])
      for (const [method, at] of ENDPOINTS) {
        yield* ask(method, at, { headers: foreign })
        yield* ask("PATCH", at)
      }
      assert.strictEqual((yield* ask("GET", AVAILABILITY)).body.state, "open")
      assert.deepStrictEqual(codeOf(yield* ask("GET", `${AVAILABILITY}?campaignId=moon`)), [400, "unknown_campaign"])
      yield* ask("GET", `/api/session/${NOBODY}`)
      yield* start(NOBODY)
      yield* ask("GET", `/api/session/${NOBODY}/events`)
      for (const body of [{ transportType: 9 }, { campaignId: "nobody" }, { regionId: "moon" }, "{"])
        yield* request(body)
      const large = "x".repeat(MAX_BODY_BYTES + 1)
      for (const at of [REQUEST, WEBHOOK]) yield* ask("POST", at, { body: large, headers: token })
      const tooLarge = yield* ask("POST", VENDOR_WEBHOOK, { body: "x".repeat(MAX_WEBHOOK_BYTES + 1) })
      assert.deepStrictEqual(codeOf(tooLarge), [413, "body_too_large"])
      yield* request({}, { "content-type": "text/plain" })
      for (const body of ["{", {}]) yield* ask("POST", WEBHOOK, { body, headers: token })
      for (const path of [REQUEST, WEBHOOK, VENDOR_WEBHOOK]) {
        const compressed = yield* ask("POST", path, { body: {}, headers: { ...token, "content-encoding": "gzip" } })
        assert.deepStrictEqual(codeOf(compressed), [415, "unsupported_media_type"], path)
      }
      yield* ask("POST", WEBHOOK, { body: {} })
    }),
  )

  servedTest(
    "the document says all of the events for the host, and what is wrong with a request for them",
    withEvents,
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, request } = yield* openapi.check(port)
        yield* request({ metadata: { order: "7" } })
        const page = yield* readEvents(ask)
        assert.deepInclude(page, { status: 200 })
        assert.deepInclude(page.body, { next: "2", more: false })
        for (const [query, status, code] of [
          ["?after=9", 410, "cursor_expired"],
          ["?limit=x", 400, "invalid_request"],
          ["?campaign=moon", 401, "events_unauthorized"],
        ] as const) {
          assert.deepStrictEqual(codeOf(yield* readEvents(ask, query)), [status, code])
        }
        assert.deepStrictEqual(codeOf(yield* ask("GET", "/api/events")), [401, "events_unauthorized"])
        const change = { by: 1, id: "change-1", reason: "a test" }
        assert.deepStrictEqual(codeOf(yield* budgetsOf(ask).adjust("team", change)), [404, "not_found"])
      }),
  )

  servedTest(
    "the document says all of budgets, and of callers for whom nothing is left",
    { ...shop, VoiceAiPlatform: budgets },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, called, hangUp, request, start } = yield* openapi.check(port)
        const { adjust, read } = budgetsOf(ask)
        const change = (by: number) => ({ by, id: `change-${Math.abs(by)}`, reason: "a test" })
        const caller = "127.0.0.1"
        const ticket = yield* called()
        assert.deepInclude((yield* read("team")).body, { budget: "team", held: 0, cap: 3 })
        assert.deepInclude((yield* read(`own?caller=${caller}`)).body, { of: "caller", held: 0 })
        assert.deepStrictEqual(codeOf(yield* read("own")), [404, "unknown_budget"])
        assert.deepStrictEqual(codeOf(yield* read("own?caller=nobody")), [400, "invalid_request"])
        assert.deepStrictEqual(codeOf(yield* read("team?campaign=moon")), [401, "budgets_unauthorized"])
        assert.deepStrictEqual(codeOf(yield* ask("GET", "/api/budgets/team")), [401, "budgets_unauthorized"])
        const anonymous = yield* ask("POST", "/api/budgets/team", { body: change(1) })
        assert.deepStrictEqual(codeOf(anonymous), [401, "budgets_unauthorized"])
        assert.deepStrictEqual(codeOf(yield* adjust("none", change(1))), [404, "unknown_budget"])
        assert.deepStrictEqual(codeOf(yield* adjust("team", {})), [400, "invalid_request"])
        assert.deepStrictEqual(codeOf(yield* adjust("team", "{")), [400, "malformed_json"])
        const large = yield* adjust("team", "x".repeat(MAX_BODY_BYTES + 1))
        assert.deepStrictEqual(codeOf(large), [413, "body_too_large"])
        const typed = yield* adjust("team", "{}", { "content-type": "text/plain" })
        assert.deepStrictEqual(codeOf(typed), [415, "unsupported_media_type"])
        assert.deepInclude((yield* adjust("team", change(-3))).body, { adjusted: -3 })
        assert.deepStrictEqual(codeOf(yield* start(ticket)), [503, "budget_exhausted"])
        assert.deepStrictEqual(codeOf(yield* request()), [503, "budget_exhausted"])
        assert.deepInclude(yield* adjust("team", change(5)), { status: 200 })
        yield* hangUp(1)
        yield* request()
        const next = ticketOf(yield* request())
        yield* hangUp(2)
        assert.deepInclude(yield* adjust("own", { ...change(-4), caller }), { status: 200 })
        assert.deepStrictEqual(codeOf(yield* start(next)), [429, "budget_exhausted"])
        assert.deepStrictEqual(codeOf(yield* request()), [429, "budget_exhausted"])
        assert.deepInclude((yield* read("own?subject=ada")).body, { adjusted: 0 })
      }),
  )

  servedTest("the document says all of a vendor's webhook", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask, request } = yield* openapi.check(port)
      yield* request()
      const receive = (verdict: typeof world.webhook) => {
        world.webhook = verdict
        return ask("POST", VENDOR_WEBHOOK, { body: {}, headers: { "content-type": "application/webhook+json" } })
      }
      assert.deepStrictEqual(codeOf(yield* receive({ _tag: "unexpected" })), [404, "not_found"])
      const refused = yield* receive({ _tag: "refused", reason: "The signature is wrong." })
      assert.deepStrictEqual(codeOf(refused), [401, "webhook_unauthorized"])
      assert.include(refused.body.message, "The signature is wrong.")
      assert.deepInclude(yield* receive({ _tag: "ignored" }), { status: 200, body: { released: false } })
      const ended = { _tag: "ended", sessions: [session(1).sessionIds] } as const
      assert.deepInclude(yield* receive(ended), { status: 200, body: { released: true } })
      assert.deepInclude(yield* receive(ended), { status: 200, body: { released: false } })
      world.webhookRefusal = { _tag: "refused", reason: "The signature is missing." }
      assert.deepStrictEqual(codeOf(yield* receive(ended)), [401, "webhook_unauthorized"])
    }),
  )

  servedTest("the document says all of a vendor's webhook after many refused ones", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask } = yield* openapi.check(port)
      world.webhook = { _tag: "refused", reason: "The signature is wrong." }
      const receive = ask("POST", VENDOR_WEBHOOK, { body: {} })
      for (let n = 0; n < REFUSED_WEBHOOKS_PER_MINUTE; n++) yield* receive
      assert.deepStrictEqual(codeOf(yield* receive), [429, "rate_limited"])
    }),
  )

  servedTest("the document says all of a vendor's long webhook", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask } = yield* openapi.check(port)
      world.webhook = { _tag: "ignored" }
      // with the transcript of a long call
      const long = yield* ask("POST", VENDOR_WEBHOOK, { body: { transcript: "x".repeat(MAX_BODY_BYTES * 4) } })
      assert.deepInclude(long, { status: 200 })
    }),
  )

  /** A caller whose page may make an offer. */
  const awaits = (world: World, request: () => Effect.Effect<Pick<Reply, "body">>) =>
    Effect.gen(function* () {
      const awaited = awaitedSession(Date.now())
      world.initiate = () => Effect.succeed(awaited)
      const ticket = ticketOf(yield* request())
      const { credential } = awaited
      return { ticket, token: credential?.shape === "sdp-relay" ? credential.token : "" }
    })

  servedTest(
    "the document says all of a report of silence, and what is wrong with one",
    { ...shop, VoiceAiPlatform: { SilenceSeconds: 30 } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, hangUp, request } = yield* openapi.check(port)
        const ticket = ticketOf(yield* request())
        const report = (body: unknown, of = ticket, headers = {}) =>
          ask("POST", `/api/session/${of}/silence`, { body, headers })
        assert.strictEqual((yield* report({ seconds: 5 })).status, 200)
        assert.strictEqual((yield* ask("GET", `/api/session/${ticket}`)).body.silenceSeconds, 30)
        assert.deepInclude(yield* report({ seconds: 0 }), { status: 200, body: { endsAt: null } })
        assert.deepStrictEqual(codeOf(yield* report({ seconds: -1 })), [400, "invalid_request"])
        assert.deepStrictEqual(codeOf(yield* report("{")), [400, "malformed_json"])
        assert.deepStrictEqual(codeOf(yield* report({ seconds: 5 }, NOBODY)), [404, "ticket_unknown"])
        const large = yield* report("x".repeat(MAX_BODY_BYTES + 1))
        assert.deepStrictEqual(codeOf(large), [413, "body_too_large"])
        const typed = yield* report("{}", ticket, { "content-type": "text/plain" })
        assert.deepStrictEqual(codeOf(typed), [415, "unsupported_media_type"])
        yield* hangUp(1)
        assert.deepStrictEqual(codeOf(yield* report({ seconds: 5 })), [410, "ticket_over"])
      }),
  )

  servedTest("the document says all of an offer, and what is wrong with one", shop, ({ port, world }) =>
    Effect.gen(function* () {
      const { ask, relay, request } = yield* openapi.check(port)
      const { ticket, token } = yield* awaits(world, request)
      const path = `/api/session/${ticket}/relay`
      const sdp = { "content-type": "application/sdp" }
      assert.deepStrictEqual(codeOf(yield* ask("POST", path, { body: "v=0\r\n" })), [415, "unsupported_media_type"])
      const large = yield* ask("POST", path, { body: `v=0\n${"x".repeat(MAX_BODY_BYTES)}`, headers: sdp })
      assert.deepStrictEqual(codeOf(large), [413, "body_too_large"])
      assert.deepStrictEqual(codeOf(yield* relay(ticket, token, "offer")), [400, "invalid_request"])
      assert.deepStrictEqual(codeOf(yield* ask("POST", path, { body: "v=0\n", headers: sdp })), [
        401,
        "credential_refused",
      ])
      assert.deepStrictEqual(codeOf(yield* relay(NOBODY, token)), [404, "ticket_unknown"])
      assert.deepStrictEqual(world.offers, [])
      const { headers, status, text } = yield* relay(ticket, token)
      assert.deepStrictEqual([status, text], [201, relayedSession(1).answer])
      assert.strictEqual(headers.location, "/v1/realtime/calls/call-1")
      assert.deepStrictEqual(codeOf(yield* relay(ticket, token)), [409, "credential_used"])
      yield* ask("POST", WEBHOOK, { body: { WebSessionId: "call-1" }, headers: { "x-api-token": "the-webhook-token" } })
      assert.deepStrictEqual(codeOf(yield* relay(ticket, token)), [410, "ticket_over"])
    }),
  )

  for (const [status, code, how] of [
    [409, "agent_busy", () => Effect.fail(atCapacity)],
    [409, "agent_unavailable", () => Effect.fail(platformIsAway)],
    [422, "request_refused", () => Effect.fail(platformRefusesRequest)],
    [503, "platform_unavailable", () => Effect.succeed({ ...relayedSession(1), sessionIds: ["web-7"] })],
  ] as const) {
    servedTest(`the document says all of an offer that ends as ${code}`, shop, ({ port, world }) =>
      Effect.gen(function* () {
        const { hangUp, relay, request } = yield* openapi.check(port)
        yield* hangUp(7)
        const { ticket, token } = yield* awaits(world, request)
        world.relay = how
        assert.deepStrictEqual(codeOf(yield* relay(ticket, token)), [status, code])
      }),
    )
  }

  servedTest("the document says all of a push channel and its events", shop, ({ port, url }) =>
    Effect.gen(function* () {
      const { ask, document, hangUp, judge, request } = yield* openapi.check(port)
      yield* request()
      const ticket = ticketOf(yield* request())
      const path = `/api/session/${ticket}/events`
      const stream = yield* eventStream(url + path)
      const socket = yield* webSocket(url + path)
      socket.send("nonsense")
      yield* socket.waitFor("the message is refused", (events) => events.some(({ type }) => type === "error"))
      yield* hangUp(1)
      yield* stream.waitFor("the start call", (events) => events.some(({ type }) => type === "start_call"))
      socket.send('{"type":"start"}')
      yield* socket.waitFor("the session", (events) => events.some(({ type }) => type === "session"))
      yield* hangUp(2)
      yield* stream.waitFor("the end", (events) => events.some(({ type }) => type === "ended"))
      judge("GET", path, { status: 200, headers: Object.fromEntries(stream.headers), text: stream.text() })
      for (const event of socket.events) assert.isUndefined(document.eventObjection(event), JSON.stringify(event))
      assert.isDefined(document.eventObjection({ type: "position" }))
      // a refused upgrade is answered by hand
      judge("GET", path, yield* refusedUpgrade(port, path, foreign))
      const unknown = `/api/session/${NOBODY}/events`
      judge("GET", unknown, yield* refusedUpgrade(port, unknown))
      // the handshake that is taken
      const opened = yield* Effect.promise(
        () =>
          new Promise<{ status: number; headers: Answered["headers"]; text: string }>((resolve, reject) => {
            const handshake = httpRequest({
              port,
              host: "127.0.0.1",
              path,
              headers: {
                connection: "Upgrade",
                upgrade: "websocket",
                "sec-websocket-version": "13",
                "sec-websocket-key": KEY,
              },
            })
            handshake.on("error", reject)
            handshake.on("upgrade", (response, stays) => {
              stays.destroy()
              resolve({ status: response.statusCode ?? 0, headers: response.headers, text: "" })
            })
            handshake.end()
          }),
      )
      judge("GET", path, opened)
      const channel = yield* PushChannel
      const connection = { send: () => {}, backlog: () => 0, ping: () => true, close: () => {} }
      for (let n = 0; n < CONNECTIONS_PER_CALLER; n++) {
        yield* Effect.ignore(channel.open(`ticket-${n}`, limitKey("127.0.0.1"), connection))
      }
      assert.deepStrictEqual(codeOf(yield* ask("GET", path)), [429, "too_many_connections"])
    }),
  )

  servedTest(
    "the document says all of a Host that is not the gate's",
    { Server: { AllowedHosts: ["gate.example"] } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask } = yield* openapi.check(port, "gate.example")
        for (const [method, path] of ENDPOINTS) {
          const { status } = yield* ask(method, path, { headers: { host: "evil.example" } })
          assert.strictEqual(status, 421, path)
        }
      }),
  )

  servedTest("the document says all of a header that was sent twice", {}, ({ port }) =>
    Effect.gen(function* () {
      const { judge } = yield* openapi.check(port)
      for (const [method, path] of ENDPOINTS) {
        const headers = ["host", "gate", "origin", "https://one.example", "origin", "https://two.example"]
        const answer = yield* rawCall(port, { method, path, headers })
        assert.deepStrictEqual(codeOf(judge(method, path, answer)), [400, "repeated_header"], path)
      }
    }),
  )

  servedTest(
    "the document says all of a blocked address and a platform that refuses",
    { ...shop, Queue: { OnPlatformRefusal: "refuse" } },
    ({ port, world }) =>
      Effect.gen(function* () {
        const { hangUp, request } = yield* openapi.check(port)
        world.lookup = () => Effect.succeed({ ...noFacts, tor: true })
        assert.deepStrictEqual(codeOf(yield* request()), [403, "blocked"])
        world.lookup = () => Effect.succeed(noFacts)
        world.initiate = () => Effect.fail(platformRefusesRequest)
        assert.deepStrictEqual(codeOf(yield* request()), [422, "request_refused"])
        yield* hangUp(7)
        world.initiate = () => Effect.succeed(session(7))
        assert.deepStrictEqual(codeOf(yield* request()), [503, "platform_unavailable"])
        world.initiate = () => Effect.fail(platformRefuses)
        assert.deepStrictEqual(codeOf(yield* request()), [502, "platform_rejected"])
      }),
  )

  servedTest(
    "the document says all of a caller who must say who calls",
    { ...shop, Identity: { Required: true, JwksUrl: "http://127.0.0.1:1/keys", Audience: "gate", Secrets: [SECRET] } },
    ({ port }) =>
      Effect.gen(function* () {
        const { request } = yield* openapi.check(port)
        assert.deepStrictEqual(codeOf(yield* request()), [401, "identity_required"])
        assert.deepStrictEqual(codeOf(yield* request({ identity: "x" })), [401, "identity_refused"])
        assert.deepStrictEqual(codeOf(yield* request({}, { authorization: "Bearer x" })), [401, "identity_refused"])
        const unknown = signedToken(claimsOf("ada", { aud: "gate" }), { alg: "RS256", kid: "1" })
        assert.deepStrictEqual(codeOf(yield* request({ identity: unknown })), [503, "identity_unavailable"])
      }),
  )

  for (const [code, how] of [
    ["agent_busy", () => Effect.fail(atCapacity)],
    ["agent_unavailable", () => Effect.fail(platformIsAway)],
    ["request_refused", () => Effect.fail(platformRefusesRequest)],
    ["platform_unavailable", () => Effect.succeed(session(7))],
  ] as const) {
    servedTest(`the document says all of a start that ends as ${code}`, shop, ({ port, world }) =>
      Effect.gen(function* () {
        const { called, hangUp, start } = yield* openapi.check(port)
        const ticket = yield* called()
        yield* hangUp(7)
        world.initiate = how
        assert.strictEqual((yield* start(ticket)).body.code, code)
      }),
    )
  }

  servedTest("the document says all of a start in progress, and a gate that drains", shop, ({ drain, port, world }) =>
    Effect.gen(function* () {
      const { ask, called, relay, request, start } = yield* openapi.check(port)
      const ticket = yield* called()
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      const first = yield* Effect.forkChild(start(ticket))
      yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
      assert.deepStrictEqual(codeOf(yield* start(ticket)), [409, "start_in_progress"])
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(first)
      yield* drain
      assert.deepStrictEqual(codeOf(yield* relay(ticket, "")), [503, "draining"])
      assert.deepStrictEqual(codeOf(yield* request()), [503, "draining"])
      assert.deepStrictEqual(codeOf(yield* start(ticket)), [503, "draining"])
      assert.deepStrictEqual(codeOf(yield* ask("GET", "/health/ready")), [503, "not_ready"])
    }),
  )

  servedTest("the document says all of limits and a full queue", { Security: { RateLimitHourly: 1 } }, ({ port }) =>
    Effect.gen(function* () {
      const { request } = yield* openapi.check(port)
      yield* request()
      const limited = yield* request()
      assert.deepStrictEqual(codeOf(limited), [429, "rate_limited"])
      assert.isString(limited.headers["ratelimit-policy"])
    }),
  )

  servedTest("the document says all of a full queue", { Queue: { MaxLength: 1 } }, ({ port }) =>
    Effect.gen(function* () {
      const { request } = yield* openapi.check(port)
      yield* request()
      yield* request()
      assert.deepStrictEqual(codeOf(yield* request()), [503, "queue_full"])
    }),
  )

  const OFFERS = ["Call us tel:+4930123456", "Write to us https://shop.example/", "Sales campaign:sales"]
  const overflowing = {
    Overflow: { AfterSeconds: 0, Offers: OFFERS },
    Campaigns: { sales: { WebCampaignId: "campaign-2", Overflow: { Offers: OFFERS[0] } } },
  }

  servedTest(
    "the document says all of offers",
    { Queue: { MaxLength: 1 }, VoiceAiPlatform: { MaxConcurrency: 1, ...overflowing } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, request } = yield* openapi.check(port)
        yield* request()
        const waits = yield* request()
        assert.strictEqual(waits.status, 202)
        const ticket = ticketOf(waits)
        const offers = [
          { kind: "number", label: "Call us", target: "tel:+4930123456" },
          { kind: "link", label: "Write to us", target: "https://shop.example/" },
          { kind: "campaign", label: "Sales", target: "sales" },
        ]
        assert.deepInclude((yield* ask("GET", `/api/session/${ticket}`)).body, { offers })
        const full = yield* request()
        assert.deepStrictEqual(codeOf(full), [503, "queue_full"])
        assert.deepInclude(full.body, { offers })
        assert.strictEqual((yield* ask("DELETE", `/api/session/${ticket}?taken=link`)).status, 204)
      }),
  )

  servedTest(
    "the document says all of a campaign that is closed",
    { VoiceAiPlatform: { Hours: { Zone: "UTC", Closed: "Jan 1 to Dec 31" }, ...overflowing } },
    ({ port }) =>
      Effect.gen(function* () {
        const { request } = yield* openapi.check(port)
        const closed = yield* request()
        assert.deepStrictEqual(codeOf(closed), [503, "closed"])
        assert.strictEqual(closed.headers["retry-after"], "86400")
        // the other campaign is closed too
        assert.deepInclude(closed.body, {
          offers: [
            { kind: "number", label: "Call us", target: "tel:+4930123456" },
            { kind: "link", label: "Write to us", target: "https://shop.example/" },
          ],
        })
      }),
  )

  servedTest(
    "the document says all of an address that sends too many requests",
    { Security: { StatusPerMinute: 1 } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, request } = yield* openapi.check(port)
        for (const [method, path] of ENDPOINTS.slice(1, 8)) {
          yield* ask(method, path)
          assert.deepStrictEqual(codeOf(yield* ask(method, path)), [429, "rate_limited"], path)
        }
        yield* request({ uniqueRequestId: NOBODY })
        const often = yield* request({ uniqueRequestId: NOBODY })
        assert.deepStrictEqual(codeOf(often), [429, "rate_limited"])
        assert.isUndefined(often.headers["ratelimit-policy"])
      }),
  )

  /** A store that becomes unavailable, or fails, on demand. */
  const failing: { as: Effect.Effect<void, StoreUnavailable> } = { as: Effect.void }
  const store = Layer.effect(
    Store,
    Effect.map(Store, (real) => ({
      ...real,
      run: (rule, ask) => Effect.andThen(failing.as, real.run(rule, ask)),
      ping: Effect.andThen(
        Effect.suspend(() => failing.as),
        real.ping,
      ),
    })),
  ).pipe(Layer.provide(memory.layer))
  const away = new StoreUnavailable({ message: "away" })
  for (const [what, as, status, code] of [
    ["a store that is away", Effect.fail(away), 503, "store_unavailable"],
    ["a fault of the gate", Effect.die("a fault"), 500, "internal_error"],
  ] as const) {
    servedTest(
      what,
      { ...shop, VoiceAiPlatform: { ...rooms.VoiceAiPlatform, ...events, ...budgets } },
      ({ port, world }) =>
        Effect.gen(function* () {
          const { ask, hangUp, relay, request, start } = yield* openapi.check(port)
          world.webhook = { _tag: "ended", sessions: [["web-1"]] }
          yield* request()
          const ticket = ticketOf(yield* request())
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              failing.as = as
            }),
            () =>
              Effect.sync(() => {
                failing.as = Effect.void
              }),
          )
          const path = `/api/session/${ticket}`
          for (const reply of [yield* request(), yield* ask("GET", `${path}/events`)]) {
            assert.strictEqual(codeOf(reply).join(" "), `${status} ${code}`)
          }
          const left = [yield* ask("DELETE", path), yield* ask("POST", `${path}/leave`)]
          left.push(yield* relay(ticket, newOfferToken(1_800_000_000)))
          left.push(yield* ask("POST", `${path}/silence`, { body: { seconds: 5 } }))
          for (const reply of [yield* ask("GET", path), yield* start(ticket), ...left]) {
            assert.strictEqual(codeOf(reply).join(" "), `${status} ${code}`)
          }
          const { adjust, read } = budgetsOf(ask)
          const change = { by: 1, id: "change-1", reason: "a test" }
          for (const reply of [yield* readEvents(ask), yield* read("team"), yield* adjust("team", change)])
            assert.strictEqual(codeOf(reply).join(" "), `${status} ${code}`)
          yield* ask("GET", "/health/ready")
          yield* ask("POST", VENDOR_WEBHOOK, { body: {} })
          yield* hangUp(1)
        }),
      {},
      { store },
    )
  }

  it.live("the document says all of a gate that is mounted behind a body parser, and then closed", () =>
    Effect.gen(function* () {
      const platform = yield* Effect.acquireRelease(Effect.promise(startPlatform), ({ close }) => Effect.promise(close))
      const settings = settingsFor(platform)
      const retell = { Platform: "retell", MaxConcurrency: 1, Retell: { ApiKey: "key-of-retell", AgentId: "agent" } }
      const VoiceAiPlatform = { ...settings.VoiceAiPlatform, ...budgets, Campaigns: { retell } }
      const gate = yield* Effect.promise(() => createGate({ ...settings, VoiceAiPlatform }, { log: () => {} }))
      const server = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createServer((request, response) => {
            if (request.method !== "POST") return gate.handler(request, response)
            request.resume().on("end", () => gate.handler(request, response))
          }),
        ),
        (running) => Effect.sync(() => running.close().closeAllConnections()),
      )
      const { ask, judge, relay, request } = yield* openapi.check(yield* listen(server, "127.0.0.1", 0))
      assert.deepStrictEqual(codeOf(yield* request()), [500, "body_already_read"])
      const signature = { "x-retell-signature": `v=${Date.now()},d=${"0".repeat(64)}` }
      const paths = [WEBHOOK, "/api/webhook/retell"]
      for (const at of paths) yield* ask("POST", at, { body: {}, headers: signature })
      assert.deepStrictEqual(codeOf(yield* relay(NOBODY, "")), [500, "body_already_read"])
      const report = yield* ask("POST", `/api/session/${NOBODY}/silence`, { body: { seconds: 5 } })
      assert.deepStrictEqual(codeOf(report), [500, "body_already_read"])
      const adjusted = yield* budgetsOf(ask).adjust("team", {})
      assert.deepStrictEqual(codeOf(adjusted), [500, "body_already_read"])
      // a server on a socket file knows no addresses
      const socketPath = join(mkdtempSync(join(tmpdir(), "voicegate-")), "gate.sock")
      const local = createServer(gate.handler).listen(socketPath)
      yield* Effect.addFinalizer(() => Effect.sync(() => local.close().closeAllConnections()))
      const headers = { "content-type": "application/json" }
      const unnamed = yield* rawCall(0, { socketPath, method: "POST", path: REQUEST, headers }, "{}")
      assert.deepStrictEqual(codeOf(judge("POST", REQUEST, unnamed)), [400, "no_client_address"])
      yield* Effect.promise(() => gate.close())
      for (const [method, path] of ENDPOINTS) {
        assert.deepStrictEqual(codeOf(yield* ask(method, path)), [503, "gate_closed"])
      }
    }).pipe(Effect.scoped),
  )
})

it("an answer that the document does not describe completely is detected", () => {
  const [document] = openapi.documents
  const json = "application/json; charset=utf-8"
  const body = { uniqueRequestId: NOBODY, state: "live" }
  const answered = { method: "GET", path: `/api/session/${NOBODY}`, status: 200, headers: { "content-type": json } }
  const objection = (more: Partial<Answered>) =>
    document?.objection({ ...answered, text: JSON.stringify(body), ...more }) ?? ""
  assert.strictEqual(objection({}), "")
  assert.include(objection({ status: 418 }), "418 is not documented")
  assert.include(objection({ headers: { ...answered.headers, "x-new": "1" } }), "x-new is not documented")
  assert.include(objection({ headers: { ...answered.headers, "cache-control": "public" } }), "cache-control")
  assert.include(objection({ headers: { "content-type": "text/html" } }), "text/html is not documented")
  assert.include(objection({ text: JSON.stringify({ ...body, more: 1 }) }), "additional properties")
  assert.include(objection({ status: 429 }), "retry-after is missing")
  assert.include(objection({ method: "PUT" }), "a method that is not documented")
})

it("the document lists nothing that no gate answers", () => {
  const [document] = openapi.documents
  assert.isDefined(document)
  assert.deepStrictEqual(
    [...(document?.kinds ?? [])].filter((kind) => !openapi.seen.has(kind)),
    [],
  )
})
