/** The REST API over loopback: what keys may, statuses and envelopes, lists, calls and conversations. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Redacted } from "effect"
import { HttpApi } from "effect/http-api"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import { COMPLETES_MILLIS } from "../../../src/platform/calls/Calls.ts"
import { Api } from "../../../src/platform/http/Api.ts"
import {
  Authorization,
  NeedsBusiness,
  NeedsUnrestricted,
  NeedsUserManagement,
} from "../../../src/platform/http/Authorization.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { prepare, until } from "../support.ts"
import { restClient, sessionRequest } from "./rest-client.ts"

const running = Effect.fnUntraced(function* (options: Platform.Options = {}) {
  const context = yield* Layer.build(Platform.layer(options))
  const { keys } = yield* Effect.provideContext(prepare(), context)
  const { baseUrl, origin } = Context.get(context, Platform.Platform)
  const call = restClient(baseUrl)
  const refused = (secret: Redacted.Redacted<string>, method: string, path: string, body?: unknown) =>
    Effect.map(call(secret, method, path, body), ({ code, data, status, success }) => {
      assert.isFalse(success)
      assert.isNull(data)
      return `${status} ${code}`
    })
  return { keys, origin, call, refused, apiKeys: Context.get(context, ApiKeys) }
})

describe("the REST API", () => {
  it("declares for every endpoint what it needs: user management below /user, the business below a business", () => {
    let endpoints = 0
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, middleware }) => {
        endpoints++
        const declared = new Set([...middleware].map(({ key }) => key))
        assert.isTrue(declared.has(Authorization.key), endpoint.identifier)
        const needs = {
          user: declared.has(NeedsUserManagement.key),
          business: declared.has(NeedsBusiness.key),
          all: declared.has(NeedsUnrestricted.key),
        }
        assert.deepStrictEqual(needs, {
          user: /^\/api\/v1\/user(\/|$)/.test(endpoint.path),
          business: endpoint.path.startsWith("/api/v1/business/:businessId"),
          all: endpoint.identifier === "CreateBusiness",
        })
      },
    })
    assert.isAtLeast(endpoints, 27)
  })

  it.effect("opens /user to keys with user management only", () =>
    Effect.gen(function* () {
      const { call, keys, refused } = yield* running()
      for (const [method, path, body] of [
        ["GET", "user", undefined],
        ["PATCH", "user", { name: "Eve" }],
        ["GET", "user/billing/usage", undefined],
        ["GET", "user/billing/featuresactivequantity", undefined],
        ["POST", "user/usage/count", {}],
        ["POST", "user/usage/history", {}],
      ] as const) {
        assert.match(
          yield* refused(keys.all, method, path, body),
          /^403 \w+:API_ACCESS_MANAGEMENT_RESTRICTION$/,
          `${method} ${path}`,
        )
        assert.strictEqual((yield* call(keys.users, method, path, body)).status, 200, `${method} ${path}`)
      }
      assert.deepInclude((yield* call(keys.users, "GET", "user")).data, { id: "u1", name: "Eve" })
    }),
  )

  it.effect("answers a key from an address that it is not limited to with a code of its own", () =>
    Effect.gen(function* () {
      const { apiKeys, call, refused } = yield* running()
      const wanted = { name: "gate", scope: { type: "Unrestricted" as const }, permissions: ["start"] as const }
      const elsewhere = yield* apiKeys.create("u1", { ...wanted, allowedAddresses: ["203.0.113.0/24"] })
      assert.strictEqual(yield* refused(elsewhere.secret, "GET", "business"), "403 ADDRESS_NOT_ALLOWED")
      const here = yield* apiKeys.create("u1", { ...wanted, allowedAddresses: ["127.0.0.0/8"] })
      assert.strictEqual((yield* call(here.secret, "GET", "business")).status, 200)
    }),
  )

  it.effect("restricts a key to its businesses, and reveals nothing about others", () =>
    Effect.gen(function* () {
      const { apiKeys, call, keys, refused } = yield* running()
      assert.strictEqual((yield* call(keys.restricted, "GET", "business/b2")).data.name, "Cafe")
      assert.strictEqual(yield* refused(keys.restricted, "GET", "business/b1"), "403 GetBusiness:RESTRICTED_API_KEY")
      assert.strictEqual(yield* refused(keys.none, "GET", "business/b2"), "403 GetBusiness:RESTRICTED_API_KEY")
      assert.strictEqual(yield* refused(keys.all, "GET", "business/b3"), "404 GetBusiness:BUSINESS_NOT_FOUND")
      assert.strictEqual(yield* refused(keys.all, "GET", "business/b9"), "404 GetBusiness:BUSINESS_NOT_FOUND")
      const list = yield* call(keys.restricted, "GET", "business")
      assert.lengthOf(list.data, 1)
      const create = yield* refused(keys.restricted, "POST", "business", { name: "New" })
      assert.strictEqual(create, "403 CreateBusiness:RESTRICTED_API_KEY")
      const [key] = (yield* apiKeys.list("u1")).filter(({ name }) => name === "restricted")
      yield* apiKeys.revoke("u1", key?.id ?? "")
      assert.strictEqual(yield* refused(keys.restricted, "GET", "business/b2"), "401 API_KEY_INVALID")
    }),
  )

  it.effect("creates, renames and deletes businesses and campaigns; a campaign's secrets are never shown", () =>
    Effect.gen(function* () {
      const { call, keys, refused } = yield* running()
      const made = yield* call(keys.all, "POST", "business", { name: "New" })
      assert.strictEqual(made.status, 200)
      const path = `business/${made.data.id}`
      assert.strictEqual((yield* call(keys.all, "PATCH", path, { name: "Newer" })).data.name, "Newer")
      const target = {
        url: "https://gate.example/hook",
        headers: { "X-Api-Token": "very-secret" },
        signingSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      }
      const campaign = yield* call(keys.all, "POST", `${path}/webcampaigns`, { name: "C", sessionEnded: target })
      assert.deepInclude(campaign.data, {
        name: "C",
        sessionEnded: { url: "https://gate.example/hook", headerNames: ["X-Api-Token"], signed: true },
      })
      const listed = yield* call(keys.all, "GET", `${path}/webcampaigns`)
      assert.notInclude(JSON.stringify([campaign, listed]), "very-secret")
      assert.notInclude(JSON.stringify([campaign, listed]), "MfKQ9r8")
      const id = campaign.data.id
      const renamed = yield* call(keys.all, "PATCH", `${path}/webcampaigns/${id}`, { name: "D" })
      assert.deepInclude(renamed.data, { name: "D", sessionEnded: campaign.data.sessionEnded })
      const without = yield* call(keys.all, "PATCH", `${path}/webcampaigns/${id}`, { sessionEnded: null })
      assert.isNull(without.data.sessionEnded)
      assert.strictEqual(
        yield* refused(keys.all, "PATCH", `${path}/webcampaigns/${id}`, { sessionEnded: { url: "http://10.0.0.1/" } }),
        "400 ChangeWebCampaign:WEBHOOK_INVALID",
      )
      const foreign = `business/b1/webcampaigns/${id}`
      assert.strictEqual(yield* refused(keys.all, "GET", foreign), "404 GetWebCampaign:WEB_CAMPAIGN_NOT_FOUND")
      assert.strictEqual((yield* call(keys.all, "DELETE", `${path}/webcampaigns/${id}`)).status, 200)
      assert.strictEqual((yield* call(keys.all, "DELETE", path)).status, 200)
      assert.strictEqual(yield* refused(keys.all, "GET", path), "404 GetBusiness:BUSINESS_NOT_FOUND")
    }),
  )

  it.live("records the texts of a session as a conversation, and shows it with its turns", () =>
    Effect.gen(function* () {
      const { call, keys, refused } = yield* running()
      const started = yield* call(keys.all, "POST", "business/b1/websession/initiate", sessionRequest)
      const { conversationSessionId, sessionWebSocketURL, webSessionId } = started.data
      const frames: Array<unknown> = []
      const socket = new WebSocket(sessionWebSocketURL)
      socket.on("message", (data, binary) => {
        if (!binary) frames.push(JSON.parse(String(data)))
      })
      yield* until(() => frames.length === 1)
      socket.send("How are you?")
      yield* until(() => frames.length === 2)
      assert.deepStrictEqual(frames[1], { type: "message", role: "agent", text: "You wrote: How are you?" })
      assert.strictEqual(yield* refused(keys.all, "DELETE", "business/b1"), "409 DeleteBusiness:BUSINESS_IN_USE")
      const open = yield* call(keys.all, "POST", "business/b1/websession/count", { filter: { running: true } })
      assert.strictEqual(open.data, 1)
      socket.close()
      const session = call(keys.all, "POST", `business/b1/websession/history/${webSessionId}`)
      yield* session.pipe(Effect.repeat({ until: ({ data }) => data.endedAt !== null }))
      const conversation = yield* call(keys.all, "GET", `business/b1/conversations/${conversationSessionId}`)
      assert.deepInclude(conversation.data, { kind: "web", sourceId: webSessionId, clientIdentifier: "me" })
      assert.isString(conversation.data.endedAt)
      assert.deepStrictEqual(
        conversation.data.turns.map(({ role, text }: { role: string; text: string }) => `${role}: ${text}`),
        ["agent: Hello. I repeat what you say.", "caller: How are you?", "agent: You wrote: How are you?"],
      )
      const list = yield* call(keys.all, "POST", "business/b1/conversations", { filter: { clientIdentifier: "me" } })
      assert.lengthOf(list.data.items, 1)
      assert.strictEqual(
        yield* refused(keys.all, "GET", `business/b2/conversations/${conversationSessionId}`),
        "404 GetConversation:CONVERSATION_NOT_FOUND",
      )
      const usage = yield* call(keys.users, "POST", "user/usage/count", { filter: { kind: "web" } })
      assert.strictEqual(usage.data.count, 1)
    }),
  )

  it.effect("runs a simulated call in time, and counts it against the account's limit", () =>
    Effect.gen(function* () {
      const { call, keys, refused } = yield* running()
      const body = { toNumber: "+15550100", regionId: "eu" }
      const first = yield* call(keys.all, "POST", "business/b1/call/initiate", body)
      yield* call(keys.all, "POST", "business/b1/call/initiate", body)
      for (const [path, sent] of [
        ["call/initiate", body],
        ["websession/initiate", sessionRequest],
      ] as const) {
        assert.match(
          yield* refused(keys.all, "POST", `business/b1/${path}`, sent),
          /^429 Initiate\w+:CONCURRENCY_LIMIT_REACHED$/,
        )
      }
      const usage = yield* call(keys.users, "GET", "user/billing/usage")
      assert.deepStrictEqual(usage.data.currentUsage, { Call_Concurrency: 2 })
      yield* TestClock.setTime(COMPLETES_MILLIS)
      const over = yield* call(keys.all, "GET", `business/b1/call/${first.data.callId}`)
      assert.deepInclude(over.data, { status: "completed", endedAt: "1970-01-01T00:00:24.000Z" })
      const list = yield* call(keys.all, "POST", "business/b1/call/history", { limit: 1 })
      assert.lengthOf(list.data.items, 1)
      assert.isString(list.data.nextCursor)
      assert.strictEqual(
        yield* refused(keys.all, "POST", "business/b1/call/initiate", { ...body, toNumber: "911" }),
        "400 INVALID_FORMAT",
      )
    }),
  )

  it.effect("reports how many requests are left, and refuses further ones; starts are counted separately", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running({ limits: { requestsPerMinute: 3, startsPerMinute: 600 } })
      for (const remaining of ["2", "1", "0"]) {
        const { headers, status } = yield* call(keys.all, "GET", "business/b1")
        assert.deepStrictEqual([status, headers.get("x-ratelimit-remaining")], [200, remaining])
      }
      const over = yield* call(keys.all, "GET", "business/b1")
      assert.deepInclude(over, { status: 429, code: "RATE_LIMIT_EXCEEDED", success: false, data: null })
      assert.strictEqual(over.headers.get("retry-after"), "60")
      assert.strictEqual(over.headers.get("x-ratelimit-remaining"), "0")
      assert.strictEqual((yield* call(keys.all, "POST", "business/b1/websession/initiate", sessionRequest)).status, 200)
      assert.strictEqual((yield* call(keys.users, "GET", "business/b1")).status, 200)
      yield* TestClock.setTime(60_000)
      assert.strictEqual((yield* call(keys.all, "GET", "business/b1")).status, 200)
    }),
  )

  it.effect("answers any number of wrong keys with 401, and then accepts a valid one from the same address", () =>
    Effect.gen(function* () {
      const { call, keys, origin } = yield* running()
      const statuses = yield* Effect.promise(async () => {
        const seen: Array<number> = []
        for (let i = 0; i < 25; i++) {
          const headers = { authorization: "Token vgp_wrong" }
          const response = await fetch(`${origin}/api/v1/business`, { headers })
          await response.text()
          assert.strictEqual(response.headers.get("www-authenticate"), 'Token realm="platform"')
          seen.push(response.status)
        }
        return seen
      })
      assert.deepStrictEqual(statuses, Array<number>(25).fill(401))
      assert.strictEqual((yield* call(keys.all, "GET", "business/b1")).status, 200)
    }),
  )

  it.effect("refuses an invalid cursor, limit, filter or body, and oversized ones", () =>
    Effect.gen(function* () {
      const { keys, refused } = yield* running()
      const list = (body: unknown) => refused(keys.all, "POST", "business/b1/conversations", body)
      assert.strictEqual(yield* list({ limit: 0 }), "400 INVALID_FORMAT")
      assert.strictEqual(yield* list({ limit: 1000 }), "400 INVALID_FORMAT")
      assert.strictEqual(yield* list({ filter: { from: "yesterday" } }), "400 INVALID_FORMAT")
      assert.strictEqual(yield* list({ nextCursor: "nonsense" }), "400 ListConversations:CURSOR_INVALID")
      assert.strictEqual(yield* list("{"), "400 INVALID_FORMAT")
      assert.match(yield* list({ filter: { clientIdentifier: "x".repeat(2_000_000) } }), /^413 BODY_TOO_LARGE$/)
    }),
  )

  it.effect("is documented at /docs, with files of its own origin only", () =>
    Effect.gen(function* () {
      const { origin } = yield* running()
      const response = yield* Effect.promise(() => fetch(`${origin}/docs`))
      assert.strictEqual(response.status, 200)
      const page = yield* Effect.promise(() => response.text())
      assert.include(page, "voicegate platform")
      assert.notMatch(page, /<(script|link)[^>]+(src|href)="(https?:)?\/\//)
      assert.strictEqual(response.headers.get("x-content-type-options"), "nosniff")
    }),
  )
})
