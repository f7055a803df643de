/** The embed code of a campaign, and its preview: the real widget of a real gate, in a frame of the dashboard. */
import { dirname, join } from "node:path"
import axe from "axe-core"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { program } from "../../harness/build.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { focusOn } from "../focus.ts"
import { type Built, type Rig, startRig, whenWebBuilt } from "../rig.ts"
import { visit } from "../visitor.ts"
import { type FakeDashboard, startFakeDashboard } from "./fake-dashboard.ts"
import { BAKERY, heading } from "./rig.ts"

let built: Built
let browser: Browser
let dashboard: FakeDashboard

beforeAll(async () => {
  ;[built, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
  dashboard = await startFakeDashboard({ page: join(dirname(program), "web/dashboard") })
})

afterAll(async () => {
  await dashboard?.stop()
})

/** The page of a campaign whose webhook goes to the gate. */
const openEmbed = async (rig: Rig, options: Parameters<typeof visit>[1] = {}) => {
  const gate = new URL(rig.url).origin
  const webhook = { url: `${gate}/api/webhook/session-ended`, headerNames: ["X-Api-Token"], signed: false }
  const campaign = { id: "campaign-1", name: "Orders", maxCallMinutes: 120, createdAt: 1_700_000_000_000, webhook }
  dashboard.state.businesses.splice(0, 1, { ...BAKERY, campaigns: [campaign] })
  const visitor = await visit(browser, options)
  const value = dashboard.state.newSession()
  await visitor.context.addCookies([{ name: "voicegate_session", value, url: dashboard.url, httpOnly: true }])
  await visitor.context.grantPermissions(["clipboard-read", "clipboard-write"], {
    origin: new URL(dashboard.url).origin,
  })
  const tab = await visitor.open(`${dashboard.url}#/businesses/campaign-1`)
  await heading(tab, "Embed the widget")
  return { gate, tab, visitor }
}

describe("the embed code", () => {
  it("previews the widget of the gate, which allows this page, and follows the form", async () => {
    const rig = await startRig(built, { settings: { Security: { AllowedOrigins: [new URL(dashboard.url).origin] } } })
    try {
      const { gate, tab, visitor } = await openEmbed(rig)
      const asked: Array<string> = []
      tab.on("request", (request) => {
        if (request.url().includes("/api/session")) asked.push(request.url())
      })
      const code = tab.getByRole("region", { name: "Embed code" })
      await code.getByText(`<script type="module" src="${gate}/widget.js"></script>`).waitFor()
      await code.getByText(`<voice-agent gate="${gate}"></voice-agent>`).waitFor()
      const widget = tab
        .frameLocator('iframe[title="Preview of the widget"]')
        .frameLocator("iframe")
        .locator("voice-agent")
      await widget.getByRole("button").first().waitFor()
      await tab.getByLabel("Theme").selectOption("Dark")
      await tab.getByRole("checkbox", { name: /Offer a notification/ }).check()
      await tab.getByLabel(/^Campaign in the gate/).fill('a"b')
      await code.getByText(`gate="${gate}" campaign="a&quot;b" theme="dark" notify>`).waitFor()
      const shown = (selector: string) =>
        tab
          .frameLocator('iframe[title="Preview of the widget"]')
          .frameLocator("iframe")
          .locator(`voice-agent${selector}`)
      await shown('[theme="dark"][notify][campaign=\'a"b\']').waitFor()

      // texts and colors follow at once too, and a sample of each state asks the gate for nothing
      await tab.getByLabel("Agent’s name").fill("Ada")
      await tab.getByLabel("Color (optional)").fill("#5b3df5")
      await tab.getByLabel("Language", { exact: true }).selectOption("Deutsch")
      await shown('[agent-name="Ada"][accent="#5b3df5"][lang="de"]').waitFor()
      const sample = async (name: string, title: string): Promise<void> => {
        await tab.getByLabel("Show", { exact: true }).selectOption(name)
        await shown("").getByRole("heading", { level: 2, name: title, exact: true }).waitFor()
      }
      await sample("Waiting", "Ihr Platz in der Warteschlange")
      await tab.getByLabel("Language", { exact: true }).selectOption("As the page")
      await sample("Your turn", "Your turn")
      await shown("").getByRole("button", { name: "Start the call" }).click()
      await shown("").getByText("It left our warehouse this morning.").waitFor()
      await shown("").getByRole("button", { name: "Hang up" }).click()
      await shown('[state="ended"]').waitFor()
      for (const name of await tab.getByLabel("Show", { exact: true }).getByRole("option").allTextContents()) {
        await tab.getByLabel("Show", { exact: true }).selectOption(name)
        // whoever has left may call again
        const isIdle = ["The live widget", "Left the queue"].includes(name)
        await shown(isIdle ? '[state="idle"]' : ':not([state="idle"])').waitFor()
      }
      await tab.getByLabel("Show", { exact: true }).selectOption("The live widget")
      await shown('[state="idle"]').waitFor()
      expect(asked).toEqual([])
      await tab.getByLabel("Color (optional)").fill("no color")
      await tab.getByText("This isn’t a CSS color.").waitFor()
      await tab.getByLabel("Color (optional)").fill("")
      await tab.getByLabel("Agent’s name").fill("")

      // the other attributes that a site's owner sets
      expect(await tab.getByLabel("Corner").count()).toBe(0)
      await tab.getByLabel("Position").selectOption("Floating, in a corner of the window")
      // a state of the floating form is shown opened
      await tab.getByLabel("Show", { exact: true }).selectOption("In call")
      await shown('[open]:not([state="idle"])').waitFor({ state: "attached" })
      await tab.getByLabel("Show", { exact: true }).selectOption("The live widget")
      await shown(':not([open])[state="idle"]').waitFor({ state: "attached" })
      await tab.getByLabel("Corner").selectOption("Top left")
      await tab.getByLabel(/^Region/).fill("eu")
      await tab.getByLabel(/^Languages to choose from/).fill("en, de xx-none fr")
      await tab.getByText("The widget isn’t available in xx-none.").waitFor()
      await tab.getByLabel("Text field").selectOption("Never")
      expect(await tab.getByLabel("Privacy policy").count()).toBe(0)
      await tab.getByLabel(/^Ask for consent/).fill("The call is recorded.")
      await tab.getByLabel(/^Privacy policy/).fill("/privacy")
      const added = [
        /^Remember consent/,
        /^Offer a small always-on-top window/,
        /^Offer a link to continue/,
        /^Ask for a rating/,
      ]
      for (const name of [/^Push to talk/, /^Start the call automatically/, ...added])
        await tab.getByRole("checkbox", { name }).check()
      for (const name of [/captions/, /microphone check/, /^Ring/]) await tab.getByRole("checkbox", { name }).uncheck()
      const valued = ['region="eu"', 'mode="floating"', 'corner="top-left"', 'theme="dark"', 'languages="en de fr"']
      const rest = ['text-input="off"', 'captions="off"', 'check="off"', 'ring="off"']
      const flags = ["push-to-talk", "notify", "auto-start"]
      const consent = ['consent="The call is recorded."', 'consent-link="/privacy"']
      const extras = ["picture-in-picture", "handoff", "rating"]
      const all = [...valued, ...rest, ...consent, ...flags, "consent-remember", ...extras]
      await code.getByText(`campaign="a&quot;b" ${all.join(" ")}>`).waitFor()
      await shown([...valued, ...rest, ...flags, ...extras, "gate"].map((each) => `[${each}]`).join("")).waitFor({
        state: "attached",
      })
      // the text of the consent comes by a message alone
      await shown('[consent="The call is recorded."][consent-link="/privacy"][consent-remember]').waitFor({
        state: "attached",
      })
      await tab.getByTitle("Preview of the widget").scrollIntoViewIfNeeded()
      await shown("").locator(".launcher").click()
      await shown("[open]").getByRole("combobox").selectOption("Deutsch")
      await tab.evaluate(axe.source)
      expect(await tab.evaluate("axe.run(document, { iframes: false }).then(({ violations }) => violations)")).toEqual(
        [],
      )
      expect(await tab.getByText(/isn’t showing its preview here/).count()).toBe(0)
      expect(visitor.complaints).toEqual([])
      await visitor.context.close()
    } finally {
      await rig.stop()
    }
  })

  it("says what to set at a gate that does not allow this page, and that one shows nothing", async () => {
    const rig = await startRig(built)
    try {
      const { gate, tab, visitor } = await openEmbed(rig, { viewport: { width: 360, height: 780 } })
      await tab.getByText(/isn’t showing its preview here/).waitFor()
      expect(await tab.frameLocator("iframe").frameLocator("iframe").locator("voice-agent").count()).toBe(0)
      await tab.evaluate(axe.source)
      expect(await tab.evaluate("axe.run(document, { iframes: false }).then(({ violations }) => violations)")).toEqual(
        [],
      )
      expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
      // the parts stand below each other, and a bar that stays in view leads to each
      const bar = tab.getByRole("navigation", { name: "Parts of this page" })
      for (const part of ["Call", "Preview", "Look"]) {
        await bar.getByRole("button", { name: part, exact: true }).click()
        await focusOn(tab, part)
        const [above, at] = [
          await bar.boundingBox(),
          await tab.getByRole("heading", { level: 2, name: part, exact: true }).boundingBox(),
        ]
        if (above === null || at === null) throw new Error(`“${part}” and the bar are to be seen`)
        expect(above.y).toBeGreaterThanOrEqual(0)
        expect(at.y).toBeGreaterThanOrEqual(above.y + above.height)
        expect(at.y).toBeLessThan(100)
      }
      await tab.keyboard.press("Tab")
      await focusOn(tab, "Agent’s name (optional)")
      // it is needless where the options stand beside the preview
      await tab.setViewportSize({ width: 1_280, height: 800 })
      expect(await bar.count()).toBe(0)
      await tab.setViewportSize({ width: 360, height: 780 })
      await tab.getByLabel("Gate address").fill("gate.example:x")
      await tab.getByText("Enter the gate’s address to get the code.").waitFor()
      expect(await bar.getByRole("button").first().textContent()).toBe("Gate")
      // an address of the dashboard itself would let the frame reach the account
      await tab.getByLabel("Gate address").fill(new URL(dashboard.url).origin)
      await tab.getByText("A gate at this dashboard’s own address can’t be previewed.").waitFor()
      expect(await tab.locator("iframe").count()).toBe(0)
      // no link shows another site's page under the platform's address
      const linked = await fetch(`${dashboard.url}preview?${new URLSearchParams({ url: `${gate}/widget/preview` })}`)
      expect(linked.status).toBe(404)
      const policy = (await fetch(`${gate}/widget/preview`)).headers.get("content-security-policy")
      expect(policy).toMatch(/frame-ancestors 'self'$/)
      await visitor.context.close()
    } finally {
      await rig.stop()
    }
  })
})
