/** The floating form of the widget, on a shop's page: a launcher in a corner that opens the panel above the page. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { focusOn, tabTo } from "../../focus.ts"
import { announced, click, level, place, screen } from "../../visitor.ts"
import { HOSTILE, useShop, violations } from "../shop.ts"

const { open, widget } = useShop()
const FLOATING = '<voice-agent mode="floating"></voice-agent>'

const launcher = (tab: Page, name: string | RegExp) =>
  tab.locator("voice-agent .launcher").filter({ hasText: name, visible: true })

/** Position and size of the launcher or the panel in the window. */
const box = async (tab: Page, of: ".launcher" | ".panel") => {
  const found = await tab.locator(`voice-agent ${of}`).boundingBox()
  if (found === null) throw new Error(`${of} is not shown`)
  return { ...found, right: found.x + found.width, bottom: found.y + found.height }
}

describe("the floating form", () => {
  it("opens and closes by keyboard: the focus goes in, and comes back", async () => {
    const tab = await open(FLOATING)
    await tabTo(tab, "Talk to us")
    expect(await tab.getByRole("dialog").count()).toBe(0)
    await tab.keyboard.press("Enter")
    await tab.getByRole("dialog", { name: "Voice agent" }).getByRole("heading", { name: "Talk to us" }).waitFor()
    await tabTo(tab, "Minimize")
    await tab.keyboard.press("Enter")
    await launcher(tab, "Talk to us").waitFor()
    await focusOn(tab, "Talk to us")
    await tab.keyboard.press("Enter")
    await tabTo(tab, "Start a call")
    await tab.keyboard.press("Escape")
    await launcher(tab, "Talk to us").waitFor()
    await focusOn(tab, "Talk to us")
  })

  it("is opened by a button of the page too, which gets the focus back", async () => {
    const tab = await open(FLOATING)
    await tab.evaluate(`own.onclick = () => { document.querySelector("voice-agent").open = true }`)
    await tab.getByRole("button", { name: "Call us" }).click()
    await screen(tab, "Talk to us")
    await focusOn(tab, "Talk to us")
    await tab.keyboard.press("Escape")
    await focusOn(tab, "Call us")
    expect(await tab.locator("voice-agent").getAttribute("open")).toBeNull()
  })

  it("keeps the place and the call while it is closed, and says where they stand", async () => {
    const tab = await open(FLOATING)
    const hangUp = await widget.rig.hold()
    await launcher(tab, "Talk to us").click()
    await click(tab, "Start a call")
    await place(tab, 1)
    await tab.keyboard.press("Escape")
    await launcher(tab, "Number 1 in the queue").waitFor()
    hangUp()
    await launcher(tab, "Your turn").waitFor()
    await tab
      .getByRole("alert")
      .getByText(/^Your turn\. Start the call\.$/)
      .waitFor()
    await launcher(tab, "Your turn").click()
    await click(tab, "Start the call")
    await screen(tab, "In call")
    await click(tab, "Minimize")
    await launcher(tab, /^In call 0:\d\d$/).waitFor()
    const before = await launcher(tab, /^In call/).textContent()
    await eventually("the time goes on", async () => (await launcher(tab, /^In call/).textContent()) !== before)
    await launcher(tab, /^In call/).click()
    await eventually("the echo's sound", async () => (await level(tab, "Agent")) > 0.3)
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    await announced(tab, /^Call ended/)
    await tab.keyboard.press("Escape")
    await launcher(tab, "Call ended").waitFor()
  })

  it("says on the launcher that the turn was missed, in a language with long words too", async () => {
    const tab = await open(FLOATING, {
      queue: { StartWindowSeconds: 2 },
      browsing: { viewport: { width: 320, height: 480 } },
    })
    const hangUp = await widget.rig.hold()
    await launcher(tab, "Talk to us").click()
    await click(tab, "Start a call")
    await place(tab, 1)
    await tab.keyboard.press("Escape")
    hangUp()
    await launcher(tab, "You missed your turn").waitFor()
    await tab.evaluate(`document.documentElement.lang = "de"`)
    await launcher(tab, "Sie haben Ihren Aufruf verpasst").waitFor()
    expect((await box(tab, ".launcher")).x).toBeGreaterThanOrEqual(12)
  })

  it("shows the buttons of a call in a low window without scrolling, and nothing that has the focus is behind them", async () => {
    const tab = await open('<voice-agent mode="floating" text-input></voice-agent>', {
      browsing: { viewport: { width: 640, height: 300 } },
    })
    await launcher(tab, "Talk to us").click()
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await tab.locator("voice-agent .messages li").first().waitFor()
    const panel = tab.locator("voice-agent .body")
    // what is said scrolls by itself
    expect(await panel.evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)).toBe(false)
    const edges = async (name: string) => {
      const { height = 0, y = 0 } =
        (await tab.getByRole(name === "Hang up" ? "button" : "textbox", { name }).boundingBox()) ?? {}
      return { top: y, bottom: y + height }
    }
    expect((await edges("Hang up")).bottom).toBeLessThanOrEqual((await box(tab, ".panel")).bottom)
    // writing takes no scrolling either
    expect(await panel.evaluate((screen) => screen.scrollTop)).toBe(0)
    expect((await edges("Message")).bottom).toBeLessThanOrEqual((await edges("Hang up")).top)
    expect((await edges("Message")).top).toBeGreaterThan((await box(tab, ".panel")).y)
    await tab.getByRole("textbox", { name: "Message" }).click({ trial: true })
    await tabTo(tab, "Message")
    expect((await edges("Message")).bottom).toBeLessThanOrEqual((await edges("Hang up")).top)
    // a click of Playwright's reaches what is on top
    await tab.getByRole("button", { name: "Hang up" }).click({ trial: true })
    // nor is anything behind them
    const { bottom } = (await tab.locator("voice-agent .body").evaluate((body) => body.getBoundingClientRect())) ?? {}
    expect(bottom).toBeLessThanOrEqual((await edges("Message")).top)
  })

  it("moves nothing of the page, and nothing of the page covers or cuts it", async () => {
    const tab = await open(FLOATING, { styles: HOSTILE })
    await launcher(tab, "Talk to us").waitFor()
    const layout = () =>
      tab.evaluate<unknown>(
        `[...document.querySelectorAll("main, main > *")].map((each) => JSON.stringify(each.getBoundingClientRect()))`,
      )
    const closed = await layout()
    await tab.evaluate(`document.querySelector("voice-agent").remove()`)
    expect(await layout()).toEqual([...(Array.isArray(closed) ? closed : [])].filter((_, index) => index !== 10))
    await tab.reload()
    // a click of Playwright's reaches what is on top
    await launcher(tab, "Talk to us").click()
    await screen(tab, "Talk to us")
    expect(await layout()).toEqual(closed)
    await click(tab, "Start a call")
    await screen(tab, "In call")
    expect(await layout()).toEqual(closed)
    // also what the browser forgives, because it follows a tap: a slow answer is not forgiven
    const shift = await tab.evaluate(`new Promise((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntries().reduce((sum, { value }) => sum + value, 0))).observe({
        type: "layout-shift", buffered: true,
      })
      setTimeout(() => resolve(0), 300)
    })`)
    expect(shift).toBeLessThan(0.01)
  })

  for (const [corner, lang, [x, y]] of [
    ["", "en", ["right", "bottom"]],
    ["", "ar", ["left", "bottom"]],
    ["bottom-left", "en", ["left", "bottom"]],
    ["top-right", "ar", ["right", "top"]],
    ["top-left", "en", ["left", "top"]],
  ] as const) {
    it(`stands ${y} ${x} with corner="${corner}" in ${lang}, and fits a phone`, async () => {
      const viewport = { width: 360, height: 640 }
      const agent = `<voice-agent mode="floating" corner="${corner}"></voice-agent>`
      const tab = await open(agent, { lang, browsing: { viewport, locale: lang } })
      const name = lang === "ar" ? "تحدّث إلينا" : "Talk to us"
      await launcher(tab, name).waitFor()
      for (const part of [".launcher", ".panel"] as const) {
        if (part === ".panel") await launcher(tab, name).click()
        const { bottom, right, x: left, y: top } = await box(tab, part)
        const gaps = { left, top, right: viewport.width - right, bottom: viewport.height - bottom }
        for (const gap of Object.values(gaps)) expect(gap).toBeGreaterThanOrEqual(12)
        // to a whole pixel
        expect([gaps[x], gaps[y]].map(Math.floor)).toEqual([12, 12])
      }
      for (const colorScheme of ["light", "dark"] as const) {
        await tab.emulateMedia({ colorScheme })
        expect(await violations(tab)).toEqual([])
      }
      expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    })
  }

  it("stays above a keyboard on the screen", async () => {
    const tab = await open('<voice-agent mode="floating"><label>Name <input name="name"></label></voice-agent>', {
      browsing: { viewport: { width: 360, height: 640 } },
    })
    await launcher(tab, "Talk to us").click()
    await screen(tab, "Talk to us")
    // Playwright's browsers have no such keyboard: this is what the window says when there is one of 300 pixels
    await tab.evaluate(`
      Object.defineProperty(visualViewport, "height", { configurable: true, value: 340 })
      visualViewport.dispatchEvent(new Event("resize"))`)
    await eventually("the panel above it", async () => (await box(tab, ".panel")).bottom <= 340)
    expect((await box(tab, ".panel")).y).toBeGreaterThanOrEqual(0)
    // what does not fit is scrolled to
    const last = tab.getByRole("button", { name: "Check your microphone" })
    await last.scrollIntoViewIfNeeded()
    const { height = 0, y = 0 } = (await last.boundingBox()) ?? {}
    expect(y + height).toBeLessThanOrEqual((await box(tab, ".panel")).bottom)
    await tab.evaluate(`delete visualViewport.height; visualViewport.dispatchEvent(new Event("resize"))`)
    await eventually("the panel back", async () => (await box(tab, ".panel")).bottom > 600)
  })

  it("goes back into the page when the page says so", async () => {
    const tab = await open(FLOATING)
    await launcher(tab, "Talk to us").waitFor()
    await tab.evaluate(`document.querySelector("voice-agent").removeAttribute("mode")`)
    await screen(tab, "Talk to us")
    expect(await tab.getByRole("dialog").count()).toBe(0)
    expect(await launcher(tab, "Talk to us").count()).toBe(0)
    await tab.evaluate(`document.querySelector("voice-agent").setAttribute("mode", "floating")`)
    await launcher(tab, "Talk to us").waitFor()
  })
})
