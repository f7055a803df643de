/** Orders and queries of the console with a field that it does not know, such as a misspelt one. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ask, gateTest, operating, problemOf } from "./asking.ts"
import { TOKEN } from "./support.ts"

const budgets = [
  { Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 60 },
  { Name: "own", Of: "caller", Unit: "minutes", Per: "day", Cap: 60 },
]
const change = { budget: "team", by: 1, id: "change-1", reason: "a test" }

/** Each order with the field that it is refused for. */
const ORDERS = [
  ["addresses", { address: "203.0.113.7", untill: Date.now() }, "untill: unknown field, did you mean until?"],
  ["actions", { campain: "sales", action: { type: "drain" } }, "campain: unknown field, did you mean campaign?"],
  ["actions", { action: { type: "pause", untill: Date.now() } }, "action.untill: unknown field, did you mean until?"],
  ["actions", { action: { type: "drain", until: 1 } }, "action.until: unknown field; the fields here are type"],
  ["events/redeliver", { redelivery: { type: "one", seq: 1, to: 9 } }, "redelivery.to: unknown field"],
  ["events/test", { campain: "sales" }, "campain: unknown field, did you mean campaign?"],
  ["budgets/adjust", { campain: "sales", order: change }, "campain: unknown field, did you mean campaign?"],
  ["budgets/adjust", { order: { ...change, budget: "own", subjekt: "ada" } }, "order.subjekt: unknown field"],
  ["forget", { subject: "ada", dryrun: true }, "dryrun: unknown field, did you mean dryRun?"],
] as const

const QUERIES = [
  ...["view", "audit-log", "history", "events", "budgets"].map((path) => [`${path}?campain=sales`, "campain"] as const),
  ["find?hash=0123&callers=ada", "callers"],
] as const

describe("the console names a field that it does not know", () => {
  gateTest("in an order, and carries nothing out", { budgets }, (gate) =>
    Effect.gen(function* () {
      const send = (path: string, body: object) =>
        ask(`${gate.url}/console/api/${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        })
      assert.strictEqual((yield* send("addresses", { address: "203.0.113.7", until: 0 })).status, 200)
      const before = yield* operating(gate).auditLog
      for (const [path, order, named] of ORDERS) {
        const problem = problemOf(yield* send(path, order))
        assert.deepInclude(problem, { status: 400, code: "invalid_request" }, path)
        assert.include(problem.message, named)
      }
      assert.deepStrictEqual(yield* operating(gate).auditLog, before)
      const { text } = yield* operating(gate).get("addresses")
      assert.include(text, '"blocks":[{"address":"203.0.113.7"')
    }),
  )

  gateTest("in a query", { budgets }, (gate) =>
    Effect.gen(function* () {
      for (const [query, field] of QUERIES) {
        const problem = problemOf(yield* operating(gate).get(query))
        assert.deepInclude(problem, { status: 400, code: "invalid_request" }, query)
        assert.include(problem.message, `${field}: unknown field`)
      }
    }),
  )

  gateTest("in the subject of a budget's caller only what no token can have is refused", { budgets }, (gate) =>
    Effect.gen(function* () {
      const adjust = (subject: string) =>
        ask(`${gate.url}/console/api/budgets/adjust`, {
          method: "POST",
          headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
          body: JSON.stringify({ order: { ...change, budget: "own", subject } }),
        })
      for (const subject of ["\ud800", "a\u0000", ""]) assert.strictEqual((yield* adjust(subject)).status, 400)
      assert.strictEqual((yield* adjust("Zoë")).status, 200)
    }),
  )
})
