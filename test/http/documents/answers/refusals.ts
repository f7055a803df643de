/** Refusals of requests: a wrong `Host`, a header twice, a blocked address, an unknown caller, limits, a full queue, closed hours. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { noFacts } from "../../../../src/ip-intel/facts.ts"
import { platformRefuses, platformRefusesRequest, session } from "../../../support/gate.ts"
import { rawCall, servedTest } from "../../../support/gate-server.ts"
import { claimsOf, SECRET, token as signedToken } from "../../../support/tokens.ts"
import { shop } from "../../support.ts"
import { codeOf, type OpenApiCheck, ticketOf } from "../openapi-check.ts"
import { ENDPOINTS, NOBODY } from "./endpoints.ts"

const OFFERS = ["Call us tel:+4930123456", "Write to us https://shop.example/", "Sales campaign:sales"]
const overflowing = {
  Overflow: { AfterSeconds: 0, Offers: OFFERS },
  Campaigns: { sales: { WebCampaignId: "campaign-2", Overflow: { Offers: OFFERS[0] } } },
}

export const refusals = ({ check }: OpenApiCheck): void => {
  servedTest(
    "the document says all of a Host that is not the gate's",
    { Server: { AllowedHosts: ["gate.example"] } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask } = yield* check(port, "gate.example")
        for (const [method, path] of ENDPOINTS) {
          const { status } = yield* ask(method, path, { headers: { host: "evil.example" } })
          assert.strictEqual(status, 421, path)
        }
      }),
  )

  servedTest("the document says all of a header that was sent twice", {}, ({ port }) =>
    Effect.gen(function* () {
      const { judge } = yield* check(port)
      for (const [method, path] of ENDPOINTS) {
        const headers = ["host", "gate", "origin", "https://one.example", "origin", "https://two.example"]
        const answer = yield* rawCall(port, { method, path, headers })
        assert.deepStrictEqual(codeOf(judge(method, path, answer)), [400, "repeated_header"], path)
      }
    }),
  )

  servedTest(
    "the document says all of a blocked address and a platform that refuses",
    { ...shop, Queue: { OnPlatformRefusal: "refuse" } },
    ({ port, world }) =>
      Effect.gen(function* () {
        const { hangUp, request } = yield* check(port)
        world.lookup = () => Effect.succeed({ ...noFacts, tor: true })
        assert.deepStrictEqual(codeOf(yield* request()), [403, "blocked"])
        world.lookup = () => Effect.succeed(noFacts)
        world.initiate = () => Effect.fail(platformRefusesRequest)
        assert.deepStrictEqual(codeOf(yield* request()), [422, "request_refused"])
        yield* hangUp(7)
        world.initiate = () => Effect.succeed(session(7))
        assert.deepStrictEqual(codeOf(yield* request()), [503, "platform_unavailable"])
        world.initiate = () => Effect.fail(platformRefuses)
        assert.deepStrictEqual(codeOf(yield* request()), [502, "platform_rejected"])
      }),
  )

  servedTest(
    "the document says all of a caller who must say who calls",
    { ...shop, Identity: { Required: true, JwksUrl: "http://127.0.0.1:1/keys", Audience: "gate", Secrets: [SECRET] } },
    ({ port }) =>
      Effect.gen(function* () {
        const { request } = yield* check(port)
        assert.deepStrictEqual(codeOf(yield* request()), [401, "identity_required"])
        assert.deepStrictEqual(codeOf(yield* request({ identity: "x" })), [401, "identity_refused"])
        assert.deepStrictEqual(codeOf(yield* request({}, { authorization: "Bearer x" })), [401, "identity_refused"])
        const unknown = signedToken(claimsOf("ada", { aud: "gate" }), { alg: "RS256", kid: "1" })
        assert.deepStrictEqual(codeOf(yield* request({ identity: unknown })), [503, "identity_unavailable"])
      }),
  )

  servedTest("the document says all of limits and a full queue", { Security: { RateLimitHourly: 1 } }, ({ port }) =>
    Effect.gen(function* () {
      const { request } = yield* check(port)
      yield* request()
      const limited = yield* request()
      assert.deepStrictEqual(codeOf(limited), [429, "rate_limited"])
      assert.isString(limited.headers["ratelimit-policy"])
    }),
  )

  servedTest("the document says all of a full queue", { Queue: { MaxLength: 1 } }, ({ port }) =>
    Effect.gen(function* () {
      const { request } = yield* check(port)
      yield* request()
      yield* request()
      assert.deepStrictEqual(codeOf(yield* request()), [503, "queue_full"])
    }),
  )

  servedTest(
    "the document says all of offers",
    { Queue: { MaxLength: 1 }, VoiceAiPlatform: { MaxConcurrency: 1, ...overflowing } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, request } = yield* check(port)
        yield* request()
        const waits = yield* request()
        assert.strictEqual(waits.status, 202)
        const ticket = ticketOf(waits)
        const offers = [
          { kind: "number", label: "Call us", target: "tel:+4930123456" },
          { kind: "link", label: "Write to us", target: "https://shop.example/" },
          { kind: "campaign", label: "Sales", target: "sales" },
        ]
        assert.deepInclude((yield* ask("GET", `/api/session/${ticket}`)).body, { offers })
        const full = yield* request()
        assert.deepStrictEqual(codeOf(full), [503, "queue_full"])
        assert.deepInclude(full.body, { offers })
        assert.strictEqual((yield* ask("DELETE", `/api/session/${ticket}?taken=link`)).status, 204)
      }),
  )

  servedTest(
    "the document says all of a campaign that is closed",
    { VoiceAiPlatform: { Hours: { Zone: "UTC", Closed: "Jan 1 to Dec 31" }, ...overflowing } },
    ({ port }) =>
      Effect.gen(function* () {
        const { request } = yield* check(port)
        const closed = yield* request()
        assert.deepStrictEqual(codeOf(closed), [503, "closed"])
        assert.strictEqual(closed.headers["retry-after"], "86400")
        // the other campaign is closed too
        assert.deepInclude(closed.body, {
          offers: [
            { kind: "number", label: "Call us", target: "tel:+4930123456" },
            { kind: "link", label: "Write to us", target: "https://shop.example/" },
          ],
        })
      }),
  )

  servedTest(
    "the document says all of an address that sends too many requests",
    { Security: { StatusPerMinute: 1 } },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, request } = yield* check(port)
        for (const [method, path] of ENDPOINTS.slice(1, 8)) {
          yield* ask(method, path)
          assert.deepStrictEqual(codeOf(yield* ask(method, path)), [429, "rate_limited"], path)
        }
        yield* request({ uniqueRequestId: NOBODY })
        const often = yield* request({ uniqueRequestId: NOBODY })
        assert.deepStrictEqual(codeOf(often), [429, "rate_limited"])
        assert.isUndefined(often.headers["ratelimit-policy"])
      }),
  )
}
