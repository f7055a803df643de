/** The setting `OnLimit` of budgets: for which callers may wait. */
import { assert, describe, it } from "@effect/vitest"
import { type Json, minimal, platform, problemsOf, treeOf } from "./support.ts"

const withBudget = (more: Json): Json => ({
  ...minimal,
  VoiceAiPlatform: {
    ...platform,
    Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "hour", Cap: 1, OnLimit: "wait", ...more }],
  },
})

describe("a budget for which callers wait", () => {
  it("is one of a campaign, and its next window may be an hour away", () => {
    const [{ Budget, Budgets }] = treeOf(withBudget({})).Campaigns
    assert.deepStrictEqual([Budgets?.[0]?.OnLimit, Budget?.WaitMinutes], ["wait", 60])
  })

  it("is not one of callers", () => {
    assert.deepStrictEqual(
      problemsOf(withBudget({ Of: "caller" })).map(({ expected, path }) => [path, expected]),
      [
        [
          "VoiceAiPlatform.Budgets.0.OnLimit",
          "end, refuse or count: callers wait only for budgets of a campaign or an account",
        ],
      ],
    )
  })
})
