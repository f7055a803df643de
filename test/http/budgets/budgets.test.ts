/** `/api/budgets/{name}`: who may read and adjust a budget, and what a caller is told who is refused because of one. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { servedTest } from "../../support/gate-server.ts"

const TOKEN = "a-token-of-the-budgets"
const given = {
  VoiceAiPlatform: {
    MaxConcurrency: 3,
    Budget: { Token: TOKEN },
    Budgets: [
      { Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 1 },
      { Name: "own", Of: "caller", Unit: "minutes", Per: "day", Cap: 5 },
    ],
  },
}
const authorization = `Bearer ${TOKEN}`

const send = (url: string, init: RequestInit = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    return { status: response.status, headers: response.headers, body: await response.json() }
  })
const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  send(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })

describe("the budgets over HTTP", () => {
  servedTest("are read and adjusted with their token, once by an id, and are refused without it", given, ({ url }) =>
    Effect.gen(function* () {
      const team = `${url}/api/budgets/team`
      expect((yield* send(team)).body).toMatchObject({ code: "budgets_unauthorized" })
      expect(yield* post(`${url}/api/session/request`, {})).toMatchObject({ status: 200 })
      const held = yield* send(team, { headers: { authorization } })
      expect(held).toMatchObject({
        status: 200,
        body: { budget: "team", unit: "minutes", cap: 1, settled: 0, held: 1, left: 0, overrun: 0, adjusted: 0 },
      })
      const refused = yield* post(`${url}/api/session/request`, {})
      expect(refused).toMatchObject({ status: 503, body: { code: "budget_exhausted", budget: "team" } })
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
      expect(JSON.stringify(refused.body)).not.toContain("held")
      const adjustment = { by: 2.5, id: "top-up-1", reason: "a busy day" }
      expect(yield* post(team, adjustment)).toMatchObject({ status: 401 })
      expect(yield* post(team, { ...adjustment, id: "x" }, { authorization })).toMatchObject({ status: 400 })
      for (const _ of [1, 2]) {
        expect(yield* post(team, adjustment, { authorization })).toMatchObject({
          status: 200,
          body: { adjusted: 2.5, left: 2.5 },
        })
      }
      expect(yield* post(team, { ...adjustment, by: 2 }, { authorization })).toMatchObject({
        status: 409,
        body: { code: "other_amount" },
      })
      expect((yield* send(team, { headers: { authorization } })).body).toMatchObject({ adjusted: 2.5 })
      expect(yield* post(`${url}/api/session/request`, {})).toMatchObject({ status: 200 })
      const own = `${url}/api/budgets/own`
      expect(yield* send(own, { headers: { authorization } })).toMatchObject({ status: 404 })
      expect(yield* send(`${own}?caller=127.0.0.1`, { headers: { authorization } })).toMatchObject({
        status: 200,
        body: { of: "caller", held: 2, left: 3 },
      })
      expect(yield* send(`${own}?caller=nobody`, { headers: { authorization } })).toMatchObject({ status: 400 })
      expect(yield* send(`${url}/api/budgets/none`, { headers: { authorization } })).toMatchObject({ status: 404 })
    }),
  )

  servedTest("name a field that they do not know, and change nothing", given, ({ url }) =>
    Effect.gen(function* () {
      const team = `${url}/api/budgets/team`
      const adjustment = { by: 5, id: "misspelt-1", reason: "a test", campain: "sales" }
      expect(yield* post(team, adjustment, { authorization })).toMatchObject({
        status: 400,
        body: { code: "invalid_request", detail: "campain: unknown field, did you mean campaign?" },
      })
      expect(yield* send(`${team}?campain=sales`, { headers: { authorization } })).toMatchObject({
        status: 400,
        body: { detail: "campain: unknown field, did you mean campaign?" },
      })
      expect(yield* send(team, { headers: { authorization } })).toMatchObject({ body: { adjusted: 0 } })
    }),
  )

  servedTest("refuse a subject that no token can have", given, ({ url }) =>
    Effect.gen(function* () {
      const adjustment = { by: 5, id: "subject-1", reason: "a test" }
      for (const subject of ["\ud800", "a\u0000", "", "a".repeat(256)]) {
        const refused = yield* post(`${url}/api/budgets/own`, { ...adjustment, subject }, { authorization })
        expect(refused, JSON.stringify(subject)).toMatchObject({ status: 400, body: { code: "invalid_request" } })
      }
      expect(yield* post(`${url}/api/budgets/own`, { ...adjustment, subject: "Zoë" }, { authorization })).toMatchObject(
        {
          status: 200,
          body: { adjusted: 5 },
        },
      )
    }),
  )

  servedTest("are no path where no campaign has a token", {}, ({ url }) =>
    Effect.gen(function* () {
      expect((yield* send(`${url}/api/budgets/team`)).body).toMatchObject({ code: "not_found" })
    }),
  )
})
