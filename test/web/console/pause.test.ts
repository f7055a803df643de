/** A pause of calls on the console: until an operator resumes, or until a time. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { chosenTime } from "../../../src/web/console/words.ts"
import { focusOn, tabTo } from "../focus.ts"
import { violations } from "./axe.ts"
import { button, confirm, heading, prepareVisits, said, visiting } from "./visit.ts"

prepareVisits()

const MINUTE = 60_000
/** Tomorrow at this minute. */
const TOMORROW = Math.floor(Date.now() / MINUTE) * MINUTE + 24 * 60 * MINUTE

/** The value of a field for a date and time. */
const toField = (at: number): string => {
  const local = at - new Date(at).getTimezoneOffset() * MINUTE
  return new Date(local).toISOString().slice(0, 16)
}

const field = (tab: Page) => tab.getByLabel("Date and time", { exact: true })

const openDialog = async (tab: Page, opener = "Pause calls"): Promise<void> => {
  await button(tab, opener).click()
  await tab.getByRole("dialog").waitFor()
}

describe.concurrent("a pause of calls", () => {
  it(
    "ends at the chosen time, which the page, the log and the callers are told, and the end can be changed",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await openDialog(tab)
      expect(await field(tab).count()).toBe(0)
      await tab.getByLabel("Until a date and time").check()
      // an hour from now, unless something else is chosen
      const offered = new Date(await field(tab).inputValue()).getTime() - Date.now()
      expect(offered).toBeGreaterThan(59 * MINUTE)
      expect(offered).toBeLessThanOrEqual(75 * MINUTE)
      await field(tab).fill(toField(TOMORROW))
      await button(tab, "Pause").click()
      await heading(tab, "Paused")
      await said(tab, `Calls paused until ${chosenTime(TOMORROW)}.`)
      await tab.getByText(`The pause ends on ${chosenTime(TOMORROW)} (in `, { exact: false }).waitFor()
      await tab.getByRole("row", { name: `Paused calls until ${chosenTime(TOMORROW)} Done` }).waitFor()
      expect(await gate.pausedUntil(await gate.ticket())).toBe(TOMORROW)
      await openDialog(tab, "Change end")
      expect(await field(tab).inputValue()).toBe(toField(TOMORROW))
      await field(tab).fill(toField(TOMORROW + MINUTE))
      await button(tab, "Save").click()
      await tab.getByText(`The pause ends on ${chosenTime(TOMORROW + MINUTE)} (in `, { exact: false }).waitFor()
      await openDialog(tab, "Change end")
      await tab.getByLabel("Until I resume").check()
      await button(tab, "Save").click()
      await said(tab, "Calls paused.")
      await tab.getByText(/^New callers wait; no one is called\. Paused by 127\.0\.0\.1 at .* ago\.$/).waitFor()
      await confirm(tab, "Resume calls", "Resume calls?", "Resume")
      await heading(tab, "Taking calls")
      expect(await button(tab, "Change end").count()).toBe(0)
    }),
  )

  it(
    "is not begun without a time in the future, and the error goes as soon as there is one",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      await openDialog(tab)
      await tab.getByLabel("Until a date and time").check()
      for (const [value, problem] of [
        ["", "Choose a date and time."],
        ["9999-12-31T23:59", "Choose an earlier date."],
        [toField(Date.now() - MINUTE), "Choose a time in the future."],
      ] as const) {
        await field(tab).fill(value)
        await button(tab, "Pause").click()
        await tab.getByText(problem, { exact: true }).waitFor()
        await focusOn(tab, "Date and time")
        expect(await field(tab).getAttribute("aria-invalid")).toBe("true")
        expect(await violations(tab)).toEqual([])
      }
      await field(tab).fill(toField(TOMORROW))
      await tab.getByText("Choose a time in the future.").waitFor({ state: "detached" })
      await button(tab, "Cancel").click()
      await heading(tab, "Taking calls")
      await tab.getByText("No activity yet.").waitFor()
    }),
  )

  it(
    "is chosen by keyboard alone, and Enter on a choice begins none",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.keyboard.press("p")
      await focusOn(tab, "Until I resume")
      await tab.keyboard.press("Enter")
      await tab.keyboard.press("ArrowDown")
      await focusOn(tab, "Until a date and time")
      await tab.keyboard.press("Enter")
      await tab.getByRole("dialog", { name: "Pause calls?" }).waitFor()
      await tab.keyboard.press("Tab")
      await focusOn(tab, "Date and time")
      await tabTo(tab, "Pause")
      await tab.keyboard.press("Enter")
      await heading(tab, "Paused")
      await tab.getByText("The pause ends", { exact: false }).waitFor()
    }),
  )

  for (const colorScheme of ["light", "dark"] as const) {
    it(
      `is asked for on a phone of 360 pixels and on a desk, in the ${colorScheme}, and axe finds nothing`,
      visiting(1, 0, async ({ signIn }) => {
        const tab = await signIn()
        await tab.emulateMedia({ colorScheme })
        for (const width of [360, 1280]) {
          await tab.setViewportSize({ width, height: 740 })
          await openDialog(tab)
          await tab.getByLabel("Until a date and time").check()
          expect(await violations(tab)).toEqual([])
          expect(await tab.getByRole("dialog").evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth)).toBe(0)
          const shots = process.env.SHOTS
          if (shots !== undefined) await tab.screenshot({ path: `${shots}/pause-${width}-${colorScheme}.png` })
          await button(tab, "Cancel").click()
        }
        if (process.env.SHOTS !== undefined) {
          await openDialog(tab)
          await tab.getByLabel("Until a date and time").check()
          await button(tab, "Pause").click()
          await heading(tab, "Paused")
          for (const width of [360, 1280]) {
            await tab.setViewportSize({ width, height: 740 })
            await tab.screenshot({ path: `${process.env.SHOTS}/paused-${width}-${colorScheme}.png` })
          }
        }
      }),
    )
  }
})
