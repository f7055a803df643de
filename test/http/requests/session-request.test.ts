/** `POST /api/session/request` over a real server: what is answered, and whom it counts for. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_BODY_BYTES } from "../../../src/http/answers/answer.ts"
import { IpIntelFailed, noFacts } from "../../../src/ip-intel/facts.ts"
import { platformRefuses, session } from "../../support/gate.ts"
import { call, post, rawCall, servedTest, textField } from "../../support/gate-server.ts"
import { REQUEST, shop, token, WEBHOOK } from "../support.ts"

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

  servedTest(
    "a session request that is refused is a problem document",
    { Queue: { OnPlatformRefusal: "refuse" } },
    ({ url, world }) =>
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
        world.lookup = () =>
          Effect.fail(new IpIntelFailed({ provider: "p", reason: "timeout", message: "p timed out" }))
        // a session that ended before its start was answered
        yield* post(`${url}/api/webhook/session-ended`, { WebSessionId: "web-7" })
        world.initiate = () => Effect.succeed(session(7))
        yield* expectProblem(503, "platform_unavailable")
        world.initiate = () => Effect.fail(platformRefuses)
        for (let n = 0; n < 3; n++) {
          const rejected = yield* expectProblem(502, "platform_rejected")
          expect(rejected.headers.get("retry-after")).toBe("60")
        }
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

  const limits = { Security: { RateLimitHourly: 1, RateLimitConcurrency: 3 } }
  servedTest("a session request beyond the rate limit is told when to retry", limits, ({ url }) =>
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

  servedTest(
    "a session request beyond the queue's length is told when to retry",
    { Queue: { MaxLength: 1 } },
    ({ url }) =>
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
        expect(world.lookedUp).toEqual(["198.51.100.1", "198.51.100.1", "198.51.100.2", "198.51.100.2", "127.0.0.1"])
      }),
  )

  servedTest("ignores a forwarded address if no proxy is trusted", {}, ({ url, world }) =>
    Effect.gen(function* () {
      yield* post(url + REQUEST, {}, { "x-forwarded-for": "198.51.100.1" })
      expect(world.lookedUp).toEqual(["127.0.0.1"])
    }),
  )
})
