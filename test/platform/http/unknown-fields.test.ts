/** Fields and parameters that an API does not know are refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { running } from "./input-support.ts"
import { sessionRequest } from "./rest-client.ts"

describe("what callers send", () => {
  it.effect("has no field that the REST API does not know, and is told what was probably meant", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const history = "business/b1/websession/history"
      const target = { url: "https://gate.example/hook" }
      for (const [method, path, body, said] of [
        [
          "POST",
          history,
          { filter: { clientIdentifer: ["u1"] } },
          "filter.clientIdentifer: unknown field, did you mean clientIdentifier?",
        ],
        [
          "POST",
          history,
          { filter: { begunAfter: 2030 } },
          "filter.begunAfter: unknown field; the fields here are webCampaignId, clientIdentifier, running, from, to, startCreatedDate",
        ],
        ["POST", history, { filters: {} }, "filters: unknown field, did you mean filter?"],
        [
          "POST",
          "business/b1/websession/count",
          { filter: { runing: true } },
          "filter.runing: unknown field, did you mean running?",
        ],
        ["POST", "business/b1/call/history", { filter: { kind: "web" } }, "filter.kind: unknown field"],
        ["POST", "business/b1/webhooks/history", { filter: { state: "pending" } }, "filter.state: unknown field"],
        ["POST", "business/b1/conversations", { limit: 1, cursor: "x" }, "cursor: unknown field"],
        ["POST", "user/usage/count", { filter: { businessId: "b2" } }, "filter.businessId: unknown field"],
        [
          "POST",
          "business/b1/webcampaigns",
          { name: "C", sesionEnded: target },
          "sesionEnded: unknown field, did you mean sessionEnded?",
        ],
        [
          "POST",
          "business/b1/webcampaigns",
          { name: "C", sessionEnded: { ...target, header: {} } },
          "sessionEnded.header: unknown field, did you mean headers?",
        ],
        ["PATCH", "business/b1/webcampaigns/c1", { nme: "D" }, "nme: unknown field, did you mean name?"],
        [
          "POST",
          "business/b1/websession/initiate",
          { ...sessionRequest, dynamicVariable: {} },
          "dynamicVariable: unknown field, did you mean dynamicVariables?",
        ],
        [
          "POST",
          "business/b1/websession/initiate",
          { ...sessionRequest, RegionId: "us" },
          "RegionId: unknown field, did you mean regionId?",
        ],
        [
          "POST",
          "business/b1/call/initiate",
          { toNumber: "+15550100", regionId: "eu", from: "+1" },
          "from: unknown field",
        ],
        ["POST", history, { filter: { from: 2030 } }, "filter.from: "],
        ["POST", history, { filter: { running: "yes" } }, "filter.running: "],
        ["POST", history, { filter: ["u1"] }, "filter: "],
        ["POST", history, { limit: "5" }, "limit: "],
        ["POST", "business", [], "payload: "],
      ] as const) {
        const { code, message, status } = yield* call(keys.users, method, path, body)
        assert.deepStrictEqual([path, status, code], [path, 400, "INVALID_FORMAT"], JSON.stringify(body))
        assert.isTrue((message ?? "").startsWith(said), `${message} instead of ${said}`)
      }
    }),
  )

  it.effect("is never repeated at length, however long a field's name is", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const names = Array.from({ length: 2_000 }, (_, i) => [`${i}${"x".repeat(100)}\u0000`, 1])
      for (const body of [{ ["y".repeat(200_000)]: 1 }, Object.fromEntries(names)]) {
        const { message, status } = yield* call(keys.users, "POST", "business/b1/conversations", body)
        assert.strictEqual(status, 400)
        assert.isBelow((message ?? "").length, 2_000)
        assert.notInclude(message ?? "", "\u0000")
      }
    }),
  )

  it.effect("may have every field that the reference documents", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const whole = { ...sessionRequest, dynamicVariables: { a: "b" }, metadata: { c: "d" } }
      assert.strictEqual((yield* call(keys.all, "POST", "business/b1/websession/initiate", whole)).status, 200)
      const list = { limit: 10, nextCursor: null, previousCursor: null, filter: {} }
      for (const path of ["websession/history", "conversations", "call/history", "webhooks/history"]) {
        assert.strictEqual((yield* call(keys.all, "POST", `business/b1/${path}`, list)).status, 200, path)
      }
      assert.strictEqual((yield* call(keys.users, "POST", "user/usage/history", list)).status, 200)
    }),
  )

  it.effect("must not contain a field or parameter that the dashboard's API does not know", () =>
    Effect.gen(function* () {
      const { signIn } = yield* running()
      const ask = yield* signIn
      for (const [method, path, body, said] of [
        ["POST", "businesses", { name: "B", nam: "C" }, "nam: unknown field, did you mean name?"],
        [
          "POST",
          "keys",
          { name: "k", scop: {}, scope: { type: "Unrestricted" } },
          "scop: unknown field, did you mean scope?",
        ],
        ["GET", "conversations?bussinessId=b1", undefined, "bussinessId: unknown field, did you mean businessId?"],
        ["GET", "deliveries?limits=5", undefined, "limits: unknown field, did you mean limit?"],
        ["GET", "audit?limit=many", undefined, "limit: "],
      ] as const) {
        const { message, status } = yield* ask(method, path, body)
        assert.deepStrictEqual([path, status], [path, 400])
        assert.isTrue(message.startsWith(said), `${message} instead of ${said}`)
      }
    }),
  )
})
