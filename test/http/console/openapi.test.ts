/** Every answer of the console's API is as `/console/openapi.json` says. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { readWireDocument } from "../../harness/wire-document.ts"
import { type Answered, ask, gateTest, operating, request, withToken } from "./asking.ts"
import { type GateUnderTest, startGate, TOKEN } from "./support.ts"

const budgets = [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 60 }]

describe("the document of the console's API", () => {
  gateTest("describes its answers and refusals completely", { slots: 1, budgets }, (gate) =>
    Effect.gen(function* () {
      const { text } = yield* ask(`${gate.url}/console/openapi.json`)
      assert.deepStrictEqual(JSON.parse(text).security, [{ token: [] }])
      const document = readWireDocument(text)
      const seen = new Set<string>()
      const judge = (method: string, path: string, { headers, status, text }: Answered): number => {
        const answered = { method, path: `/console/api/${path}`, status, headers: Object.fromEntries(headers), text }
        assert.isUndefined(document.objection(answered), `${method} ${path} ${status} ${text}`)
        seen.add(document.kindOf(answered) ?? "")
        return status
      }
      for (const _ of [1, 2]) yield* request(gate)
      const operator = operating(gate)
      const hash = (yield* operator.view()).queue?.waitingPage[0]?.ticket ?? ""
      assert.notStrictEqual(hash, "")
      const get = (path: string) => Effect.map(operator.get(path), (answer) => judge("GET", path, answer))
      const post = (body: unknown) => Effect.map(operator.post(body), (answer) => judge("POST", "actions", answer))
      const again = (body: unknown, token = TOKEN) =>
        Effect.map(
          ask(`${gate.url}/console/api/events/redeliver`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            body: typeof body === "string" ? body : JSON.stringify(body),
          }),
          (answer) => judge("POST", "events/redeliver", answer),
        )
      const forget = (body: unknown, token = TOKEN) =>
        Effect.map(
          ask(`${gate.url}/console/api/forget`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            body: typeof body === "string" ? body : JSON.stringify(body),
          }),
          (answer) => judge("POST", "forget", answer),
        )
      assert.strictEqual(yield* forget({ subject: "customer-4711" }), 200)
      assert.strictEqual(yield* forget({ address: "127.0.0.1", dryRun: true }), 200)
      assert.deepInclude((yield* operator.auditLog).lines[0], { action: "forget", result: "done" })
      assert.strictEqual(yield* forget({ subject: "a", from: "elsewhere" }), 400)
      assert.strictEqual(yield* forget({ subject: "a", everything: true }), 400)
      assert.strictEqual(yield* forget({}), 400)
      assert.strictEqual(yield* forget("{"), 400)
      assert.strictEqual(yield* forget({ subject: "a" }, "wrong-token-0123456789"), 401)
      const addresses = (body: unknown, token = TOKEN) =>
        Effect.map(
          ask(`${gate.url}/console/api/addresses`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            body: typeof body === "string" ? body : JSON.stringify(body),
          }),
          (answer) => judge("POST", "addresses", answer),
        )
      assert.strictEqual(yield* addresses({ address: "203.0.113.7", until: 0 }), 200)
      assert.strictEqual(yield* addresses({ address: "203.0.113.7" }), 200)
      for (const body of [{ address: "here" }, { address: "203.0.113.7", until: -1 }, { address: 7 }, "{"])
        assert.strictEqual(yield* addresses(body), 400)
      assert.strictEqual(yield* addresses({ address: "203.0.113.7" }, "wrong-token-0123456789"), 401)
      const one = { redelivery: { type: "one", seq: 1 } }
      assert.strictEqual(yield* again(one), 200)
      const [line] = (yield* operator.auditLog).lines
      assert.deepInclude(line, { action: "redeliver", result: "done" })
      assert.strictEqual(yield* again({ redelivery: { type: "failed", from: 0, to: 1 } }), 200)
      assert.strictEqual(yield* again({ campaign: "nobody", ...one }), 404)
      assert.strictEqual(yield* again({ redelivery: { type: "some" } }), 400)
      assert.strictEqual(yield* again("{"), 400)
      assert.strictEqual(yield* again(one, "wrong-token-0123456789"), 401)
      for (const path of ["events/redeliver", "forget", "addresses"]) {
        const plain = yield* ask(`${gate.url}/console/api/${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${TOKEN}`, "content-type": "text/plain" },
          body: "{}",
        })
        assert.strictEqual(judge("POST", path, plain), 415)
      }
      const adjust = (body: unknown, token = TOKEN, type = "application/json") =>
        Effect.map(
          ask(`${gate.url}/console/api/budgets/adjust`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": type },
            body: typeof body === "string" ? body : JSON.stringify(body),
          }),
          (answer) => judge("POST", "budgets/adjust", answer),
        )
      const order = { budget: "none", by: 1, id: "change-1", reason: "a test" }
      assert.strictEqual(yield* adjust({ order }), 200)
      assert.strictEqual(yield* adjust({ campaign: "nobody", order }), 404)
      assert.strictEqual(yield* adjust({ order: { ...order, id: "x" } }), 400)
      assert.strictEqual(yield* adjust({ order: { ...order, caller: "nobody" } }), 400)
      assert.strictEqual(yield* adjust("{"), 400)
      assert.strictEqual(yield* adjust({ order }, "wrong-token-0123456789"), 401)
      assert.strictEqual(yield* adjust({ order }, TOKEN, "text/plain"), 415)
      assert.strictEqual(yield* get("budgets?caller=nobody"), 400)
      assert.strictEqual(yield* get("budgets?campaign=nobody"), 404)
      assert.strictEqual(yield* get("events?filter=some"), 400)
      assert.strictEqual(yield* get("events?campaign=nobody"), 404)
      for (const path of [
        ...["campaigns", "view", "audit-log", "events", `find?hash=${hash}`, "find?caller=127.0.0.1"],
        ...["history?range=week", "addresses", "budgets"],
      ]) {
        assert.strictEqual(yield* get(path), 200)
        judge("GET", path, yield* ask(`${gate.url}/console/api/${path}`, withToken("wrong-token-0123456789")))
      }
      assert.strictEqual(yield* post({ action: { type: "pause" } }), 200)
      for (const path of ["view", "audit-log"]) {
        assert.strictEqual(yield* get(`${path}?campaign=nobody`), 404)
        assert.strictEqual(yield* get(`${path}?first=x&firstSlot=x`), 400)
      }
      assert.strictEqual(yield* get("history?campaign=nobody"), 404)
      assert.strictEqual(yield* get("history?range=century"), 400)
      assert.strictEqual(yield* get(`find?hash=${hash}&caller=127.0.0.1`), 400)
      assert.strictEqual(yield* get("find?hash=x"), 400)
      assert.strictEqual(yield* post({ action: { type: "dance" } }), 400)
      assert.strictEqual(yield* post({ campaign: "nobody", action: { type: "pause" } }), 404)
      const wrong = operating(gate, "wrong-token-0123456789")
      judge("POST", "actions", yield* wrong.post({ action: { type: "pause" } }))
      for (const headers of [{ "content-type": "text/plain" }, { "content-type": "application/json" }]) {
        const init = { method: "POST", headers: { ...headers, authorization: `Bearer ${TOKEN}` }, body: "{" }
        judge("POST", "actions", yield* ask(`${gate.url}/console/api/actions`, init))
      }
      const reloadOf = (of: Pick<GateUnderTest, "url">, token = TOKEN) =>
        Effect.map(ask(`${of.url}/console/api/reload`, { method: "POST", ...withToken(token) }), (answer) =>
          judge("POST", "reload", answer),
        )
      assert.strictEqual(yield* reloadOf(gate), 501)
      assert.strictEqual(yield* reloadOf(gate, "wrong-token-0123456789"), 401)
      const applied = { _tag: "applied", changed: ["Queue.MaxLength"], kept: ["Server.Port"] } as const
      assert.strictEqual(yield* reloadOf(yield* startGate({ reload: applied })), 200)
      const problems = ["Queue.MaxLength: expected a whole number"]
      assert.strictEqual(yield* reloadOf(yield* startGate({ reload: { _tag: "refused", problems } })), 422)
      gate.setAway(true)
      for (const path of ["campaigns", "view"]) assert.strictEqual(yield* get(path), 200)
      for (const path of ["audit-log", "events", `find?hash=${hash}`, "history", "addresses"])
        assert.strictEqual(yield* get(path), 503)
      assert.strictEqual(yield* addresses({ address: "203.0.113.7", until: 0 }), 503)
      assert.strictEqual(yield* again(one), 503)
      assert.strictEqual(yield* forget({ subject: "a" }), 503)
      assert.strictEqual(yield* get("budgets"), 503)
      assert.strictEqual(yield* adjust({ order: { ...order, budget: "team" } }), 503)
      assert.strictEqual(yield* post({ action: { type: "pause" } }), 503)
      // the others come from code that all endpoints of the gate share, or are those of test events, which have tests of their own
      const COMMON =
        /events\/test|no_client_address|repeated_header|origin_not_allowed|host_not_allowed|internal_error|gate_closed|body_|\b204\b/
      assert.deepStrictEqual(
        [...document.kinds].filter((kind) => !seen.has(kind) && !COMMON.test(kind)),
        [],
      )
    }),
  )

  gateTest("is not served without a console", { token: undefined }, (gate) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask(`${gate.url}/console/openapi.json`)).status, 404)
    }),
  )
})
