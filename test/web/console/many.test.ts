/** The console of a gate with more campaigns than a table shows at a time. */
import { describe, expect, it } from "vitest"
import { violations } from "./axe.ts"
import { button, confirm, heading, prepareVisits, rows, visiting } from "./visit.ts"

prepareVisits()

describe.concurrent("the console of many campaigns", () => {
  it(
    "has those that are limited first, pages of the others, and one row for platforms that are healthy",
    visiting(
      1,
      0,
      async ({ signIn }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        await tab.getByLabel("Campaign", { exact: true }).selectOption("line-14")
        await confirm(tab, "Pause calls", "Pause calls?", "Pause")
        await heading(tab, "Paused")
        await rows(tab, "Campaigns").first().getByText("Paused").waitFor()
        expect(await rows(tab, "Campaigns").first().getByRole("button").textContent()).toBe("line-14")
        expect(await rows(tab, "Campaigns").count()).toBe(12)
        await button(tab, "Next campaigns").click()
        await tab.getByText("13–15 of 15", { exact: true }).waitFor()
        expect(await rows(tab, "Campaigns").count()).toBe(3)
        const health = tab.getByRole("region", { name: "Health" })
        await health.getByText("15 checked platforms").click()
        await health.getByText("line-14", { exact: true }).waitFor()
        expect(await violations(tab)).toEqual([])
      },
      { campaigns: Array.from({ length: 14 }, (_, i) => `line-${i + 1}`) },
    ),
  )
})
