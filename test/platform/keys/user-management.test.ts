/** The two dimensions of a key: scope decides about businesses, user management about everything at and below `/user`. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { PERMISSIONS } from "../../../src/platform/keys/ApiKey.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { restClient } from "../http/rest-client.ts"
import { prepare } from "../support.ts"

const running = Effect.gen(function* () {
  const context = yield* Layer.build(Platform.layer())
  yield* Effect.provideContext(prepare(), context)
  const apiKeys = Context.get(context, ApiKeys)
  return { apiKeys, call: restClient(Context.get(context, Platform.Platform).baseUrl) }
})

describe("user management", () => {
  it.live("opens everything at and below /user, whatever the permissions of the key are", () =>
    Effect.gen(function* () {
      const { apiKeys, call } = yield* running
      for (const permission of PERMISSIONS) {
        const { secret } = yield* apiKeys.create("u1", {
          name: permission,
          scope: { type: "Restricted", businessIds: ["b1"] },
          permissions: [permission],
          userManagement: true,
        })
        assert.strictEqual((yield* call(secret, "GET", "user")).data.id, "u1", permission)
        assert.strictEqual((yield* call(secret, "PATCH", "user", { name: "Ada" })).status, 200, permission)
        assert.strictEqual((yield* call(secret, "GET", "user/billing/usage")).status, 200, permission)
        assert.strictEqual((yield* call(secret, "POST", "user/usage/count", {})).status, 200, permission)
        assert.strictEqual((yield* call(secret, "POST", "user/usage/history", {})).status, 200, permission)
      }
    }),
  )

  it.live("is what a key without it is told to lack, at known and unknown paths, and no permission is", () =>
    Effect.gen(function* () {
      const { apiKeys, call } = yield* running
      const { secret } = yield* apiKeys.create("u1", {
        name: "gate",
        scope: { type: "Unrestricted" },
        permissions: ["start"],
      })
      for (const [method, path] of [
        ["GET", "user"],
        ["PATCH", "user"],
        ["DELETE", "user"],
        ["GET", "user/billing/usage"],
        ["GET", "user/billing/nothing"],
        ["GET", "USER//nothing/"],
        ["POST", "user/usage/count"],
      ] as const) {
        const { code, status } = yield* call(secret, method, path, method === "GET" ? undefined : {})
        assert.strictEqual(status, 403, `${method} ${path}`)
        assert.match(code ?? "", /(^|:)API_ACCESS_MANAGEMENT_RESTRICTION$/, `${method} ${path}`)
      }
      const unknown = yield* call(Redacted.make("nonsense"), "GET", "user/nothing")
      assert.deepInclude(unknown, { status: 401, code: "API_KEY_INVALID" })
    }),
  )

  it.live("user management and scope alone decide what a key may do that was made without naming permissions", () =>
    Effect.gen(function* () {
      const { apiKeys, call } = yield* running
      const { key, secret } = yield* apiKeys.create("u1", {
        name: "all of one business",
        scope: { type: "Restricted", businessIds: ["b1"] },
      })
      assert.deepStrictEqual(key.permissions, PERMISSIONS)
      assert.strictEqual((yield* call(secret, "GET", "business/b1/webcampaigns")).status, 200)
      assert.strictEqual((yield* call(secret, "POST", "business/b1/conversations", {})).status, 200)
      assert.strictEqual((yield* call(secret, "PATCH", "business/b1", { name: "Shop" })).status, 200)
      assert.strictEqual((yield* call(secret, "GET", "business/b2")).status, 403)
    }),
  )
})
