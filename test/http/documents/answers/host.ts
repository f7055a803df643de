/** Answers to the host's programs: the events of calls, and budgets. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_BODY_BYTES } from "../../../../src/http/answers/answer.ts"
import { servedTest } from "../../../support/gate-server.ts"
import { shop } from "../../support.ts"
import { codeOf, type OpenApiCheck, ticketOf } from "../openapi-check.ts"
import { budgets, budgetsOf, events, readEvents } from "./endpoints.ts"

export const host = ({ check }: OpenApiCheck): void => {
  servedTest(
    "the document says all of the events for the host, and what is wrong with a request for them",
    { ...shop, VoiceAiPlatform: events },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, request } = yield* check(port)
        yield* request({ metadata: { order: "7" } })
        const page = yield* readEvents(ask)
        assert.deepInclude(page, { status: 200 })
        assert.deepInclude(page.body, { next: "2", more: false })
        for (const [query, status, code] of [
          ["?after=9", 410, "cursor_expired"],
          ["?limit=x", 400, "invalid_request"],
          // a misspelt cursor would read the same events for ever
          ["?aftr=1", 400, "invalid_request"],
          ["?campaign=moon", 401, "events_unauthorized"],
        ] as const) {
          assert.deepStrictEqual(codeOf(yield* readEvents(ask, query)), [status, code])
        }
        assert.deepStrictEqual(codeOf(yield* ask("GET", "/api/events")), [401, "events_unauthorized"])
        const change = { by: 1, id: "change-1", reason: "a test" }
        assert.deepStrictEqual(codeOf(yield* budgetsOf(ask).adjust("team", change)), [404, "not_found"])
      }),
  )

  servedTest(
    "the document says all of budgets, and of callers for whom nothing is left",
    { ...shop, VoiceAiPlatform: budgets },
    ({ port }) =>
      Effect.gen(function* () {
        const { ask, called, hangUp, request, start } = yield* check(port)
        const { adjust, read } = budgetsOf(ask)
        const change = (by: number) => ({ by, id: `change-${Math.abs(by)}`, reason: "a test" })
        const caller = "127.0.0.1"
        const ticket = yield* called()
        assert.deepInclude((yield* read("team")).body, { budget: "team", held: 0, cap: 3 })
        assert.deepInclude((yield* read(`own?caller=${caller}`)).body, { of: "caller", held: 0 })
        assert.deepStrictEqual(codeOf(yield* read("own")), [404, "unknown_budget"])
        assert.deepStrictEqual(codeOf(yield* read("own?caller=nobody")), [400, "invalid_request"])
        assert.deepStrictEqual(codeOf(yield* read("team?campaign=moon")), [401, "budgets_unauthorized"])
        assert.deepStrictEqual(codeOf(yield* ask("GET", "/api/budgets/team")), [401, "budgets_unauthorized"])
        const anonymous = yield* ask("POST", "/api/budgets/team", { body: change(1) })
        assert.deepStrictEqual(codeOf(anonymous), [401, "budgets_unauthorized"])
        assert.deepStrictEqual(codeOf(yield* adjust("none", change(1))), [404, "unknown_budget"])
        assert.deepStrictEqual(codeOf(yield* adjust("team", {})), [400, "invalid_request"])
        assert.deepStrictEqual(codeOf(yield* adjust("team", "{")), [400, "malformed_json"])
        const large = yield* adjust("team", "x".repeat(MAX_BODY_BYTES + 1))
        assert.deepStrictEqual(codeOf(large), [413, "body_too_large"])
        const typed = yield* adjust("team", "{}", { "content-type": "text/plain" })
        assert.deepStrictEqual(codeOf(typed), [415, "unsupported_media_type"])
        assert.deepInclude((yield* adjust("team", change(-3))).body, { adjusted: -3 })
        const other = yield* adjust("team", { ...change(-3), by: -2 })
        assert.deepStrictEqual(codeOf(other), [409, "other_amount"])
        assert.deepStrictEqual(codeOf(yield* start(ticket)), [503, "budget_exhausted"])
        const refused = yield* request()
        assert.deepStrictEqual(codeOf(refused), [503, "budget_exhausted"])
        assert.nestedPropertyVal(refused, "body.offers[0].target", "tel:+4930123456")
        assert.deepInclude(yield* adjust("team", change(5)), { status: 200 })
        yield* hangUp(1)
        yield* request()
        const next = ticketOf(yield* request())
        yield* hangUp(2)
        assert.deepInclude(yield* adjust("own", { ...change(-4), caller }), { status: 200 })
        assert.deepStrictEqual(codeOf(yield* start(next)), [429, "budget_exhausted"])
        assert.deepStrictEqual(codeOf(yield* request()), [429, "budget_exhausted"])
        assert.deepInclude((yield* read("own?subject=ada")).body, { adjusted: 0 })
      }),
  )
}
