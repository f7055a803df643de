/** A key that is restricted to some businesses sees nothing of others, in whatever list or count. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpApi } from "effect/http-api"
import { TestClock } from "effect/testing"
import { COMPLETES_MILLIS } from "../../../src/platform/calls/Calls.ts"
import { Api } from "../../../src/platform/http/Api.ts"
import { PERMISSIONS } from "../../../src/platform/keys/ApiKey.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { prepare } from "../support.ts"

const audio = { sampleRate: 16000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }

/** Endpoints that read nothing of a business, or that return the account's concurrency, which the gate needs. */
const TELLS_NO_BUSINESS = new Set(["ListRegions", "GetUser", "GetBillingUsage", "GetFeaturesActiveQuantity"])
/** Endpoints that change something; rest.test.ts tests them. */
const CHANGES = /^(Create|Change|Rename|Delete|Initiate)/

/** Two businesses of one user, each with a campaign, a call and a session; and keys for one and for all of them. */
const running = Effect.gen(function* () {
  const context = yield* Layer.build(Platform.layer({ limits: { requestsPerMinute: 0, startsPerMinute: 0 } }))
  const { keys } = yield* Effect.provideContext(prepare(), context)
  const apiKeys = Context.get(context, ApiKeys)
  const scope = { type: "Restricted" as const, businessIds: ["b2"] }
  const { secret } = yield* apiKeys.create("u1", {
    name: "b2 and user",
    scope,
    permissions: PERMISSIONS,
    userManagement: true,
  })
  const { baseUrl } = Context.get(context, Platform.Platform)
  const call = (key: Redacted.Redacted<string>, method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(baseUrl + path, {
        method,
        headers: { authorization: `Token ${Redacted.value(key)}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, text: await response.text() }
    })
  const seen = new Map<string, ReadonlyArray<string>>()
  for (const business of ["b1", "b2"]) {
    const made = yield* call(keys.users, "POST", `business/${business}/webcampaigns`, { name: `of-${business}` })
    const webCampaignId = business === "b1" ? "c1" : JSON.parse(made.text).data.id
    const start = {
      transportType: 0,
      webCampaignId,
      regionId: "eu",
      clientIdentifier: `caller-of-${business}`,
      audioInputConfiguration: audio,
      audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
    }
    const phone = yield* call(keys.users, "POST", `business/${business}/call/initiate`, {
      toNumber: "+15550100",
      regionId: "eu",
    })
    const session = yield* call(keys.users, "POST", `business/${business}/websession/initiate`, start)
    assert.deepStrictEqual([phone.status, session.status], [200, 200])
    seen.set(business, [
      JSON.parse(phone.text).data.callId,
      JSON.parse(phone.text).data.conversationSessionId,
      JSON.parse(session.text).data.webSessionId,
      webCampaignId,
      `"${business}"`,
    ])
    // The calls of the other business have ended: the account has two concurrent calls.
    yield* TestClock.adjust(COMPLETES_MILLIS * 20)
  }
  return { call, keys, restricted: secret, idsOf: (business: string) => seen.get(business) ?? [] }
})

/** Matches an id as a whole: a short one may be part of another's random text. */
const asWhole = (id: string): RegExp => new RegExp(`(?<![\\w-])${id}(?![\\w-])`)

describe("a restricted key", () => {
  it.effect("reads entries and counts of its own businesses only, at every endpoint that reads", () =>
    Effect.gen(function* () {
      const { call, idsOf, restricted } = yield* running
      const [callId = "", conversation = "", session = "", campaign = ""] = idsOf("b1")
      const foreign = { webCampaignId: campaign, webSessionId: session, callId, sessionId: conversation }
      const read: Array<readonly [string, string, string]> = []
      HttpApi.reflect(Api, {
        onGroup: () => {},
        onEndpoint: ({ endpoint }) => {
          if (CHANGES.test(endpoint.identifier) || TELLS_NO_BUSINESS.has(endpoint.identifier)) return
          const path = Object.entries({ businessId: "b1", ...foreign }).reduce(
            (all, [name, value]) => all.replace(`:${name}`, value),
            endpoint.path.replace("/api/v1/", ""),
          )
          read.push([endpoint.identifier, endpoint.method, path])
        },
      })
      assert.isAtLeast(read.length, 13)
      for (const [identifier, method, path] of read) {
        const { status, text } = yield* call(restricted, method, path, method === "POST" ? {} : undefined)
        assert.strictEqual(status, path.startsWith("business/b1") ? 403 : 200, identifier)
        for (const id of idsOf("b1")) assert.notMatch(text, asWhole(id), identifier)
      }
    }),
  )

  it.effect(
    "a restricted key with user management reads and counts the usage of its businesses only; one without a business left, none",
    () =>
      Effect.gen(function* () {
        const { call, idsOf, keys, restricted } = yield* running
        const usage = (key: Redacted.Redacted<string>) => call(key, "POST", "user/usage/history", {})
        const count = (key: Redacted.Redacted<string>) =>
          Effect.map(call(key, "POST", "user/usage/count", {}), ({ text }) => JSON.parse(text).data)
        const [, other = ""] = idsOf("b1")
        const [, own = ""] = idsOf("b2")
        assert.include((yield* usage(keys.users)).text, other)
        const { text } = yield* usage(restricted)
        assert.include(text, own)
        assert.notInclude(text, other)
        assert.deepStrictEqual(yield* count(keys.users), { count: 2, seconds: 40 })
        assert.deepStrictEqual(yield* count(restricted), { count: 1, seconds: 20 })
        assert.strictEqual((yield* call(keys.users, "DELETE", "business/b2")).status, 200)
        assert.deepStrictEqual(yield* count(restricted), { count: 0, seconds: 0 })
      }),
  )
})
