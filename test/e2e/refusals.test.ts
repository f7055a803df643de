/** Every refusal of the gate as it goes over the wire: status, code, the field it names, headers. */
import { createHmac } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gate, makeBench, SIGNING_SECRET, settingsFor, WEBHOOK_TOKEN } from "../harness/gate.ts"
import { type Answer, type Ask, field, namedFields, textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

const REQUEST = "/api/session/request"

/** A problem document of RFC 9457 with the gate's own members. */
const assertProblem = (answer: Answer, status: number, code: string, what?: string): void => {
  assert.strictEqual(answer.status, status, what)
  assert.match(answer.headers["content-type"] ?? "", /^application\/problem\+json/)
  assert.deepInclude(answer.json, { status, code, message: answer.json.detail, type: `urn:voicegate:problem:${code}` })
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  assert.notMatch(answer.text, /\bat .+:\d+:\d+/)
}

describe("a gate with limits, without a trusted proxy", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let gate: Gate
  let platform: FakePlatform
  const refused = async (what: string, status: number, code: string, method: string, path: string, options?: Ask) => {
    const answer = await gate.ask(method, path, options)
    assertProblem(answer, status, code, what)
    return answer
  }
  const invalid = async (what: string, body: unknown, field: string, code = "invalid_request") => {
    const answer = await refused(what, 400, code, "POST", REQUEST, { body })
    assert.include(namedFields(answer), field)
    assert.include(textOf(answer, "message"), field)
    return answer
  }

  beforeAll(async () => {
    platform = bench.own(await startPlatform())
    gate = await bench.gate(
      settingsFor(platform, {
        Security__RateLimitHourly: "3",
        Security__RateLimitDaily: "50",
        Security__AllowedOrigins__0: "https://shop.example",
        Security__WebhookSigningSecret__0: SIGNING_SECRET,
      }),
    )
  })

  it("names what is wrong with a request's body", async () => {
    await refused("malformed JSON", 400, "malformed_json", "POST", REQUEST, { body: '{"campaignId":' })
    await refused("empty body", 400, "malformed_json", "POST", REQUEST, { body: "" })
    await invalid("wrong type: transportType", { transportType: "tcp" }, "transportType")
    await invalid("wrong type: a variable that is a number", { dynamicVariables: { age: 5 } }, "dynamicVariables.age")
    await invalid("clientIdentifier with a slash", { clientIdentifier: "a/b" }, "clientIdentifier")
    await invalid("clientIdentifier of 257 characters", { clientIdentifier: "x".repeat(257) }, "clientIdentifier")
    await invalid("clientIdentifier with NUL", { clientIdentifier: "a\u0000b" }, "clientIdentifier")
    await invalid("a variable with half a character", { metadata: { page: "\ud800" } }, "metadata.page")
    await invalid("a transport that the platform has not", { transportType: 1 }, "transportType")
    await invalid("9 KB of variables", { metadata: { a: "x".repeat(4096), b: "x".repeat(4096) } }, "dynamicVariables")
    await invalid(
      "sample rate out of range",
      { audioConfiguration: { inputSampleRate: 1 } },
      "audioConfiguration.inputSampleRate",
    )
    const three = await invalid(
      "three wrong fields at once",
      { campaignId: 1, regionId: 2, metadata: [] },
      "campaignId",
    )
    assert.includeMembers([...namedFields(three)], ["campaignId", "regionId", "metadata"])
    await invalid("unknown campaign", { campaignId: "nobody" }, "campaignId", "unknown_campaign")
    const region = await invalid("region not allowed", { regionId: "mars" }, "regionId", "region_not_allowed")
    assert.include(textOf(region, "message"), "eu")
    await refused("a body that is no object", 400, "invalid_request", "POST", REQUEST, { body: "[]" })
  })

  it("bounds the body, its variables and its content type", async () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`v${i}`, "x"]))
    await invalid("65 variables", { dynamicVariables: many }, "dynamicVariables")
    await invalid("a variable of 4097 characters", { dynamicVariables: { v: "x".repeat(4097) } }, "dynamicVariables.v")
    const body = JSON.stringify({ metadata: { v: "x".repeat(70_000) } })
    await refused("70 kB body", 413, "body_too_large", "POST", REQUEST, { body })
    await refused("70 kB body, length not announced", 413, "body_too_large", "POST", REQUEST, {
      body,
      chunked: true,
    })
    const type = await refused("content-type text/plain", 415, "unsupported_media_type", "POST", REQUEST, {
      body: "{}",
      headers: { "content-type": "text/plain" },
    })
    assert.include(textOf(type, "message"), "content-type")
  })

  it("accepts only its own tickets, paths and methods", async () => {
    for (const [what, ticket] of [
      ["a ticket of the right shape", "A".repeat(26)],
      ["a ticket of a wrong shape", "x"],
      ["a ticket with an escape", "%2e%2e%2fetc"],
    ] as const) {
      await refused(`status of ${what}`, 404, "ticket_unknown", "GET", `/api/session/${ticket}`)
      await refused(`start of ${what}`, 404, "ticket_unknown", "POST", `/api/session/${ticket}/start`)
      await refused(`events of ${what}`, 404, "ticket_unknown", "GET", `/api/session/${ticket}/events`)
    }
    assert.strictEqual((await gate.ask("DELETE", `/api/session/${"A".repeat(26)}`)).status, 204)
    const path = await gate.ask("GET", "/nothing")
    assert.deepStrictEqual([path.status, path.json.code], [404, "not_found"])
    const method = await gate.ask("GET", "/api/webhook/session-ended")
    assert.deepStrictEqual([method.status, method.headers.allow], [405, "POST"])
  })

  it("answers only pages of its allowed origins", async () => {
    const foreign = { origin: "https://evil.example" }
    await refused("a foreign origin", 403, "origin_not_allowed", "POST", REQUEST, { body: {}, headers: foreign }).then(
      ({ headers }) => assert.isUndefined(headers["access-control-allow-origin"]),
    )
    const upgrade = await openSocket(gate, "A".repeat(26), foreign).catch(String)
    assert.match(String(upgrade), /403/)
    const preflight = await gate.ask("OPTIONS", REQUEST, {
      headers: { origin: "https://shop.example", "access-control-request-method": "POST" },
    })
    assert.strictEqual(preflight.status, 204)
    assert.strictEqual(preflight.headers["access-control-allow-origin"], "https://shop.example")
    assert.match(preflight.headers["access-control-allow-headers"] ?? "", /content-type/)
  })

  it("accepts a webhook with the right token or a fresh signature, and a replay frees nothing", async () => {
    const path = "/api/webhook/session-ended"
    await refused("webhook without token", 401, "webhook_unauthorized", "POST", path, { body: {} })
    await refused("webhook with a wrong token", 401, "webhook_unauthorized", "POST", path, {
      body: {},
      headers: { "x-api-token": `${WEBHOOK_TOKEN}x` },
    })
    await refused("webhook with malformed JSON", 400, "malformed_json", "POST", path, {
      body: "{",
      headers: { "x-api-token": WEBHOOK_TOKEN },
    })
    const nameless = await refused("webhook that names no session", 400, "invalid_request", "POST", path, {
      body: {},
      headers: { "x-api-token": WEBHOOK_TOKEN },
    })
    assert.include(namedFields(nameless), "ConversationSessionId")

    assert.strictEqual((await gate.call()).status, 200)
    const body = JSON.stringify({ conversationSessionId: platform.starts.at(-1)?.sessionId })
    const signed = (timestamp: number, of = body) => {
      const key = Buffer.from(SIGNING_SECRET.slice("whsec_".length), "base64")
      const signature = createHmac("sha256", key).update(`msg_1.${timestamp}.${of}`).digest("base64")
      return {
        "webhook-id": "msg_1",
        "webhook-timestamp": String(timestamp),
        "webhook-signature": `v2,x v1,${signature}`,
      }
    }
    const now = Math.floor(Date.now() / 1000)
    const old = await refused("signature of six minutes ago", 401, "webhook_unauthorized", "POST", path, {
      body,
      headers: signed(now - 360),
    })
    assert.include(textOf(old, "message"), "webhook-timestamp")
    await refused("signature of another body", 401, "webhook_unauthorized", "POST", path, {
      body,
      headers: signed(now, "{}"),
    })
    const fresh = await gate.ask("POST", path, { body, headers: signed(now) })
    assert.deepStrictEqual([fresh.status, fresh.json], [200, { released: true }])
    const replay = await gate.ask("POST", path, { body, headers: signed(now) })
    assert.deepStrictEqual([replay.status, replay.json], [200, { released: false }])
  })

  it("counts a caller by the socket, whatever X-Forwarded-For claims", async () => {
    // one of the three was taken by the webhook's test
    assert.strictEqual((await gate.call("1.2.3.4")).status, 200)
    assert.strictEqual((await gate.call("5.6.7.8")).status, 202)
    const answer = await gate.call("9.9.9.9")
    assertProblem(answer, 429, "rate_limited")
    const seconds = Number(answer.headers["retry-after"])
    assert.isTrue(seconds > 3500 && seconds <= 3600, `retry-after ${seconds}`)
    assert.strictEqual(answer.headers["ratelimit-policy"], '"hour";q=3;w=3600, "day";q=50;w=86400')
    assert.match(String(answer.headers.ratelimit), /^"hour";r=0;t=\d+/)
    assert.strictEqual(answer.json.limit, "hour")
    // again, since the refusals of the tests before may have had all lines of this second
    await eventually("the access log", async () => {
      await gate.call("9.9.9.9")
      return gate.output().includes('"outcome":"rate_limited"')
    })
    const addresses = gate.output().match(/"address":"[^"]*"/g) ?? []
    assert.deepStrictEqual([...new Set(addresses)], ['"address":"127.0.0.1"'])
  })
})

describe("a gate behind a trusted proxy", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let gate: Gate

  beforeAll(async () => {
    gate = await bench.gate(
      settingsFor(bench.own(await startPlatform()), {
        Security__TrustedProxies__0: "loopback",
        Security__TrustedProxies__1: "10.0.0.0/8",
        Security__RateLimitHourly: "1",
        Queue__MaxLength: "1",
      }),
    )
  })

  it("walks X-Forwarded-For from the right over its proxies, and ignores entries left of them", async () => {
    assert.strictEqual((await gate.call("1.2.3.4")).status, 200)
    for (const claimed of [
      "1.2.3.4",
      "6.6.6.6, 1.2.3.4",
      "6.6.6.6, 1.2.3.4, 10.1.2.3",
      "::ffff:1.2.3.4",
      "1.2.3.4:5678",
    ]) {
      const answer = await gate.call(claimed)
      assertProblem(answer, 429, "rate_limited")
    }
  })

  it("counts IPv6 callers by their /64", async () => {
    assert.strictEqual((await gate.call("2a00:1:2:3::1")).status, 202)
    const answer = await gate.call("2a00:1:2:3:ffff::9")
    assertProblem(answer, 429, "rate_limited")
  })

  it("says that the queue is full, and takes no quota for that", async () => {
    for (const what of ["the queue is full", "the same caller again"]) {
      const answer = await gate.call("7.7.7.7")
      assertProblem(answer, 503, "queue_full", what)
      assert.isAbove(Number(answer.headers["retry-after"]), 0)
      assert.strictEqual(field(answer, "message"), "The queue is full. Try again later.")
    }
  })
})
