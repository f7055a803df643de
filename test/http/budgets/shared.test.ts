/** Budgets that campaigns share, over HTTP: whose token reads and adjusts them. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { call, post, servedTest } from "../../support/gate-server.ts"

const SALES = "the-token-of-the-sales"
const SUPPORT = "the-token-of-the-support"
const BOTH = "the-token-of-both"

const budgets = (token: string) => ({
  Account: { Name: "agency" },
  Budget: { Token: [token, BOTH] },
  Budgets: [
    { Name: "customer", Of: "caller", Unit: "minutes", Per: "day", Cap: 5 },
    { Name: "agency", Of: "account", Unit: "minutes", Per: "day", Cap: 100 },
    { Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 10 },
  ],
})
const given = {
  VoiceAiPlatform: {
    ...budgets(SALES),
    MaxConcurrency: 3,
    Campaigns: {
      support: { WebCampaignId: "support-1", ...budgets(SUPPORT) },
      // has a budget of the same name in another account
      other: { ...budgets(SUPPORT), WebCampaignId: "other-1", Account: { Name: "other" } },
    },
  },
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const WHOSE = { customer: { caller: "127.0.0.1" }, agency: {}, team: {} }

describe("a budget that campaigns share", () => {
  servedTest("is read and changed only with a token of all of them", given, ({ url }) =>
    Effect.gen(function* () {
      for (const name of ["customer", "agency"] as const) {
        const budget = `${url}/api/budgets/${name}`
        const whose = WHOSE[name]
        const taken = { by: -100, id: `${name}-taken`, reason: "a test", ...whose }
        for (const refused of [
          yield* call(`${budget}?${new URLSearchParams(whose)}`, { headers: bearer(SALES) }),
          yield* post(budget, taken, bearer(SALES)),
          yield* post(budget, { ...taken, campaign: "support" }, bearer(SUPPORT)),
        ]) {
          expect(refused).toMatchObject({ status: 401, body: { code: "budgets_unauthorized" } })
          expect(refused.body.detail).toContain("every campaign with this budget")
        }
      }
      expect(yield* post(`${url}/api/session/request`, { campaignId: "support" })).toMatchObject({ status: 200 })

      const added = { by: 5, id: "customer-added", reason: "a test" }
      expect(yield* post(`${url}/api/budgets/customer`, { ...added, ...WHOSE.customer }, bearer(BOTH))).toMatchObject({
        status: 200,
        body: { adjusted: 5 },
      })
      // of another account: no campaign shares it
      const other = { by: 7, id: "agency-added", reason: "a test", campaign: "other" }
      expect(yield* post(`${url}/api/budgets/agency`, other, bearer(SUPPORT))).toMatchObject({
        status: 200,
        body: { adjusted: 7 },
      })
    }),
  )

  servedTest("of one campaign needs only its own token, whatever others call theirs", given, ({ url }) =>
    Effect.gen(function* () {
      const team = `${url}/api/budgets/team`
      const added = { by: 5, id: "team-added", reason: "a test" }
      expect(yield* post(team, added, bearer(SALES))).toMatchObject({ status: 200, body: { adjusted: 5 } })
      expect(yield* call(`${team}?campaign=support`, { headers: bearer(SUPPORT) })).toMatchObject({
        status: 200,
        body: { adjusted: 0 },
      })
      const refused = yield* call(`${team}?campaign=support`, { headers: bearer(SALES) })
      expect(refused).toMatchObject({ status: 401 })
      expect(refused.body.detail).toContain("a token of the campaign's Budget.Token")
    }),
  )
})
