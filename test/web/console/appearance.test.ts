/** The console in the light, in the dark and on a phone. */
import { describe, expect, it } from "vitest"
import { focusOn } from "../focus.ts"
import { violations } from "./axe.ts"
import { TOKEN } from "./support.ts"
import { button, confirm, heading, prepareVisits, shows, visiting } from "./visit.ts"

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
        await tab.getByRole("alert").getByText("Incorrect token.").waitFor()
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
    "shows campaigns side by side, moves between them by name and by key, and fits a phone with its sheet of keys",
    visiting(
      2,
      33,
      async ({ signIn }) => {
        const tab = await signIn()
        const row = (name: string) =>
          tab.getByRole("group", { name: "Campaigns", exact: true }).getByRole("row", { name: new RegExp(`^${name} `) })
        await row("default").getByText("2 of 2").waitFor()
        await row("default").getByRole("cell", { name: "28", exact: true }).waitFor()
        await row("sales").getByText("Taking calls").waitFor()
        await tab.getByRole("link", { name: /^sales/ }).click()
        expect(new URL(tab.url()).search).toBe("?campaign=sales")
        await shows(tab, "waiting", "0")
        await confirm(tab, "Pause calls", "Pause calls?", "Pause")
        await row("sales").getByText("Paused").waitFor()
        await row("default").getByText("Taking calls").waitFor()
        await tab.keyboard.press("[")
        await shows(tab, "waiting", "28")
        await tab.keyboard.press("]")
        await shows(tab, "waiting", "0")
        // the address of the page has the campaign: the back button goes back, and a link leads there
        await tab.goBack()
        await shows(tab, "waiting", "28")
        await tab.goto(`${new URL(tab.url()).origin}/console/?campaign=sales&range=day`)
        await heading(tab, "Paused")
        await tab.getByRole("button", { name: "24 hours", pressed: true }).waitFor()
        const refusals = tab.getByRole("group", { name: "Refusals by reason" })
        // the first 30 of the 33 callers are admitted, of whom a limit of 20 would have refused 10
        await refusals.getByRole("row", { name: "Not enforced: hour 10" }).waitFor()
        expect(await refusals.getByRole("row").allInnerTexts()).toEqual([
          "Reason\tRequests",
          "Queue full\t3",
          "Not enforced: hour\t10",
        ])
        await tab.getByText("In the last hour. Not enforced: Security.Shadow would have refused them.").waitFor()
        await row("default").getByRole("cell", { name: "3", exact: true }).waitFor()
        await tab.getByLabel("Find a caller").fill("zz")
        await tab.keyboard.press("Enter")
        for (const colorScheme of ["light", "dark"] as const) {
          await tab.emulateMedia({ colorScheme })
          expect(await violations(tab)).toEqual([])
        }
        if (process.env.SHOTS !== undefined)
          await tab.screenshot({ path: `${process.env.SHOTS}/console-campaigns.png`, fullPage: true })
        await tab.setViewportSize({ width: 360, height: 740 })
        expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0)
        // nothing of what has many columns is out of sight there
        const lists = tab.getByRole("group", { name: /^(Campaigns|Activity log|Instances)$/ })
        expect(await lists.evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth))).toEqual([
          0, 0, 0,
        ])
        if (process.env.SHOTS !== undefined)
          await tab.screenshot({ path: `${process.env.SHOTS}/console-campaigns-360.png`, fullPage: true })
        await button(tab, "Shortcuts").click()
        await tab.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
        expect(await violations(tab)).toEqual([])
        if (process.env.SHOTS !== undefined) await tab.screenshot({ path: `${process.env.SHOTS}/console-keys-360.png` })
      },
      { campaigns: ["sales"], queueLength: 28, security: { Shadow: { RateLimitHourly: 20 } } },
    ),
  )

  it(
    "has one row of header on a phone, and links at its lower edge that lead through the page",
    visiting(
      1,
      3,
      async ({ signIn }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        const jump = (name: string) =>
          tab.getByRole("navigation", { name: "Parts of this page" }).getByRole("link", { name, exact: true })
        const box = async (name: string) => {
          const found = await tab.getByRole("heading", { name, exact: true }).boundingBox()
          return found ?? { x: 0, y: -1, width: 0, height: 0 }
        }
        for (const [width, height] of [
          [360, 740],
          [1280, 800],
        ] as const) {
          await tab.setViewportSize({ width, height })
          expect((await tab.locator("header.site").boundingBox())?.height).toBeLessThan(72)
          const links = await jump("Log").boundingBox()
          expect((links?.x ?? 0) + (links?.width ?? 0)).toBeLessThanOrEqual(width)
          for (const [link, title] of [
            ["Health", "Health"],
            ["Campaigns", "Campaigns"],
            ["History", "History"],
          ] as const) {
            await jump(link).click()
            await focusOn(tab, title)
            // below a header that stays, and above the links
            const { height: of, y } = await box(title)
            expect(y).toBeGreaterThanOrEqual(width > 900 ? 64 : 0)
            expect(y + of).toBeLessThan(height - 60)
          }
          await jump("Now").click()
          await focusOn(tab, "Taking calls")
          expect(await tab.evaluate("scrollY")).toBeLessThan(80)
          expect(await violations(tab)).toEqual([])
        }
      },
      { campaigns: ["sales"] },
    ),
  )

  it(
    "has cards of one height, and sets the button that ends calls apart from the others",
    visiting(2, 5, async ({ signIn }) => {
      const tab = await signIn()
      await shows(tab, "waiting", "3")
      // one card has rows, and one has none
      await tab.getByText("No recent refusals.").waitFor()
      const box = async (name: string) => {
        const found = await button(tab, name).boundingBox()
        return { left: found?.x ?? 0, right: (found?.x ?? 0) + (found?.width ?? 0) }
      }
      for (const width of [1280, 1000]) {
        await tab.setViewportSize({ width, height: 900 })
        const heights = await tab
          .locator(".live .card")
          .evaluateAll((all) => all.map((each) => `${each.getBoundingClientRect().top} ${each.clientHeight}`))
        // narrower, the third card has a row of its own
        expect(new Set(width === 1280 ? heights : heights.slice(0, 2)).size).toBe(1)
        const [next, pause, drain, end] = [
          await box("Call next"),
          await box("Pause calls"),
          await box("Drain"),
          await box("End all calls"),
        ]
        expect(end.left - drain.right).toBeGreaterThan(2 * (pause.left - next.right))
      }
    }),
  )

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
