/** The setting `OnLimit` of budgets: callers may wait for each of them. */
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
  it.each(["campaign", "caller"])("is one of a %s, and its next window may be an hour away", (Of) => {
    const [{ Budget, Budgets }] = treeOf(withBudget({ Of })).Campaigns
    assert.deepStrictEqual([Budgets?.[0]?.Of, Budgets?.[0]?.OnLimit, Budget?.WaitMinutes], [Of, "wait", 60])
  })
})

describe("the zone of budgets", () => {
  const withZone = (Zone: string): Json => ({ ...minimal, VoiceAiPlatform: { ...platform, Budget: { Zone } } })

  it.each(["UTC", "Europe/Berlin", "Etc/GMT+5", "+05:30", "-09:30", "+00:20", "+14:00"])("may be %s", (zone) => {
    assert.deepStrictEqual(problemsOf(withZone(zone)), [])
  })

  it.each(["EST", "CET", "GMT", "Berlin", "Europe/Berlim", "+5", "+0530", "5:30", "+15:00", "+05:60"])(
    "may not be %s",
    (zone) => {
      const [problem] = problemsOf(withZone(zone))
      assert.strictEqual(problem?.path, "VoiceAiPlatform.Budget.Zone")
      assert.include(problem?.expected, "such as Europe/Berlin, or UTC, or an offset from UTC such as +05:30")
    },
  )
})
