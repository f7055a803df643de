/** Permissions of keys: every endpoint of the REST API, as its document lists them, with every kind of key. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import { Audit } from "../../../src/platform/Audit.ts"
import { Api } from "../../../src/platform/http/Api.ts"
import { OpenTo } from "../../../src/platform/http/Authorization.ts"
import { PERMISSIONS, type Permission } from "../../../src/platform/keys/ApiKey.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import * as Platform from "../../../src/platform/Platform.ts"
import { prepare } from "../support.ts"

/** The permissions of each endpoint; listed explicitly, so that a new endpoint or a wider permission is a decision. */
const EXPECTED: Readonly<Record<string, ReadonlyArray<Permission>>> = {
  "get /business": ["start", "read"],
  "get /regions": ["start", "read"],
  "post /business": ["manage"],
  "get /business/{businessId}": ["start", "read"],
  "patch /business/{businessId}": ["manage"],
  "delete /business/{businessId}": ["manage"],
  "get /business/{businessId}/webcampaigns": ["read"],
  "post /business/{businessId}/webcampaigns": ["manage"],
  "get /business/{businessId}/webcampaigns/{webCampaignId}": ["start", "read"],
  "patch /business/{businessId}/webcampaigns/{webCampaignId}": ["manage"],
  "delete /business/{businessId}/webcampaigns/{webCampaignId}": ["manage"],
  "post /business/{businessId}/webhooks/history": ["read"],
  "post /business/{businessId}/websession/initiate": ["start"],
  "post /business/{businessId}/websession/count": ["start", "read"],
  "post /business/{businessId}/websession/history": ["start", "read"],
  "post /business/{businessId}/websession/history/{webSessionId}": ["start", "read"],
  "post /business/{businessId}/websession/{webSessionId}/end": ["start"],
  "post /business/{businessId}/call/initiate": ["start"],
  "post /business/{businessId}/call/history": ["start", "read"],
  "get /business/{businessId}/call/{callId}": ["start", "read"],
  "post /business/{businessId}/conversations": ["read"],
  "get /business/{businessId}/conversations/{sessionId}": ["read"],
}

/** Open by user management alone, whatever the permissions. */
const BY_USER_MANAGEMENT: ReadonlyArray<string> = [
  "get /user",
  "patch /user",
  "get /user/billing/usage",
  "get /user/billing/featuresactivequantity",
  "post /user/usage/count",
  "post /user/usage/history",
]

const document = OpenApi.fromApi(Api)
const METHODS = ["get", "post", "put", "patch", "delete"] as const
const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
  METHODS.flatMap((method) => {
    const operation = operations[method]
    return operation === undefined ? [] : [{ method, path, operation }]
  }),
)

const running = Effect.gen(function* () {
  const context = yield* Layer.build(Platform.layer({ limits: { requestsPerMinute: 0, startsPerMinute: 0 } }))
  yield* Effect.provideContext(prepare(), context)
  const apiKeys = Context.get(context, ApiKeys)
  const { origin } = Context.get(context, Platform.Platform)
  const key = (...permissions: ReadonlyArray<Permission>) =>
    apiKeys.create("u1", {
      name: permissions.join(" "),
      scope: { type: "Restricted", businessIds: ["b1"] },
      permissions,
      userManagement: true,
    })
  const call = (secret: Redacted.Redacted<string>, method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(origin + path, {
        method: method.toUpperCase(),
        headers: { authorization: `Token ${Redacted.value(secret)}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const answer: { readonly code: string | null; readonly message: string | null } = JSON.parse(
        await response.text(),
      )
      return { status: response.status, code: answer.code ?? "", message: answer.message ?? "" }
    })
  return { apiKeys, audit: Context.get(context, Audit), call, key }
})

describe("permissions", { timeout: 60_000 }, () => {
  it("are declared for every endpoint, in the code and in the document", () => {
    const byPermission = documented.filter(({ operation }) => "x-permissions" in operation)
    const documentedPermissions = Object.fromEntries(
      byPermission.map(({ method, operation, path }) => [
        `${method} ${path.replace("/api/v1", "")}`,
        "x-permissions" in operation ? operation["x-permissions"] : "nothing",
      ]),
    )
    assert.deepStrictEqual(documentedPermissions, { ...EXPECTED })
    for (const { method, operation, path } of byPermission) {
      assert.match(operation.description ?? "", /Needs the permission `/, `${method} ${path}`)
    }
    const others = documented.filter((each) => !byPermission.includes(each))
    assert.deepStrictEqual(
      others.map(({ method, path }) => `${method} ${path.replace("/api/v1", "")}`).toSorted(),
      BY_USER_MANAGEMENT.toSorted(),
    )
    for (const { operation } of others) {
      assert.include(operation.description, "Needs user management")
      assert.isTrue("x-user-management" in operation)
    }
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        assert.isTrue("value" in Context.getOption(endpoint.annotations, OpenTo), endpoint.identifier)
      },
    })
  })

  it.effect("open exactly the endpoints that name one of them, to a key of each kind", () =>
    Effect.gen(function* () {
      const { call, key } = yield* running
      assert.isAtLeast(documented.length, 28)
      for (const permission of PERMISSIONS) {
        const { secret } = yield* key(permission)
        for (const { method, path } of documented) {
          const short = `${method} ${path.replace("/api/v1", "")}`
          // These ids do not exist, so nothing is changed; only the business is the key's own, unless it would be deleted.
          const business = method === "delete" ? "b9" : "b1"
          const at = path.replace("{businessId}", business).replace(/\{\w+\}/, "none")
          const { code, message, status } = yield* call(secret, method, at, method === "get" ? undefined : {})
          const open = BY_USER_MANAGEMENT.includes(short) || EXPECTED[short]?.includes(permission) === true
          const refused = status === 403 && code.endsWith(":PERMISSION_MISSING")
          assert.strictEqual(refused, !open, `${permission}: ${short} answered ${status} ${code}`)
          if (refused) {
            for (const needed of EXPECTED[short] ?? []) assert.include(message, `"${needed}"`, short)
            assert.include(message, `has "${permission}"`, short)
          }
        }
      }
    }),
  )

  it.effect("permissions of the gate's key are to start only: it cannot delete a business or change a webhook", () =>
    Effect.gen(function* () {
      const { call, key } = yield* running
      const { secret } = yield* key("start")
      const deleted = yield* call(secret, "DELETE", "/api/v1/business/b1")
      assert.deepInclude(deleted, { status: 403, code: "DeleteBusiness:PERMISSION_MISSING" })
      assert.strictEqual(deleted.message, 'this key needs the permission "manage"; it has "start"')
      const moved = yield* call(secret, "PATCH", "/api/v1/business/b1/webcampaigns/c1", {
        sessionEnded: { url: "https://evil.example/hook" },
      })
      assert.deepInclude(moved, { status: 403, code: "ChangeWebCampaign:PERMISSION_MISSING" })
      assert.strictEqual((yield* call(secret, "GET", "/api/v1/business/b1")).status, 200)
    }),
  )

  it.effect(
    "permissions of a key can be changed, which applies at once and is logged; but not to none, nor for a revoked key",
    () =>
      Effect.gen(function* () {
        const { apiKeys, audit, call, key } = yield* running
        const { key: made, secret } = yield* key("start", "read", "manage")
        const listed = call(secret, "GET", "/api/v1/business/b1/webcampaigns")
        assert.strictEqual((yield* listed).status, 200)
        const changed = yield* apiKeys.change("u1", made.id, { permissions: ["manage", "start"] })
        assert.deepStrictEqual(changed.permissions, ["start", "manage"])
        assert.strictEqual((yield* listed).code, "ListWebCampaigns:PERMISSION_MISSING")
        const entry = (yield* audit.list("u1", {})).items.find(({ action }) => action === "api_key.changed")
        assert.strictEqual(entry?.subjectId, made.id)
        assert.include(entry?.detail, "may start, manage")
        const codeOf = (permit: ReturnType<typeof apiKeys.change>) =>
          Effect.map(Effect.flip(permit), (error) => ("code" in error ? error.code : error._tag))
        assert.strictEqual(yield* codeOf(apiKeys.change("u1", made.id, { permissions: [] })), "PERMISSIONS_REQUIRED")
        assert.strictEqual(yield* codeOf(apiKeys.change("u2", made.id, { permissions: ["read"] })), "KEY_NOT_FOUND")
        yield* apiKeys.revoke("u1", made.id)
        assert.strictEqual(yield* codeOf(apiKeys.change("u1", made.id, { permissions: ["read"] })), "KEY_REVOKED")
        const none = apiKeys.create("u1", { name: "k", scope: { type: "Unrestricted" }, permissions: [] })
        assert.strictEqual(
          yield* Effect.map(Effect.flip(none), ({ message }) => message),
          "select at least one permission",
        )
      }),
  )
})
