/** Health, metrics, documents, the access log, and a gate that drains, over a real server. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../../harness/process.ts"
import { begin, enqueue, hangUp } from "../../support/gate.ts"
import { call, post, rawCall, servedTest, textField } from "../../support/gate-server.ts"
import { REQUEST } from "../support.ts"

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
        "/api/availability",
        "/api/budgets/{name}",
        "/api/events",
        "/api/session/request",
        "/api/session/{id}",
        "/api/session/{id}/events",
        "/api/session/{id}/leave",
        "/api/session/{id}/relay",
        "/api/session/{id}/silence",
        "/api/session/{id}/start",
        "/api/webhook/session-ended",
        "/api/webhook/{platform}",
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
        const options = {
          method: "POST",
          path: REQUEST,
          headers: { ...keeps.headers, "content-type": "application/json" },
        }
        const started = yield* rawCall(port, options, "{}")
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
