/** Vendors' own SDKs ask for sessions in their own shapes, through the same checks as everybody, and cannot wait. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { noFacts } from "../../src/IpIntel.ts"
import type { Credential } from "../../src/Session.ts"
import { platformRefusesRequest, session } from "../support/gate.ts"
import { call, post, rawCall, servedTest } from "../support/gate-server.ts"
import { codeOf } from "./openapi-check.ts"
import { DOORS, doors, REQUEST } from "./support.ts"

const SHOP = "https://shop.example"
const [LIVEKIT, PIPECAT, RETELL] = DOORS

const given = {
  ...doors,
  Security: { AllowedOrigins: [SHOP], WebhookApiToken: "the-webhook-token" },
}
const hangUp = (url: string, n: number) =>
  post(`${url}/api/webhook/session-ended`, { WebSessionId: `web-${n}` }, { "x-api-token": "the-webhook-token" })

const started = (credential: Credential) => () => Effect.succeed({ sessionIds: ["web-1"], credential })

describe("a vendor's SDK", () => {
  servedTest("of LiveKit gets address and token, and its attributes are the agent's variables", given, (served) =>
    Effect.gen(function* () {
      const { url, world } = served
      world.initiate = started({ shape: "url+token", platform: "livekit", url: "wss://livekit.example", token: "jwt" })
      const reply = yield* post(url + LIVEKIT, {
        room_name: "a-room-of-the-page",
        participant_identity: "ada",
        participant_name: "Ada",
        participant_metadata: "from the shop",
        participant_attributes: { language: "en" },
        room_config: { agents: [{ agent_name: "another" }] },
      })
      assert.strictEqual(reply.status, 200)
      assert.deepStrictEqual(reply.body, { server_url: "wss://livekit.example", participant_token: "jwt" })
      assert.deepInclude(world.initiated[0], {
        campaign: "rooms",
        clientIdentifier: "ada",
        dynamicVariables: { language: "en" },
        metadata: { participant_name: "Ada", participant_metadata: "from the shop" },
      })
    }),
  )

  servedTest("of Pipecat gets room and token, and its body is the agent's variables", given, ({ url, world }) =>
    Effect.gen(function* () {
      const room = "https://cloud.daily.example/room"
      world.initiate = started({ shape: "url+token", platform: "pipecat", url: room, token: "jwt" })
      const reply = yield* post(url + PIPECAT, { createDailyRoom: true, body: { language: "en" } })
      assert.strictEqual(reply.status, 200)
      assert.deepStrictEqual(reply.body, { sessionId: "web-1", dailyRoom: room, dailyToken: "jwt" })
      assert.deepInclude(world.initiated[0], { campaign: "bots", dynamicVariables: { language: "en" } })
    }),
  )

  servedTest("of Retell gets the call in Retell's own names", given, ({ url, world }) =>
    Effect.gen(function* () {
      const iceServers = [{ urls: ["stun:stun.example:3478"] }]
      world.initiate = started({
        shape: "token",
        platform: "retell",
        token: "access",
        expiresAt: "2027-01-15T08:00:30.000Z",
        details: { callId: "web-1", transport: "gateway", iceServers },
      })
      const reply = yield* post(url + RETELL, {
        agent_id: "agent-of-the-page",
        metadata: { order: "7" },
        retell_llm_dynamic_variables: { language: "en" },
      })
      assert.strictEqual(reply.status, 200)
      assert.deepStrictEqual(reply.body, {
        call_id: "web-1",
        access_token: "access",
        transport: "gateway",
        ice_servers: iceServers,
        expires_at: 1_800_000_030_000,
      })
      assert.deepInclude(world.initiated[0], {
        campaign: "calls",
        dynamicVariables: { language: "en" },
        metadata: { order: "7" },
      })
    }),
  )

  servedTest(
    "that finds no free slot is told to come back, has no place and keeps its quota",
    given,
    ({ url, world }) =>
      Effect.gen(function* () {
        world.initiate = (n) => Effect.succeed(session(n))
        assert.strictEqual((yield* post(url + LIVEKIT)).status, 200)
        for (let n = 0; n < 3; n++) {
          const busy = yield* post(url + LIVEKIT)
          assert.deepStrictEqual(codeOf(busy), [503, "queue_full"])
          assert.match(busy.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
          assert.isUndefined(busy.body.uniqueRequestId)
        }
        const waits = yield* post(url + REQUEST, { campaignId: "rooms" })
        assert.deepInclude(waits.body, { status: "queued", queuePosition: 1 })
        yield* hangUp(url, 1)
        // the slot is that of the caller who waits
        assert.deepStrictEqual(codeOf(yield* post(url + LIVEKIT)), [503, "queue_full"])
        const ticket = String(waits.body.uniqueRequestId)
        assert.strictEqual((yield* post(`${url}/api/session/${ticket}/start`)).status, 200)
        assert.lengthOf(world.initiated, 2)
      }),
  )

  servedTest(
    "is limited as everybody is, and what found no slot is not counted",
    { ...given, Security: { ...given.Security, RateLimitHourly: 2 } },
    ({ url }) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* post(url + LIVEKIT)).status, 200)
        for (let n = 0; n < 3; n++) assert.strictEqual((yield* post(url + LIVEKIT)).status, 503)
        assert.strictEqual((yield* post(url + PIPECAT)).status, 200)
        const limited = yield* post(url + RETELL)
        assert.deepStrictEqual(codeOf(limited), [429, "rate_limited"])
        assert.isNotNull(limited.headers.get("retry-after"))
      }),
  )

  servedTest("is checked as everybody is", given, ({ port, url, world }) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.succeed({ ...noFacts, tor: true })
      for (const door of DOORS) assert.deepStrictEqual(codeOf(yield* post(url + door)), [403, "blocked"], door)
      world.lookup = () => Effect.succeed(noFacts)
      world.initiate = () => Effect.fail(platformRefusesRequest)
      for (const door of DOORS) assert.deepStrictEqual(codeOf(yield* post(url + door)), [422, "request_refused"], door)
      const sent = { "content-type": "application/json" }
      for (const door of DOORS) {
        for (const [headers, body, status, code] of [
          [{ ...sent, origin: "https://evil.example" }, "{}", 403, "origin_not_allowed"],
          [{ "content-type": "text/plain" }, "{}", 415, "unsupported_media_type"],
          [sent, "{", 400, "malformed_json"],
          [sent, "[]", 400, "invalid_request"],
          [sent, '"text"', 400, "invalid_request"],
          [sent, JSON.stringify({ x: "x".repeat(70_000) }), 413, "body_too_large"],
        ] as const) {
          const reply = yield* rawCall(port, { method: "POST", path: door, headers }, body)
          assert.deepStrictEqual(codeOf(reply), [status, code], `${door} ${body.slice(0, 9)}`)
        }
        const read = yield* call(url + door)
        assert.deepStrictEqual(codeOf(read), [405, "method_not_allowed"])
        assert.strictEqual(read.headers.get("allow"), "POST")
      }
    }),
  )

  servedTest("is told which of its own fields is wrong", given, ({ url }) =>
    Effect.gen(function* () {
      for (const [door, body, field] of [
        [LIVEKIT, { participant_identity: "a/b" }, "participant_identity"],
        [LIVEKIT, { participant_attributes: { language: 7 } }, "participant_attributes"],
        [LIVEKIT, { participant_metadata: 7 }, "participant_metadata"],
        [PIPECAT, { body: "text" }, "body"],
        [RETELL, { retell_llm_dynamic_variables: { n: 1 } }, "retell_llm_dynamic_variables"],
      ] as const) {
        const reply = yield* post(url + door, body)
        assert.deepStrictEqual(codeOf(reply), [400, "invalid_request"], field)
        assert.isTrue(String(reply.body.detail).startsWith(field), reply.text)
      }
    }),
  )

  servedTest("of another origin may read the answer where its origin is allowed", given, ({ port, url }) =>
    Effect.gen(function* () {
      const reply = yield* post(url + LIVEKIT, {}, { origin: SHOP })
      assert.strictEqual(reply.headers.get("access-control-allow-origin"), SHOP)
      const headers = { origin: SHOP, "access-control-request-method": "POST" }
      const preflight = yield* rawCall(port, { method: "OPTIONS", path: LIVEKIT, headers })
      assert.strictEqual(preflight.status, 204)
      assert.include(String(preflight.headers["access-control-allow-headers"]), "content-type")
    }),
  )

  servedTest("finds nothing at a campaign of another vendor or at an address of its own", given, ({ url, world }) =>
    Effect.gen(function* () {
      for (const path of [
        "/api/vendors/livekit/default/token",
        "/api/vendors/livekit/bots/token",
        "/api/vendors/livekit/nobody/token",
        "/api/vendors/livekit/rooms/start",
        "/api/vendors/livekit/rooms/token/more",
        "/api/vendors/vapi/rooms/token",
        "/api/vendors/toString/rooms/token",
      ]) {
        assert.deepStrictEqual(codeOf(yield* post(url + path)), [404, "not_found"], path)
      }
      assert.lengthOf(world.initiated, 0)
    }),
  )
})
