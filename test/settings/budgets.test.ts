/** The setting `OnLimit` of budgets: callers may wait for each of them. */
import { assert, describe, it } from "@effect/vitest"
import { type Json, minimal, platform, treeOf } from "./support.ts"

const withBudget = (more: Json): Json => ({
  ...minimal,
  VoiceAiPlatform: {
    ...platform,
    Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "hour", Cap: 1, OnLimit: "wait", ...more }],
  },
})

describe("a budget for which callers wait", () => {
  it.each(["campaign", "caller"])("is one of a %s, and its next window may be an hour away", (Of) => {
    const [{ Budget, Budgets }] = treeOf(withBudget({ Of })).Campaigns
    assert.deepStrictEqual([Budgets?.[0]?.Of, Budgets?.[0]?.OnLimit, Budget?.WaitMinutes], [Of, "wait", 60])
  })
})
