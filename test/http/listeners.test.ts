/** The gate's routes over a real server. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { eventually } from "../../scripts/harness/process.ts"
import type { FifoQueue } from "../../src/FifoQueue.ts"
import { RETRY_MILLIS } from "../../src/gatekeeper/give-back.ts"
import { MAX_BODY_BYTES } from "../../src/http/answer.ts"
import * as Routes from "../../src/http/routes.ts"
import { sign } from "../../src/http/webhook.ts"
import { IpIntelFailed, noFacts } from "../../src/IpIntel.ts"
import { begin, enqueue, figures, hangUp, platformRefuses, remaining, session, stateOf } from "../support/gate.ts"
import { call, post, rawCall, servedTest, textField } from "../support/gate-server.ts"

const REQUEST = "/api/session/request"
const WEBHOOK = "/api/webhook/session-ended"
const origin = (value: string) => ({ origin: value })
const shop = { Security: { AllowedOrigins: ["https://shop.example"], WebhookApiToken: "the-webhook-token" } }
const token = { "x-api-token": "the-webhook-token" }

describe("a session request", () => {
  servedTest(
    "is answered 200, then 202 with a place, and a ticket can be asked for, started and given up",
    shop,
    ({ url }) =>
      Effect.gen(function* () {
        const started = yield* post(url + REQUEST, { dynamicVariables: { a: "b" } })
        expect(started.status).toBe(200)
        expect(started.body).toEqual({
          status: "started",
          webSocketUrl: session(1).webSocketUrl,
          sessionId: "web-1",
          uniqueRequestId: expect.any(String),
        })
        expect(started.headers.get("cache-control")).toBe("no-store")
        expect(started.headers.get("x-content-type-options")).toBe("nosniff")

        const queued = yield* post(url + REQUEST)
        const ticket = textField(queued, "uniqueRequestId")
        expect(queued.status).toBe(202)
        expect(queued.body).toEqual({
          status: "queued",
          uniqueRequestId: ticket,
          queuePosition: 1,
          estimatedWaitSeconds: null,
          eventsUrl: `/api/session/${ticket}/events`,
        })

        const early = yield* post(`${url}/api/session/${ticket}/start`)
        expect([early.status, early.body.code, early.body.queuePosition]).toEqual([409, "not_your_turn", 1])
        const status = yield* call(`${url}/api/session/${ticket}`)
        expect([status.status, status.body.state]).toEqual([200, "waiting"])
        expect(status.headers.get("cache-control")).toBe("no-store")

        const ended = yield* post(url + WEBHOOK, { ConversationSessionId: "conversation-1" }, token)
        expect([ended.status, ended.body]).toEqual([200, { released: true }])
        const session2 = yield* call(`${url}/api/session/${ticket}/start`, { method: "POST" })
        expect([session2.status, session2.body.webSocketUrl]).toEqual([200, session(2).webSocketUrl])

        const other = textField(yield* post(url + REQUEST), "uniqueRequestId")
        for (let n = 0; n < 2; n++) {
          const left = yield* call(`${url}/api/session/${other}`, { method: "DELETE" })
          expect([left.status, left.text]).toEqual([204, ""])
        }
        const over = yield* post(`${url}/api/session/${other}/start`)
        expect([over.status, over.body.code, over.body.state]).toEqual([410, "ticket_over", "left"])
      }),
  )

  servedTest("that is refused is a problem document", {}, ({ url, world }) =>
    Effect.gen(function* () {
      const expectProblem = Effect.fnUntraced(function* (status: number, code: string, body: unknown = {}) {
        const reply = yield* post(url + REQUEST, body)
        expect([reply.status, reply.body.code]).toEqual([status, code])
        expect(reply.headers.get("content-type")).toMatch(/^application\/problem\+json/)
        expect(reply.body.message).toEqual(expect.any(String))
        expect(reply.text).not.toContain("the-platform-key")
        return reply
      })
      const invalid = yield* expectProblem(400, "invalid_request", { transportType: 9 })
      expect(invalid.body.errors).toEqual([{ field: "transportType", message: expect.any(String) }])
      yield* expectProblem(400, "invalid_request", [])
      yield* expectProblem(400, "unknown_campaign", { campaignId: "nobody" })
      yield* expectProblem(400, "region_not_allowed", { regionId: "moon" })
      world.lookup = () => Effect.succeed({ ...noFacts, tor: true })
      expect((yield* expectProblem(403, "blocked")).body.reason).toBe("tor")
      world.lookup = () => Effect.fail(new IpIntelFailed({ provider: "p", reason: "timeout", message: "p timed out" }))
      world.initiate = () => Effect.fail(platformRefuses)
      const rejected = yield* expectProblem(502, "platform_rejected")
      expect(rejected.headers.get("retry-after")).toBe("60")
      // a session that ended before its start was answered
      yield* post(`${url}/api/webhook/session-ended`, { WebSessionId: "web-7" })
      world.initiate = () => Effect.succeed(session(7))
      yield* expectProblem(503, "platform_unavailable")
    }),
  )

  servedTest("is answered in UTF-8, with any letters", {}, ({ url }) =>
    Effect.gen(function* () {
      for (const name of ["page", "größe", "名前", "😀", "\u00a0"]) {
        const reply = yield* post(`${url}/api/session/request`, { dynamicVariables: { [name]: 1 } })
        expect(reply.headers.get("content-length")).toBe(String(Buffer.byteLength(reply.text)))
        expect(reply.body.errors).toMatchObject([{ field: `dynamicVariables.${name}` }])
      }
    }),
  )

  servedTest("beyond the rate limit is told when to retry", { Security: { RateLimitHourly: 1 } }, ({ url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      const limited = yield* post(url + REQUEST)
      expect(limited.status).toBe(429)
      const seconds = Number(limited.headers.get("retry-after"))
      expect(seconds).toBeGreaterThan(3590)
      expect(limited.headers.get("ratelimit")).toBe(`"hour";r=0;t=${seconds}`)
      expect(limited.headers.get("ratelimit-policy")).toBe(
        '"hour";q=1;w=3600, "day";q=100;w=86400, "concurrent";q=3;qu="concurrent-requests"',
      )
    }),
  )

  servedTest("beyond the queue's length is told when to retry", { Queue: { MaxLength: 1 } }, ({ url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      yield* post(url + REQUEST)
      const full = yield* post(url + REQUEST)
      expect([full.status, full.body.code, full.headers.get("retry-after")]).toEqual([503, "queue_full", "10"])
    }),
  )

  servedTest("must be well-formed JSON of a limited size", {}, ({ port, url, world }) =>
    Effect.gen(function* () {
      const send = (body: string, type: string) =>
        call(url + REQUEST, { method: "POST", body, headers: { "content-type": type } })
      for (const type of [
        "text/plain",
        "application/jsonp",
        "multipart/form-data",
        "application/x-www-form-urlencoded",
      ]) {
        expect((yield* send("{}", type)).status).toBe(415)
      }
      for (const body of ["", "{", "{'a':1}", "\u0000", '{"a":1}}', "[".repeat(60_000)]) {
        const reply = yield* send(body, "application/json")
        expect([reply.status, reply.body.code]).toEqual([400, "malformed_json"])
      }
      expect(world.initiated).toEqual([])
      expect((yield* send("{}", "application/json; charset=utf-8")).status).toBe(200)
      expect((yield* send("{}", "application/vnd.shop+json")).status).toBe(202)
      const padded = (bytes: number) => `{"a":"${"x".repeat(bytes - 8)}"}`
      expect((yield* send(padded(MAX_BODY_BYTES), "application/json")).status).toBe(202)
      const large = yield* rawCall(
        port,
        { path: REQUEST, method: "POST", headers: { "content-type": "application/json" } },
        padded(MAX_BODY_BYTES + 1),
      )
      expect([large.status, large.body.code]).toEqual([413, "body_too_large"])
      const chunked = yield* rawCall(
        port,
        {
          path: REQUEST,
          method: "POST",
          headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
        },
        padded(MAX_BODY_BYTES + 1),
      )
      expect([chunked.status, chunked.headers.connection]).toEqual([413, "close"])
      expect((yield* send(padded(8_000_000), "application/json")).status).toBe(413)
    }),
  )

  servedTest(
    "that never ends blocks no other request, and leaves nothing when its sender disconnects",
    {},
    ({ log, port, url, world }) =>
      Effect.gen(function* () {
        const slow = connect(port, "127.0.0.1")
        slow.on("error", () => {})
        slow.write(
          `POST ${REQUEST} HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":`,
        )
        expect((yield* post(url + REQUEST)).status).toBe(200)
        slow.destroy()
        yield* Effect.promise(() => eventually("it is logged", () => log().split("\n").length > 2))
        expect(world.initiated).toHaveLength(1)
      }),
  )

  /** Sends a request on a connection of its own, and answers how to end it before the answer comes. */
  const sent = (port: number, body: unknown = {}) => {
    const text = JSON.stringify(body)
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    socket.write(
      `POST ${REQUEST} HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    )
    return socket
  }

  for (const [how, goes] of [
    ["cuts the connection", (socket: Socket) => socket.resetAndDestroy()],
    ["closes its end of the connection", (socket: Socket) => socket.end()],
  ] as const) {
    servedTest(`whose sender ${how} before the answer keeps no place`, {}, ({ log, port, url, world }) =>
      Effect.gen(function* () {
        yield* post(url + REQUEST)
        const answer = yield* Deferred.make<void>()
        world.lookup = () => Effect.as(Deferred.await(answer), noFacts)
        const socket = sent(port)
        yield* Effect.promise(() => eventually("the address is looked up", () => world.looked.length === 2))
        goes(socket)
        // until node has seen it
        yield* Effect.sleep(100)
        yield* Deferred.succeed(answer, undefined)
        yield* Effect.promise(() => eventually("it is logged", () => log().split("\n").length > 2))
        const waiting = (what: string, count: number) =>
          Effect.promise(() => eventually(what, async () => (await Effect.runPromise(queued)).waiting === count, 5_000))
        const queued = Effect.provideContext(figures(), yield* Effect.context<FifoQueue>())
        yield* waiting("the place is free again", 0)
        expect(yield* remaining("127.0.0.1")).toBe(19)
      }),
    )
  }

  servedTest("whose sender closes after the answer, or names its ticket, keeps its place", {}, ({ port, url, world }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      const socket = sent(port)
      const [head] = yield* Effect.promise(() => once(socket, "data"))
      const ticket = /"uniqueRequestId":"([^"]+)"/.exec(String(head))?.[1] ?? ""
      socket.resetAndDestroy()
      yield* Effect.sleep(2 * RETRY_MILLIS)
      expect(yield* stateOf(ticket)).toBe("waiting")

      // a page that reloads while it asks for its ticket: its answer is not the only one that names it
      const routes = yield* Effect.provide(Routes.Routes, Routes.layer(""))
      const known = yield* routes.request(JSON.stringify({ uniqueRequestId: ticket }), "127.0.0.1")
      const news = yield* routes.request(JSON.stringify({ uniqueRequestId: "long over" }), "127.0.0.1")
      expect([known.outcome, known.newTicket]).toEqual(["queued", undefined])
      expect([news.outcome, news.newTicket]).toEqual(["queued", JSON.parse(news.body).uniqueRequestId])
      expect(world.initiated).toHaveLength(1)
    }),
  )

  servedTest("is also accepted from clients that offer HTTP/2", {}, ({ port }) =>
    Effect.gen(function* () {
      const headers = {
        "content-type": "application/json",
        connection: "Upgrade, HTTP2-Settings",
        upgrade: "h2c",
        "http2-settings": "AAMAAABkAAQAAP__",
      }
      expect((yield* rawCall(port, { path: REQUEST, method: "POST", headers }, "{}")).status).toBe(200)
    }),
  )

  servedTest(
    "counts for the address that a trusted proxy reports, otherwise for the socket's",
    { Security: { RateLimitHourly: 1, TrustedProxies: ["127.0.0.1"] } },
    ({ url, world }) =>
      Effect.gen(function* () {
        const from = (forwarded: string) => post(url + REQUEST, {}, { "x-forwarded-for": forwarded })
        expect((yield* from("198.51.100.1")).status).toBe(200)
        expect((yield* from("198.51.100.1")).status).toBe(429)
        expect((yield* from("198.51.100.1, 198.51.100.2")).status).toBe(202)
        expect((yield* from("::ffff:198.51.100.2")).status).toBe(429)
        expect((yield* from("garbage")).status).toBe(202)
        expect(world.looked).toEqual(["198.51.100.1", "198.51.100.1", "198.51.100.2", "198.51.100.2", "127.0.0.1"])
      }),
  )

  servedTest("ignores a forwarded address if no proxy is trusted", {}, ({ url, world }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST, {}, { "x-forwarded-for": "198.51.100.1" })
      expect(world.looked).toEqual(["127.0.0.1"])
    }),
  )
})

describe("a page of another origin", () => {
  servedTest(
    "that is allowed may send a preflight and a request and read the answer, with credentials",
    shop,
    ({ url }) =>
      Effect.gen(function* () {
        const preflight = yield* call(url + REQUEST, {
          method: "OPTIONS",
          headers: {
            ...origin("https://shop.example"),
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type, x-requested-with, x-signalr-user-agent",
          },
        })
        expect(preflight.status).toBe(204)
        expect(preflight.headers.get("access-control-allow-origin")).toBe("https://shop.example")
        expect(preflight.headers.get("access-control-allow-credentials")).toBe("true")
        expect(preflight.headers.get("access-control-allow-methods")).toContain("DELETE")
        for (const name of ["content-type", "x-requested-with", "x-signalr-user-agent"]) {
          expect(preflight.headers.get("access-control-allow-headers")).toContain(name)
        }
        expect(preflight.headers.get("vary")).toBe("Origin")

        const started = yield* post(url + REQUEST, {}, origin("https://shop.example"))
        const ticket = textField(started, "uniqueRequestId")
        const status = yield* call(`${url}/api/session/${ticket}`, { headers: origin("https://shop.example") })
        const refused = yield* post(url + REQUEST, [], origin("https://shop.example"))
        expect([started.status, status.status, refused.status]).toEqual([200, 200, 400])
        for (const { headers } of [started, status, refused]) {
          expect(headers.get("access-control-allow-origin")).toBe("https://shop.example")
          expect(headers.get("access-control-allow-credentials")).toBe("true")
          expect(headers.get("access-control-expose-headers")).toContain("retry-after")
        }
      }),
  )

  servedTest("that is not allowed is refused before anything happens", shop, ({ port, url, world }) =>
    Effect.gen(function* () {
      for (const foreign of ["https://evil.example", "null", "https://shop.example.evil.example"]) {
        const refused = yield* post(url + REQUEST, {}, origin(foreign))
        expect([refused.status, refused.body.code]).toEqual([403, "origin_not_allowed"])
        expect(refused.headers.get("access-control-allow-origin")).toBeNull()
        const preflight = yield* call(url + REQUEST, {
          method: "OPTIONS",
          headers: { ...origin(foreign), "access-control-request-method": "POST" },
        })
        expect(preflight.status).toBe(403)
      }
      // the same target in a proxy's absolute form
      const absolute = yield* rawCall(
        port,
        {
          path: `http://gate${REQUEST}`,
          method: "POST",
          headers: { "content-type": "application/json", ...origin("https://evil.example") },
        },
        "{}",
      )
      expect(absolute.status).toBe(403)
      expect(world.initiated).toEqual([])
    }),
  )

  servedTest("may be the gate's own, and needs no header then", {}, ({ url }) =>
    Effect.gen(function* () {
      const started = yield* post(url + REQUEST, {}, origin(url))
      expect(started.status).toBe(200)
      expect(started.headers.get("access-control-allow-origin")).toBeNull()
    }),
  )
})

describe("a path or method that is not served", () => {
  servedTest("is 404 or 405 with what is allowed, and an unknown ticket 404", {}, ({ port, url }) =>
    Effect.gen(function* () {
      for (const path of ["/", "/api", "/api/session", "/api/session/x/y/z", "/api/webhook", "/favicon.ico"]) {
        const reply = yield* call(url + path)
        expect([path, reply.status, reply.body.code]).toEqual([path, 404, "not_found"])
      }
      for (const [method, path, allowed] of [
        ["GET", REQUEST, "POST"],
        ["PUT", REQUEST, "POST"],
        ["DELETE", REQUEST, "POST"],
        ["OPTIONS", REQUEST, "POST"],
        ["PATCH", "/api/session/some-ticket", "GET, DELETE"],
        ["GET", "/api/session/some-ticket/start", "POST"],
        ["GET", WEBHOOK, "POST"],
        ["POST", "/health/live", "GET"],
      ] as const) {
        const reply = yield* call(url + path, { method })
        expect([method, path, reply.status, reply.headers.get("allow")]).toEqual([method, path, 405, allowed])
      }
      for (const path of ["/api/session/nobody", "/api/session/nobody/events", "/api/session/a%20b"]) {
        const reply = yield* call(url + path)
        expect([path, reply.status, reply.body.code]).toEqual([path, 404, "ticket_unknown"])
      }
      expect((yield* post(`${url}/api/session/nobody/start`)).status).toBe(404)
      expect((yield* call(`${url}/api/session/nobody`, { method: "DELETE" })).status).toBe(204)
      for (const path of ["/api/session/%zz", "/api/session/%zz/events", "/%00", "/..%2f..%2fetc"]) {
        const { status } = yield* rawCall(port, { path })
        expect([path, status]).toEqual([path, 404])
      }
    }),
  )
})

describe("a webhook", () => {
  servedTest("needs its token, and names a session by either id", shop, ({ url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      const hook = (body: unknown, headers: Readonly<Record<string, string>> = token) =>
        Effect.map(post(url + WEBHOOK, body, headers), (reply) => [
          reply.status,
          reply.body.code ?? reply.body.released,
        ])
      const body = { conversationSessionId: "conversation-1" }
      expect(yield* hook(body, {})).toEqual([401, "webhook_unauthorized"])
      expect(yield* hook(body, { "x-api-token": "wrong" })).toEqual([401, "webhook_unauthorized"])
      expect(yield* hook({}, { "x-api-token": "wrong" })).toEqual([401, "webhook_unauthorized"])
      expect(yield* hook({})).toEqual([400, "invalid_request"])
      expect(yield* hook([])).toEqual([400, "invalid_request"])
      expect(yield* hook({ WebSessionId: "unknown" })).toEqual([200, false])
      expect(yield* hook(body)).toEqual([200, true])
      expect(yield* hook(body)).toEqual([200, false])
      const malformed = yield* call(url + WEBHOOK, { method: "POST", headers: token, body: "{" })
      expect([malformed.status, malformed.body.code]).toEqual([400, "malformed_json"])
      const large = yield* call(url + WEBHOOK, { method: "POST", headers: token, body: "x".repeat(MAX_BODY_BYTES + 1) })
      expect([large.status, large.body.code]).toEqual([413, "body_too_large"])
    }),
  )

  const secret = `whsec_${Buffer.from("a secret of twenty-four bytes").toString("base64")}`
  servedTest("may be signed instead", { Security: { WebhookSigningSecret: secret } }, ({ url }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST)
      const seconds = String(Math.floor(Date.now() / 1000))
      const body = '{ "ConversationSessionId":  "conversation-1" }'
      const send = (sent: string) =>
        call(url + WEBHOOK, {
          method: "POST",
          body: sent,
          headers: {
            "webhook-id": "msg_1",
            "webhook-timestamp": seconds,
            "webhook-signature": sign(secret, "msg_1", seconds, body),
          },
        })
      expect((yield* send(JSON.stringify(JSON.parse(body)))).status).toBe(401)
      expect((yield* send(body)).body).toEqual({ released: true })
    }),
  )
})

describe("a request's id", () => {
  const idOf = (reply: { readonly headers: Headers }) => reply.headers.get("x-request-id")

  servedTest("is kept if it is valid, otherwise generated, echoed on every route, and in the log", {}, ({ log, url }) =>
    Effect.gen(function* () {
      const own = [idOf(yield* post(url + REQUEST)), idOf(yield* post(url + REQUEST, { regionId: 5 }))]
      for (const id of own) expect(id).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/)
      expect(new Set(own).size).toBe(2)
      const given = { "x-request-id": "trace:4bf92f35/00f0-67aa" }
      expect(idOf(yield* post(url + REQUEST, {}, given))).toBe(given["x-request-id"])
      for (const path of ["/api/session/unknown", "/docs", "/widget.js", "/health/live", "/nothing"]) {
        expect([path, idOf(yield* call(url + path, { headers: given }))]).toEqual([path, given["x-request-id"]])
      }
      for (const wrong of ["a b", 'a"b', "x".repeat(65), "ä", "<script>"]) {
        const made = idOf(yield* post(url + REQUEST, {}, { "x-request-id": Buffer.from(wrong).toString("latin1") }))
        expect(made).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/)
      }
      yield* Effect.promise(() => eventually("all is logged", () => log().includes("/nothing")))
      const ids = log()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).id)
      for (const id of [...own, given["x-request-id"]]) expect(ids).toContain(id)
    }),
  )

  servedTest("is not logged for health and metrics, which are not in the access log", {}, ({ log, url }) =>
    Effect.gen(function* () {
      for (const path of ["/health/live", "/health/ready", "/metrics"]) {
        expect((yield* call(url + path)).status).toBe(200)
      }
      yield* call(`${url}/nothing`)
      yield* Effect.promise(() => eventually("the last is logged", () => log().includes("/nothing")))
      expect(log()).not.toMatch(/health|metrics/)
    }),
  )
})

describe("operations", () => {
  servedTest("are served: health, metrics, documents", {}, ({ url }) =>
    Effect.gen(function* () {
      expect((yield* call(`${url}/health/live`)).body).toEqual({ status: "ok" })
      expect((yield* call(`${url}/health/ready`)).body).toEqual({ status: "ready" })
      yield* post(url + REQUEST)
      const metrics = yield* call(`${url}/metrics`)
      expect(metrics.status).toBe(200)
      expect(metrics.text).toMatch(/voicegate_requests_total\{outcome="started"\} \d/)
      const openapi = yield* call(`${url}/openapi.json`)
      expect(Object.keys(Object(openapi.body.paths)).sort()).toEqual([
        "/api/session/request",
        "/api/session/{id}",
        "/api/session/{id}/events",
        "/api/session/{id}/start",
        "/api/webhook/session-ended",
        "/health/live",
        "/health/ready",
      ])
      const docs = yield* call(`${url}/docs`)
      expect([docs.status, docs.headers.get("content-type")]).toEqual([200, expect.stringMatching(/^text\/html/)])
      const head = yield* call(`${url}/health/live`, { method: "HEAD" })
      expect([head.status, head.text]).toEqual([200, ""])
    }),
  )

  servedTest(
    "report that the gate is not ready before it stops accepting, while requests are answered and keep-alive connections closed",
    {},
    ({ port, unready, url }) =>
      Effect.gen(function* () {
        const keeps = { path: "/health/live", headers: { connection: "keep-alive" } }
        expect((yield* rawCall(port, keeps)).headers.connection).toBe("keep-alive")
        yield* unready
        const ready = yield* call(`${url}/health/ready`)
        expect([ready.status, ready.body.code, ready.headers.get("retry-after")]).toEqual([503, "not_ready", "1"])
        expect((yield* rawCall(port, keeps)).headers.connection).toBe("close")
        const asks = {
          method: "POST",
          path: REQUEST,
          headers: { ...keeps.headers, "content-type": "application/json" },
        }
        const started = yield* rawCall(port, asks, "{}")
        expect([started.status, started.headers.connection]).toEqual([200, "close"])
      }),
  )

  servedTest(
    "refuse new requests and starts once the gate drains, and still answer for waiting tickets",
    {},
    ({ drain, url }) =>
      Effect.gen(function* () {
        const { sessionId } = yield* begin()
        const called = yield* enqueue("203.0.113.8")
        const waiting = yield* enqueue("203.0.113.9")
        yield* hangUp(sessionId)
        yield* drain
        for (const refused of [yield* post(url + REQUEST), yield* post(`${url}/api/session/${called}/start`)]) {
          expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
            503,
            "draining",
            "1",
          ])
        }
        // the turn is still open at another gate
        expect((yield* call(`${url}/api/session/${called}`)).body.state).toBe("called")
        const again = yield* post(url + REQUEST, { uniqueRequestId: waiting })
        expect([again.status, again.body.queuePosition]).toEqual([202, 1])
        expect((yield* call(`${url}/api/session/${waiting}`, { method: "DELETE" })).status).toBe(204)
        expect((yield* call(`${url}/health/ready`)).body.code).toBe("not_ready")
        expect((yield* call(`${url}/health/live`)).status).toBe(200)
      }),
  )

  servedTest("write one line for each request to the access log, without tickets", {}, ({ log, url }) =>
    Effect.gen(function* () {
      const ticket = textField(yield* post(url + REQUEST), "uniqueRequestId")
      yield* call(`${url}/api/session/${ticket}`)
      yield* call(`${url}/api/session/${ticket}/events/no`)
      yield* call(`${url}/nothing?ticket=${ticket}`)
      yield* Effect.promise(() => eventually("four lines are written", () => log().split("\n").length === 5))
      const lines = log().trim().split("\n")
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { method: "POST", path: REQUEST, status: 200, outcome: "started", address: "127.0.0.1" },
        { method: "GET", path: "/api/session/{ticket}", status: 200, outcome: "live" },
        { method: "GET", path: "/api/session/{ticket}/events/no", status: 404, outcome: "not_found" },
        { method: "GET", path: "/nothing", status: 404, outcome: "not_found" },
      ])
      expect(log()).not.toContain(ticket)
    }),
  )
})

servedTest(
  "mounted below a path, the gate serves that path and returns URLs below it",
  {},
  ({ url }) =>
    Effect.gen(function* () {
      expect((yield* post(`${url}/voice${REQUEST}`)).status).toBe(200)
      const queued = yield* post(`${url}/voice${REQUEST}`)
      const ticket = textField(queued, "uniqueRequestId")
      expect(queued.body.eventsUrl).toBe(`/voice/api/session/${ticket}/events`)
      expect((yield* call(`${url}/voice/api/session/${ticket}?x=1`)).body.state).toBe("waiting")
      expect((yield* call(`${url}/voice/health/ready`)).status).toBe(200)
      expect((yield* call(`${url}/voicemail/health/ready`)).status).toBe(404)
    }),
  { basePath: "/voice" },
)
