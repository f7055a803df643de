/** The dashboard's API on the real platform, used by a client that is not a browser: what is refused, and what is never disclosed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { CreatedApiKey } from "../../../src/platform/keys/ApiKey.ts"
import { sessionRequest } from "../../platform/http/rest-client.ts"
import { prepare } from "../../platform/support.ts"
import { code, running } from "./http.ts"

describe("the dashboard's API", () => {
  it.effect("refuses what does not come from a page of its own origin", () =>
    Effect.gen(function* () {
      const { origin, send } = yield* running()
      const body = { email: "ada@example.test", password: "x" }
      const sent = (headers: Readonly<Record<string, string>>) =>
        Effect.map(send("POST", "/dashboard/api/session", body, headers), ({ status }) => status)
      assert.strictEqual(yield* sent({}), 401)
      assert.strictEqual(yield* sent({ origin: "https://evil.example" }), 403)
      assert.strictEqual(yield* sent({ origin: "null" }), 403)
      assert.strictEqual(yield* sent({ origin: `${origin}.evil.example` }), 403)
      assert.strictEqual(yield* sent({ "sec-fetch-site": "cross-site" }), 403)
      assert.strictEqual(yield* sent({ "sec-fetch-site": "same-site" }), 403)
      assert.strictEqual(yield* sent({ "sec-fetch-site": "same-origin", origin: "https://tls.example" }), 401)
      const neither = yield* Effect.promise(() => fetch(`${origin}/dashboard/api/session`, { method: "DELETE" }))
      assert.strictEqual(neither.status, 403)
    }),
  )

  it.effect("requires a sign-in, and refuses API keys", () =>
    Effect.gen(function* () {
      const { context, send } = yield* running()
      const { keys } = yield* Effect.provideContext(prepare(), context)
      const headers = { authorization: `Token ${Redacted.value(keys.users)}` }
      for (const path of [
        "/session",
        "/account/sign-ins",
        "/keys",
        "/businesses",
        "/regions",
        "/conversations",
        "/live",
        "/deliveries",
        "/audit",
      ]) {
        assert.strictEqual((yield* send("GET", `/dashboard/api${path}`)).status, 401, path)
        assert.strictEqual((yield* send("GET", `/dashboard/api${path}`, undefined, headers)).status, 401, path)
      }
    }),
  )

  it.effect("shows no user another user's businesses, keys and conversations", () =>
    Effect.gen(function* () {
      const { add, asUser, context } = yield* running()
      yield* Effect.provideContext(prepare(), context)
      yield* add("eve", "eve@example.test")
      const eve = yield* asUser("eve@example.test")
      assert.deepStrictEqual((yield* eve("GET", "/businesses")).text, "[]")
      assert.deepStrictEqual((yield* eve("GET", "/keys")).text, "[]")
      const scope = { type: "Restricted", businessIds: ["b1"] }
      const foreign = { name: "k", scope, userManagement: false, expiresAt: null }
      const answers = [
        yield* eve("POST", "/keys", foreign),
        yield* eve("PATCH", "/businesses/b1", { name: "mine" }),
        yield* eve("DELETE", "/businesses/b1"),
        yield* eve("POST", "/businesses/b1/campaigns", { name: "c", webhook: null }),
        yield* eve("PUT", "/businesses/b1/campaigns/c1", { name: "c", webhook: null }),
        yield* eve("DELETE", "/businesses/b1/campaigns/c1"),
        yield* eve("GET", "/conversations?businessId=b1"),
        yield* eve("GET", "/businesses/b1/conversations/any"),
      ]
      assert.deepStrictEqual(
        answers.map(({ status, json }) => [status, json.code]),
        answers.map(() => [404, "BUSINESS_NOT_FOUND"]),
      )
      assert.strictEqual((yield* eve("POST", "/keys/any/revoke")).status, 404)
      assert.strictEqual((yield* eve("PATCH", "/keys/any", { permissions: ["manage"] })).status, 404)
      assert.strictEqual((yield* eve("POST", "/deliveries/any/send-again")).status, 404)
    }),
  )

  it.effect("counts the sessions and calls that a key starts, for its user alone", () =>
    Effect.gen(function* () {
      const { add, asUser, context, origin } = yield* running()
      yield* Effect.provideContext(prepare(), context)
      yield* add("eve", "eve@example.test")
      yield* add("ada", "ada@example.test")
      const [ada, eve] = [yield* asUser("ada@example.test"), yield* asUser("eve@example.test")]
      const business = String((yield* ada("POST", "/businesses", { name: "Shop" })).json.id)
      const campaign = yield* ada("POST", `/businesses/${business}/campaigns`, { name: "Web" })
      const made = yield* ada("POST", "/keys", { name: "gate", scope: { type: "Unrestricted" } })
      const key = Schema.decodeUnknownSync(CreatedApiKey)(made.json)
      const start = (what: string, body: object) =>
        Effect.promise(() =>
          fetch(`${origin}/api/v1/business/${business}/${what}/initiate`, {
            method: "POST",
            headers: { authorization: `Token ${key.secret}`, "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
        )
      const web = { ...sessionRequest, webCampaignId: campaign.json.id }
      assert.strictEqual((yield* start("websession", web)).status, 200)
      assert.strictEqual((yield* start("call", { toNumber: "+15550100", regionId: "eu" })).status, 200)
      const path = `/keys/${key.key.id}/usage`
      const days: ReadonlyArray<unknown> = JSON.parse((yield* ada("GET", path)).text)
      assert.lengthOf(days, 30)
      assert.deepStrictEqual(days.at(-1), { day: 0, sessions: 1, calls: 1 })
      assert.strictEqual((yield* eve("GET", path)).status, 404)
    }),
  )

  it.effect("refuses a restricted key without a business and one that has already expired", () =>
    Effect.gen(function* () {
      const { add, asUser } = yield* running()
      yield* add("ada", "ada@example.test")
      const ada = yield* asUser("ada@example.test")
      const key = { name: "k", scope: { type: "Unrestricted" }, userManagement: false, expiresAt: null }
      const none = yield* ada("POST", "/keys", { ...key, scope: { type: "Restricted", businessIds: [] } })
      assert.deepStrictEqual([none.status, code(none)], [400, "BUSINESSES_REQUIRED"])
      const omitted = yield* ada("POST", "/keys", { ...key, scope: { type: "Restricted" } })
      assert.deepStrictEqual([omitted.status, code(omitted)], [400, "INVALID_FORMAT"])
      const nameless = yield* ada("POST", "/keys", { ...key, name: " " })
      assert.deepStrictEqual([nameless.status, code(nameless)], [400, "NAME_INVALID"])
      const over = yield* ada("POST", "/keys", { ...key, expiresAt: -1 })
      assert.deepStrictEqual([over.status, code(over)], [400, "EXPIRY_INVALID"])
      const useless = yield* ada("POST", "/keys", { ...key, permissions: [] })
      assert.deepStrictEqual([useless.status, code(useless)], [400, "PERMISSIONS_REQUIRED"])
      const made = yield* ada("POST", "/keys", key)
      assert.strictEqual(made.status, 200)
      // scope and user management say what a key may do: permissions that nobody has named narrow nothing
      assert.include(made.text, '"permissions":["start","read","manage"]')
      const secret = String(made.json.secret)
      const listed = yield* ada("GET", "/keys")
      assert.notInclude(listed.text, secret)
      assert.notInclude((yield* ada("GET", "/audit")).text, secret)
    }),
  )

  it.effect("keeps a webhook's secrets for the address that they were typed for, and shows none", () =>
    Effect.gen(function* () {
      const { add, asUser } = yield* running()
      yield* add("ada", "ada@example.test")
      const ada = yield* asUser("ada@example.test")
      const business = String((yield* ada("POST", "/businesses", { name: "Shop" })).json.id)
      const webhook = {
        url: "https://gate.example/hook",
        headers: [{ name: "X-Api-Token", value: "hook-token-value" }],
        signing: { type: "set", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
      }
      const campaigns = `/businesses/${business}/campaigns`
      const made = yield* ada("POST", campaigns, { name: "Web", webhook })
      const shown = { url: webhook.url, headerNames: ["X-Api-Token"], signed: true }
      assert.deepStrictEqual(made.json.webhook, shown)
      const path = `${campaigns}/${String(made.json.id)}`
      const kept = { ...webhook, headers: [{ name: "X-Api-Token", value: null }], signing: { type: "keep" } }
      const moved = { ...kept, url: "https://gate.example/other" }
      const edited = yield* ada("PUT", path, { name: "Web", webhook: moved })
      assert.deepStrictEqual(edited.json.webhook, { ...shown, url: moved.url })
      const elsewhere = yield* ada("PUT", path, { name: "Web", webhook: { ...kept, url: "https://evil.example/" } })
      assert.deepStrictEqual([elsewhere.status, code(elsewhere)], [400, "SECRETS_NOT_KEPT"])
      const missing = { ...kept, headers: [{ name: "X-Other", value: null }] }
      assert.strictEqual(code(yield* ada("PUT", path, { name: "Web", webhook: missing })), "HEADER_VALUE_MISSING")
      assert.notInclude((yield* ada("GET", "/businesses")).text, "hook-token-value")
      const none = yield* ada("PUT", path, { name: "Web", webhook: null })
      assert.isNull(none.json.webhook)
    }),
  )

  it.effect("is not cached, and its page allows only its own files", () =>
    Effect.gen(function* () {
      const { send } = yield* running()
      assert.strictEqual((yield* send("GET", "/dashboard/api/session")).headers.get("cache-control"), "no-store")
      const index = yield* send("GET", "/")
      assert.include(index.text, "<title>page</title>")
      assert.strictEqual(index.headers.get("cache-control"), "no-cache")
      assert.match(index.headers.get("content-security-policy") ?? "", /^default-src 'none'; script-src 'self';/)
      assert.strictEqual(index.headers.get("x-frame-options"), "DENY")
      assert.strictEqual(index.headers.get("referrer-policy"), "no-referrer")
      for (const path of ["/", "/assets/a-1.js"]) {
        const packed = yield* send("GET", path, undefined, { "accept-encoding": "gzip" })
        assert.deepStrictEqual([packed.status, packed.headers.get("content-encoding")], [200, "gzip"], path)
      }
      assert.include((yield* send("GET", "/assets/a-1.js")).headers.get("cache-control") ?? "", "immutable")
      for (const path of ["/assets/none.js", "/assets/..%2f..%2fbeside.txt", "/beside.txt"]) {
        assert.strictEqual((yield* send("GET", path)).status, 404, path)
      }
    }),
  )
})
