/** Answers, headers, origins and the access log, as values. */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as outcomes from "../../../src/gatekeeper/outcomes.ts"
import { AccessLog, layer as accessLog } from "../../../src/http/access-log/access-log.ts"
import { failed } from "../../../src/http/answers/answer.ts"
import { corsHeaders, makeOriginCheck, makePreflight } from "../../../src/http/incoming/origin.ts"
import { queued, started } from "../../../src/http/requests/answers.ts"
import * as refusals from "../../../src/protocol/refusals.ts"
import { InvalidRequest, type LimitState, RateLimited, StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { TooManyConnections } from "../../../src/push-channel/PushChannel.ts"

const hour: LimitState = { name: "hour", quota: 20, windowSeconds: 3600, remaining: 0, resetSeconds: 1200 }
const day: LimitState = { name: "day", quota: 100, windowSeconds: 86_400, remaining: 80, resetSeconds: 80_000 }
const limited = (limit: RateLimited["limit"], retryAfterSeconds: number, limits: ReadonlyArray<LimitState>) =>
  failed(new RateLimited({ limit, retryAfterSeconds, limits, message: "too many" }))

describe("a rate-limited answer", () => {
  it("carries Retry-After, every policy, and the exhausted limit", () => {
    const { body, headers, status } = limited("hour", 1200, [hour, day])
    expect(status).toBe(429)
    expect(headers).toEqual({
      "content-type": "application/problem+json; charset=utf-8",
      "retry-after": "1200",
      "ratelimit-policy": '"hour";q=20;w=3600, "day";q=100;w=86400',
      ratelimit: '"hour";r=0;t=1200',
    })
    expect(JSON.parse(body)).toMatchObject({ code: "rate_limited", limit: "hour", retryAfterSeconds: 1200 })
  })

  it("names the day when the day decides", () => {
    const spent = { ...day, remaining: 0 }
    expect(limited("day", 80_000, [hour, spent]).headers).toMatchObject({
      "retry-after": "80000",
      ratelimit: '"day";r=0;t=80000',
    })
  })

  it("counts concurrent calls in their own unit", () => {
    const concurrent: LimitState = { name: "concurrent", quota: 2, windowSeconds: 0, remaining: 0, resetSeconds: 30 }
    expect(limited("concurrent", 30, [hour, concurrent]).headers).toMatchObject({
      "ratelimit-policy": '"hour";q=20;w=3600, "concurrent";q=2;qu="concurrent-requests"',
      ratelimit: '"concurrent";r=0;t=30',
    })
  })
})

describe("an answer", () => {
  it.each([
    [
      new InvalidRequest({ code: "region_not_allowed", message: "m", issues: [] }),
      400,
      "region_not_allowed",
      undefined,
    ],
    [refusals.blocked("tor"), 403, "blocked", undefined],
    [refusals.queueFull(0, 1), 503, "queue_full", "10"],
    [refusals.platformUnavailable("rejected", "m", 60), 502, "platform_rejected", "60"],
    [refusals.platformUnavailable("unavailable", "m"), 503, "platform_unavailable", "5"],
    [new StoreUnavailable({ message: "redis at 10.0.0.1", cause: new Error("secret") }), 503, "store_unavailable", "5"],
    [outcomes.ticketUnknown(), 404, "ticket_unknown", undefined],
    [outcomes.notYourTurn(3), 409, "not_your_turn", undefined],
    [outcomes.startInProgress(), 409, "start_in_progress", undefined],
    [outcomes.calledAgain({ busy: true, position: 1 }), 409, "agent_busy", undefined],
    [outcomes.ticketOver("missed"), 410, "ticket_over", undefined],
    [new TooManyConnections({ message: "m" }), 429, "too_many_connections", "30"],
  ])("an answer to %s is a problem document with a stable code and a message", (error, status, code, retryAfter) => {
    const answer = failed(error)
    const body: unknown = JSON.parse(answer.body)
    expect(answer.status).toBe(status)
    expect(answer.headers["retry-after"]).toBe(retryAfter)
    expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/)
    expect(body).toMatchObject({ code, status, title: expect.any(String), type: `urn:voicegate:problem:${code}` })
    expect(body).toMatchObject({ message: expect.any(String), detail: expect.any(String) })
    expect(answer.body).not.toMatch(/"stack"|"cause"|secret|10\.0\.0\.1/)
  })

  it("an answer to a queued request has the URL of its events, below the path of the gate", () => {
    const place = { position: 2, length: 5, averageMillis: 60_000, disrupted: false }
    const answer = queued(outcomes.queued("ticket", place, 2), "/voice")
    expect(answer.status).toBe(202)
    expect(JSON.parse(answer.body)).toEqual({
      status: "queued",
      uniqueRequestId: "ticket",
      queuePosition: 2,
      estimatedWaitSeconds: 60,
      eventsUrl: "/voice/api/session/ticket/events",
    })
  })

  it("an answer to a started request has what the widget needs", () => {
    const session = { uniqueRequestId: "t", webSocketUrl: "wss://x", sessionId: "s" }
    expect(JSON.parse(started(session).body)).toEqual({ status: "started", ...session })
  })
})

describe("an origin", () => {
  const judge = makeOriginCheck(["https://Shop.example", "http://localhost:3000"])
  it.each([
    [undefined, "gate.example", "none"],
    ["https://gate.example", "gate.example", "same"],
    ["http://gate.example:8080", "Gate.example:8080", "same"],
    ["https://shop.example", "gate.example", "cross"],
    ["http://localhost:3000", "gate.example", "cross"],
    ["http://shop.example", "gate.example", "foreign"],
    ["https://shop.example:8443", "gate.example", "foreign"],
    ["https://shop.example.evil.example", "gate.example", "foreign"],
    ["https://evil.example", "gate.example", "foreign"],
    ["null", "gate.example", "foreign"],
    ["", "gate.example", "foreign"],
    ["https://evil.example", undefined, "foreign"],
  ])("%s asking %s is %s", (origin, host, verdict) => {
    expect(judge(origin, host)).toBe(verdict)
  })

  it("an origin that is listed is named exactly and may send credentials; one that only an asterisk allows may not", () => {
    expect(makeOriginCheck(["*"])("https://any.example", "gate.example")).toBe("anyone")
    expect(makeOriginCheck(["*", "https://shop.example"])("https://shop.example", "gate.example")).toBe("cross")
    const both = (verdict: "cross" | "anyone") => [
      corsHeaders("https://any.example", verdict),
      makePreflight([])("https://any.example", verdict, "session"),
    ]
    for (const headers of both("cross")) {
      expect(headers).toMatchObject({
        "access-control-allow-origin": "https://any.example",
        "access-control-allow-credentials": "true",
        vary: "Origin",
      })
    }
    for (const headers of both("anyone")) {
      expect(headers).toMatchObject({ "access-control-allow-origin": "*", vary: "Origin" })
      expect(headers).not.toHaveProperty("access-control-allow-credentials")
    }
  })
})

describe("the access log", () => {
  const ticket = "Bp4bowVR8eT8DnZgijn8pAio97"
  const entry = { id: "a-1", method: "GET", status: 200, outcome: "ok", address: "203.0.113.7", millis: 3 }
  const written = (paths: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const context = yield* Layer.build(accessLog((text) => lines.push(text)))
      for (const path of paths) Context.get(context, AccessLog).write({ ...entry, path })
      yield* TestClock.adjust("1 second")
      return lines.join("").trimEnd().split("\n")
    })

  it.effect("writes a line of JSON for every request, in batches", () =>
    Effect.gen(function* () {
      const [line = "", ...more] = yield* written(["/api/session/request", "/health/live"])
      expect(more).toHaveLength(1)
      expect(JSON.parse(line)).toEqual({
        time: "1970-01-01T00:00:00.000Z",
        level: "info",
        message: "request",
        path: "/api/session/request",
        ...entry,
      })
    }),
  )

  it.effect("has the time of each answer, to the millisecond", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 11, 31, 23, 59, 58, 999))
      const lines: Array<string> = []
      const context = yield* Layer.build(accessLog((text) => lines.push(text)))
      for (const later of [0, 1, 7, 993, 0]) {
        yield* TestClock.adjust(later)
        Context.get(context, AccessLog).write({ ...entry, path: "/" })
      }
      yield* TestClock.adjust("1 second")
      const times = lines.join("").trimEnd().split("\n")
      expect(times.map((line) => JSON.parse(line).time)).toEqual([
        "2026-12-31T23:59:58.999Z",
        "2026-12-31T23:59:59.000Z",
        "2026-12-31T23:59:59.007Z",
        "2027-01-01T00:00:00.000Z",
        "2027-01-01T00:00:00.000Z",
      ])
    }),
  )

  it.effect("never writes a ticket's id, anywhere in a path", () =>
    Effect.gen(function* () {
      const paths = [
        "/api/session/ID",
        "/api/session/ID/events",
        "/api/session/ID/start",
        "/voice/api/session/ID",
      ].concat([
        "//api/session/ID",
        "/API/session/ID",
        "/ID",
        "/api/session/request/ID",
        "http://gate/api/session/ID",
        "/x=ID,",
      ])
      const lines = yield* written(paths.map((path) => path.replace("ID", ticket)))
      expect(lines).toHaveLength(paths.length)
      expect(lines.join("")).not.toContain(ticket)
    }),
  )

  it.effect("keeps each line single and short, whatever the path", () =>
    Effect.gen(function* () {
      const lines = yield* written(['/a"\n{"forged":true}', `/${"a/".repeat(4000)}`])
      expect(lines).toHaveLength(2)
      expect(lines.map((line) => typeof JSON.parse(line))).toEqual(["object", "object"])
      expect(lines[1]?.length).toBeLessThan(500)
    }),
  )
})
