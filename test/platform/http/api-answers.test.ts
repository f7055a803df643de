/** What the local platform's API answers whatever the operation: its envelope, its 401 and its document. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { running } from "../running.ts"
import { sessionRequest } from "./rest-client.ts"

/** The headers of each 401 in the API's document. */
const decodeChallenges = Schema.decodeUnknownSync(
  Schema.Struct({
    paths: Schema.Record(
      Schema.String,
      Schema.Record(
        Schema.String,
        Schema.Struct({
          responses: Schema.Struct({
            401: Schema.Struct({
              headers: Schema.Struct({
                "www-authenticate": Schema.Struct({ required: Schema.Boolean, description: Schema.String }),
              }),
            }),
          }),
        }),
      ),
    ),
  }),
)

describe("the API of the local platform", () => {
  it.effect("accepts exactly the header `Token <key>`, and mentions Bearer in its hint", () =>
    Effect.gen(function* () {
      const { keys, request } = yield* running()
      const secret = Redacted.value(keys.all)
      const read = (authorization?: string) =>
        request("/api/v1/business/b1", authorization === undefined ? {} : { headers: { authorization } })
      const { body, status } = yield* read(`Token ${secret}`)
      assert.deepStrictEqual(
        { status, body },
        {
          status: 200,
          body: {
            success: true,
            code: null,
            message: null,
            data: { id: "b1", name: "Shop", createdAt: "1970-01-01T00:00:00.000Z" },
          },
        },
      )
      for (const header of [
        `token ${secret}`,
        `Token  ${secret}`,
        secret,
        `Token ${secret} x`,
        `Bearer ${secret}`,
        undefined,
      ]) {
        const answer = yield* read(header)
        assert.strictEqual(answer.status, 401)
        assert.deepInclude(answer.body, { success: false, code: "INVALID_FORMAT", data: null })
        assert.strictEqual(JSON.stringify(answer).includes("Bearer"), header?.startsWith("Bearer") ?? false)
        assert.notInclude(JSON.stringify(answer), secret)
      }
    }),
  )

  it.effect("answers a body or path it does not know with the envelope and the right status", () =>
    Effect.gen(function* () {
      const { keys, request } = yield* running()
      const headers = { authorization: `Token ${Redacted.value(keys.all)}`, "content-type": "application/json" }
      const initiate = (body: string) =>
        request("/api/v1/business/b1/websession/initiate", { method: "POST", headers, body })
      for (const [body, status, code] of [
        ["{", 400, "INVALID_FORMAT"],
        ["{}", 400, "INVALID_FORMAT"],
        [JSON.stringify({ ...sessionRequest, clientIdentifier: "a/b" }), 400, "INVALID_FORMAT"],
        [
          JSON.stringify({
            ...sessionRequest,
            audioOutputConfiguration: { ...sessionRequest.audioOutputConfiguration, frameDurationMs: 151 },
          }),
          400,
          "INVALID_FORMAT",
        ],
        [JSON.stringify({ ...sessionRequest, transportType: 1 }), 400, "InitiateWebSession:TRANSPORT_NOT_SUPPORTED"],
        [JSON.stringify({ ...sessionRequest, regionId: "mars" }), 400, "InitiateWebSession:REGION_NOT_FOUND"],
        [JSON.stringify({ ...sessionRequest, webCampaignId: "c9" }), 404, "InitiateWebSession:WEB_CAMPAIGN_NOT_FOUND"],
      ] as const) {
        const answer = yield* initiate(body)
        assert.strictEqual(answer.status, status, body)
        assert.deepInclude(answer.body, { success: false, code, data: null })
      }
      assert.strictEqual((yield* initiate(JSON.stringify(sessionRequest))).status, 200)
      const unknown = yield* request("/api/v1/nothing/here", { headers })
      assert.strictEqual(unknown.status, 404)
      assert.deepInclude(unknown.body, { success: false, code: "ROUTE_NOT_FOUND" })
    }),
  )

  it.effect("describes itself", () =>
    Effect.gen(function* () {
      const { request } = yield* running()
      const { body } = yield* request("/openapi.json", {})
      const text = JSON.stringify(body)
      for (const path of [
        "/api/v1/business/{businessId}",
        "/api/v1/business/{businessId}/websession/initiate",
        "/api/v1/business/{businessId}/websession/history/{webSessionId}",
        "/api/v1/user/billing/usage",
        "/api/v1/user/billing/featuresactivequantity",
      ]) {
        assert.include(text, JSON.stringify(path))
      }
    }),
  )

  it.effect("describes the challenge that each 401 carries", () =>
    Effect.gen(function* () {
      const { request } = yield* running()
      const { body } = yield* request("/openapi.json", {})
      const { paths } = decodeChallenges(body)
      const refusals = Object.values(paths).flatMap((path) =>
        Object.values(path).map(({ responses }) => responses[401]),
      )
      const refused = yield* request("/api/v1/business", {})
      const challenge = refused.headers.get("www-authenticate")
      assert.deepStrictEqual([refused.status, challenge], [401, 'Token realm="platform"'])
      assert.isNotEmpty(refusals)
      for (const refusal of refusals) {
        assert.deepInclude(refusal.headers["www-authenticate"], { required: true, description: `\`${challenge}\`.` })
      }
    }),
  )
})
