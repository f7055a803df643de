/**
 * The platform's REST API, endpoint by endpoint as its definition lists them: no user can access another's objects (object level
 * authorization) or set protected properties (object property level authorization).
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Platform from "../../src/platform/Platform.ts"
import { type Endpoint, surfaceOf } from "../fuzz/surface.ts"
import { prepare } from "../platform/support.ts"

const running = Effect.gen(function* () {
  const context = yield* Layer.build(Platform.layer({ limits: { requestsPerMinute: 0, startsPerMinute: 0 } }))
  const { keys } = yield* Effect.provideContext(prepare(), context)
  const { origin } = Context.get(context, Platform.Platform)
  const call = (secret: Redacted.Redacted<string>, method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(`${origin}${path}`, {
        method,
        headers: { authorization: `Token ${Redacted.value(secret)}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const answer: { readonly data: Readonly<Record<string, unknown>> | null } = JSON.parse(text)
      return { status: response.status, text, data: answer.data ?? {} }
    })
  return { context, keys, call }
})

/** Everything below a business. */
const endpoints = surfaceOf(1).platform.filter(({ path }) => path.includes(":businessId"))
const named = ({ method, path }: Endpoint): string => `${method} ${path}`
const at = ({ path }: Endpoint, ids: Readonly<Record<string, string>>): string =>
  path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? "c1")
const audio = { sampleRate: 16000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }
const initiate = {
  transportType: 0,
  webCampaignId: "c1",
  regionId: "eu",
  audioInputConfiguration: audio,
  audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
}
const telephone = { toNumber: "+15550100", regionId: "eu" }

/** A body that the endpoint would take. */
const bodyOf = ({ bodies, method, path }: Endpoint): unknown => {
  if (path.endsWith("websession/initiate")) return initiate
  if (path.endsWith("call/initiate")) return telephone
  if (bodies.length === 0) return undefined
  return path.endsWith("webcampaigns") || method === "PATCH" ? { name: "Changed" } : {}
}

describe("a business of the platform", { timeout: 60_000 }, () => {
  it.effect("is reached by no key of another user and by none restricted to another business, at any endpoint", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running
      assert.isAbove(endpoints.length, 15)
      for (const endpoint of endpoints) {
        const path = at(endpoint, { businessId: "b1" })
        const foreign = yield* call(keys.other, endpoint.method, path, bodyOf(endpoint))
        const nothing = yield* call(keys.other, endpoint.method, at(endpoint, { businessId: "none" }), bodyOf(endpoint))
        // another user's object is indistinguishable from a missing one
        assert.deepStrictEqual([foreign.status, foreign.text], [404, nothing.text], named(endpoint))
        const restricted = yield* call(keys.restricted, endpoint.method, path, bodyOf(endpoint))
        assert.strictEqual(restricted.status, 403, named(endpoint))
        assert.notMatch(foreign.text + restricted.text, /Shop|"c1"/, named(endpoint))
      }
      const unchanged = yield* call(keys.all, "GET", "/api/v1/business/b1/webcampaigns")
      assert.include(unchanged.text, '"name":"Web"')
    }),
  )

  it.effect("holds nothing that another business of the same user leads to", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running
      const session = yield* call(keys.all, "POST", "/api/v1/business/b1/websession/initiate", initiate)
      const ringing = yield* call(keys.all, "POST", "/api/v1/business/b1/call/initiate", telephone)
      assert.deepStrictEqual([session.status, ringing.status], [200, 200])
      const ids = {
        businessId: "b2",
        webCampaignId: "c1",
        webSessionId: String(session.data.webSessionId),
        callId: String(ringing.data.callId),
        sessionId: String(ringing.data.conversationSessionId),
      }
      const inner = endpoints.filter(({ path }) => /:businessId\/.*:/.test(path))
      assert.isAbove(inner.length, 4)
      for (const endpoint of inner) {
        // the key may touch b2, and what it names is in b1
        const answer = yield* call(keys.restricted, endpoint.method, at(endpoint, ids), bodyOf(endpoint))
        assert.strictEqual(answer.status, 404, `${named(endpoint)}: ${answer.text}`)
      }
      const start = yield* call(keys.restricted, "POST", "/api/v1/business/b2/websession/initiate", initiate)
      assert.strictEqual(start.status, 404, start.text)
      const lists = endpoints.filter(({ method, path }) => method === "POST" && /history$|conversations$/.test(path))
      assert.isAbove(lists.length, 3)
      for (const endpoint of lists) {
        const { text } = yield* call(keys.restricted, "POST", at(endpoint, ids), {})
        assert.include(text, '"items":[]', named(endpoint))
      }
    }),
  )
})

/** Properties that a caller may not set. */
const forbiddenFields = {
  id: "chosen",
  userId: "u2",
  user_id: "u2",
  businessId: "b3",
  business_id: "b3",
  disabled: false,
  createdAt: "1970-01-01T00:00:00.001Z",
  created_at: 1,
  callConcurrency: 9_999,
  call_concurrency: 9_999,
  email: "eve@evil.example",
  userManagement: true,
  scope: { type: "Unrestricted" },
  role: "admin",
  status: 6,
  digest: "0".repeat(64),
}

describe("an unknown field", { timeout: 60_000 }, () => {
  it.effect("is refused by its name and changes nothing, wherever it is sent", () =>
    Effect.gen(function* () {
      const { call, context, keys } = yield* running
      const sql = Context.get(context, SqlClient.SqlClient)
      const all = Effect.all([
        sql`SELECT * FROM users ORDER BY id`,
        sql`SELECT * FROM businesses ORDER BY id`,
        sql`SELECT * FROM web_campaigns ORDER BY id`,
        sql`SELECT * FROM web_sessions ORDER BY id`,
        sql`SELECT id, name, restricted, user_management, may_start, may_read, may_manage FROM api_keys ORDER BY id`,
      ])
      const before = yield* all
      for (const [field, value] of Object.entries(forbiddenFields)) {
        for (const [method, path, body] of [
          ["POST", "/api/v1/business", { name: "New" }],
          ["PATCH", "/api/v1/business/b1", { name: "Renamed" }],
          ["POST", "/api/v1/business/b1/webcampaigns", { name: "Campaign" }],
          ["PATCH", "/api/v1/business/b1/webcampaigns/c1", { name: "Changed" }],
          ["POST", "/api/v1/business/b1/websession/initiate", initiate],
          ["POST", "/api/v1/business/b1/call/initiate", { toNumber: "+15550100", regionId: "eu" }],
          ["PATCH", "/api/v1/user", { name: "Eve" }],
        ] as const) {
          const { status, text } = yield* call(keys.users, method, path, { ...body, [field]: value })
          assert.strictEqual(status, 400, `${field} at ${path}`)
          assert.include(text, `${field}: unknown field`)
        }
      }
      assert.deepStrictEqual(yield* all, before)
    }),
  )
})
