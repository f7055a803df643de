/** The console in the light, in the dark and on a phone. */
import { describe, expect, it } from "vitest"
import { violations } from "./axe.ts"
import { TOKEN } from "./support.ts"
import { button, confirm, prepareVisits, shows, visiting } from "./visit.ts"

prepareVisits()

describe.concurrent("the console", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    it(
      `has nothing that axe finds wrong, in the ${colorScheme}`,
      visiting(2, 40, async ({ openTab }) => {
        const tab = await openTab()
        await tab.emulateMedia({ colorScheme })
        expect(await violations(tab)).toEqual([])
        await tab.getByLabel("Console token").fill("a-wrong-token-0123456789")
        await button(tab, "Sign in").click()
        await tab.getByRole("alert").getByText("This token is wrong.").waitFor()
        expect(await violations(tab)).toEqual([])
        await tab.getByLabel("Console token").fill(TOKEN)
        await button(tab, "Sign in").click()
        await shows(tab, "waiting", "38")
        await confirm(tab, "Pause calls", "Pause calls?", "Pause")
        await tab.getByRole("row", { name: /Paused calls/ }).waitFor()
        expect(await violations(tab)).toEqual([])
        await button(tab, "Drain").click()
        await tab.getByRole("dialog").waitFor()
        expect(await violations(tab)).toEqual([])
      }),
    )
  }

  it(
    "fits a phone of 360 pixels, empty and full",
    visiting(2, 40, async ({ openTab }) => {
      const tab = await openTab()
      await tab.setViewportSize({ width: 360, height: 740 })
      const overflow = () => tab.evaluate("document.documentElement.scrollWidth - innerWidth")
      expect(await overflow()).toBe(0)
      await tab.getByLabel("Console token").fill(TOKEN)
      await button(tab, "Sign in").click()
      await shows(tab, "waiting", "38")
      expect(await overflow()).toBe(0)
    }),
  )
})
