/**
 * Every state of the widget, as it looks and as assistive technology finds it: axe in light and dark, and nothing wider
 * than a phone of 360 pixels. With `SHOTS` set to a directory, screenshots of all of it go there.
 */
import { readFile } from "node:fs/promises"
import axe from "axe-core"
import type { Browser, Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { sharedBrowser } from "../../../support/browser.ts"
import { layoutShifts } from "../../layout-shift.ts"
import { type Built, type Rig, startRig, whenWebBuilt } from "../../rig.ts"
import { click, level, screen, type Visitor, visit } from "../../visitor.ts"

let built: Built
let browser: Browser

beforeAll(async () => {
  ;[built, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
})

const WIDTHS = { phone: { width: 360, height: 780 }, desk: { width: 1200, height: 900 } }
const shots = process.env.SHOTS

/** The violations of a page as it is, each with the elements it is found at. */
const violations = async (tab: Page): Promise<ReadonlyArray<string>> => {
  const run = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))`
  return tab.evaluate<ReadonlyArray<string>>(run)
}

/** Looks at a page in light and dark, narrow and wide. */
const check = async (tab: Page, name: string): Promise<void> => {
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme })
    expect(await violations(tab), `${name}, ${colorScheme}`).toEqual([])
    if (shots === undefined) continue
    for (const [width, size] of Object.entries(WIDTHS)) {
      await tab.setViewportSize(size)
      await tab.screenshot({ path: `${shots}/${name}-${colorScheme}-${width}.png`, fullPage: width === "phone" })
    }
  }
  await tab.setViewportSize(WIDTHS.phone)
  expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth"), name).toBeLessThanOrEqual(0)
}

const withRig = async (
  test: (rig: Rig, visitor: Visitor) => Promise<void>,
  browsing: Parameters<typeof visit>[1] = {},
): Promise<void> => {
  const rig = await startRig(built, { settings: { Queue: { StartWindowSeconds: 60 } } })
  const visitor = await visit(browser, browsing)
  await visitor.context.addInitScript(axe.source)
  try {
    await test(rig, visitor)
    expect(visitor.complaints).toEqual([])
  } finally {
    await visitor.context.close()
    await rig.stop()
  }
}

describe("the appearance of the widget", () => {
  it("is inline or floating on the demo's page, as its example says, and shifts nothing while it loads", async () => {
    await withRig(async (rig, visitor) => {
      const tab = await visitor.open(rig.url)
      const documented = await readFile("src/docs/embedding.md", "utf8")
      for (const size of Object.values(WIDTHS)) {
        await tab.setViewportSize(size)
        // as on a slow line: the page is drawn, and has taken its place, before the widget's script comes
        let comes = (): void => {}
        const script = new Promise<void>((resolve) => {
          comes = resolve
        })
        await tab.route("**/widget.js", (route) => script.then(() => route.continue()), { times: 1 })
        await tab.goto(rig.url, { waitUntil: "commit" })
        await tab.getByText("See the queue work").waitFor()
        await layoutShifts(tab)
        comes()
        await screen(tab, "Talk to us")
        const { sum, text } = await layoutShifts(tab)
        expect(sum, text).toBeLessThan(0.001)
        const height = await tab.locator("voice-agent").evaluate((element) => element.getBoundingClientRect().height)
        expect(documented).toContain(`voice-agent:not([state]) { display: block; min-block-size: ${height}px }`)
      }
      const choice = tab.getByLabel(/floating button/)
      await choice.check()
      await tab.locator("voice-agent .launcher").waitFor()
      await tab.getByText(`<voice-agent mode="floating" gate="${rig.url.slice(0, -1)}"></voice-agent>`).waitFor()
      await check(tab, "0-demo-floating")
      await choice.uncheck()
      await screen(tab, "Talk to us")
      await tab.getByText(`<voice-agent gate="${rig.url.slice(0, -1)}"></voice-agent>`).waitFor()
    })
  })

  it("pass axe in every state, light and dark, and fit a phone", async () => {
    await withRig(async (rig, visitor) => {
      const tab = await visitor.open(rig.url)
      await tab.evaluate(`
        const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
        navigator.mediaDevices.getUserMedia = () => new Promise((_, reject) => { window.deny = () => {
          navigator.mediaDevices.getUserMedia = ask
          reject(new DOMException("denied", "NotAllowedError"))
        }})`)
      await check(tab, "1-idle")
      await click(tab, "Start a call")
      await screen(tab, "Allow the microphone")
      await check(tab, "2-checking-microphone")
      await tab.evaluate("window.deny()")
      await screen(tab, "Your microphone is blocked")
      await check(tab, "3-no-microphone")

      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      await tab.route("**/api/session/request", (route) => held.then(() => route.continue()), { times: 1 })
      const hangUp = await rig.hold()
      const ahead = await Promise.all([visitor.open(rig.url), visitor.open(rig.url)])
      for (const other of ahead) {
        await click(other, "Start a call")
        await screen(other, "Your place in the queue")
      }
      await click(tab, "Try again")
      await screen(tab, "Connecting")
      await check(tab, "4-connecting")
      release()
      await screen(tab, "Your place in the queue")
      await check(tab, "5-waiting")
      rig.gateLine.set("cut")
      await tab
        .locator("voice-agent .panel")
        .getByText(/^Reconnecting… We’ll hold/)
        .waitFor()
      await check(tab, "5-waiting-link-lost")
      rig.gateLine.set("open")
      await tab
        .locator("voice-agent .panel")
        .getByText(/^Reconnecting… We’ll hold/)
        .waitFor({ state: "hidden" })
      hangUp()
      const [first = tab] = ahead
      await screen(first, "Your turn")
      rig.platformLine.set("gone")
      await click(first, "Start the call")
      await tab
        .locator("voice-agent .panel")
        .getByText(/^The voice agent is temporarily unavailable/)
        .waitFor()
      await check(tab, "5-waiting-disrupted")
      rig.platformLine.set("open")
      for (const other of ahead.slice(1)) await click(other, "Leave the queue")
      await screen(first, "Your turn")
      await click(first, "Leave the queue")
      await screen(tab, "Your turn")
      await check(tab, "6-your-turn")
      await click(tab, "Start the call")
      await screen(tab, "In call")
      // meters are drawn where they can be seen
      await tab.bringToFront()
      await eventually("the echo's sound", async () => (await level(tab, "Agent")) > 0.3)
      await check(tab, "7-in-call")
      await click(tab, "Mute")
      await check(tab, "7-in-call-muted")
      await click(tab, "Hang up")
      await screen(tab, "Call ended")
      await check(tab, "8-ended")

      await tab.route(
        "**/api/session/request",
        (route) =>
          route.fulfill({
            status: 429,
            headers: { "retry-after": "754" },
            body: JSON.stringify({ code: "rate_limited", detail: "At most 20 calls an hour from one address." }),
          }),
        { times: 1 },
      )
      await click(tab, "Talk again")
      await screen(tab, "You’ve reached your call limit")
      await check(tab, "9-refused")
      const another = await visitor.open(rig.url)
      rig.gateLine.set("cut")
      await click(another, "Start a call")
      await screen(another, "No connection")
      await check(another, "10-offline")
    })
  })

  it("pass axe from right to left, with other texts, fields of the page and its own colours", async () => {
    await withRig(
      async (rig, visitor) => {
        const tab = await visitor.open(rig.url)
        await tab.evaluate(`
          document.documentElement.dir = "rtl"
          document.documentElement.lang = "ar"
          const widget = document.querySelector("voice-agent")
          widget.style.setProperty("--voice-agent-radius", "4px")
          widget.innerHTML = '<label>الاسم <input name="name" required></label>'
          widget.strings = {
            "idle.title": "تحدث إلينا",
            "idle.text": "تحدث مع مساعدنا الصوتي هنا في متصفحك.",
            "idle.begin": "ابدأ",
            "waiting.title": "مكانك في الطابور",
            "waiting.ahead": { one: "شخص واحد أمامك.", two: "شخصان أمامك.", other: "{n} أشخاص أمامك." },
            "waiting.next": "أنت التالي.",
            "waiting.hint": "أبقِ هذه الصفحة مفتوحة.",
            "waiting.leave": "غادر الطابور",
            "waiting.notify": "أعلمني",
          }`)
        await check(tab, "rtl-1-idle")
        await tab.getByRole("textbox").fill("Ada")
        await rig.hold()
        await click(tab, "ابدأ")
        await screen(tab, "مكانك في الطابور")
        await tab.locator(".place", { hasText: /^(1|١)$/ }).waitFor()
        const [start, text] = await Promise.all([
          tab.locator("voice-agent .panel").boundingBox(),
          tab.locator("voice-agent .way:visible .icon").first().boundingBox(),
        ])
        // What is first stands at the right.
        const right = (box: typeof start) => (box === null ? 0 : box.x + box.width)
        expect(right(start) - right(text)).toBeLessThan(40)
        await check(tab, "rtl-5-waiting")
      },
      { locale: "ar" },
    )
  })

  it("do not animate if the system prefers reduced motion", async () => {
    await withRig(async (rig, visitor) => {
      await rig.hold()
      const tab = await visitor.open(rig.url)
      await click(tab, "Start a call")
      await screen(tab, "Your place in the queue")
      const moving = () => tab.evaluate("document.querySelector('voice-agent').shadowRoot.getAnimations().length")
      expect(await moving()).toBe(0)
      await tab.emulateMedia({ reducedMotion: "no-preference" })
      await eventually("the animation", async () => (await moving()) === 1)
    })
  })

  it("fade into each other where they are, and are gone for assistive technology at once", async () => {
    await withRig(
      async (rig, visitor) => {
        await rig.hold()
        const tab = await visitor.open(rig.url)
        await screen(tab, "Talk to us")
        // where the old title is in the turn in which the new one comes, what both look like half way, and whether it goes
        await tab.evaluate(`{
            window.fades = []
            const panel = document.querySelector("voice-agent").shadowRoot.querySelector(".panel")
            const titleOf = (screen) => screen.querySelector("h2")
            const box = (title) => {
              const { x, y } = title.getBoundingClientRect()
              return title.textContent + Math.round(x) + "," + Math.round(y)
            }
            const own = panel.querySelector(".screen")
            let before = box(titleOf(own))
            new MutationObserver((changes) => {
              if (!changes.some(({ addedNodes }) => addedNodes.length > 0)) return
              const old = panel.querySelector(".old")
              const fade = { stood: box(titleOf(old)) === before, inert: old.inert }
              const title = titleOf(own)
              before = box(title)
              window.fades.push(fade)
              setTimeout(() => (fade.half = [old, title].map((each) => Number(getComputedStyle(each).opacity))), 80)
              setTimeout(() => (fade.gone = !old.isConnected), 400)
            }).observe(panel, { childList: true })
          }`)
        await click(tab, "Start a call")
        await screen(tab, "Your place in the queue")
        await click(tab, "Leave the queue")
        await screen(tab, "Talk to us")
        await eventually("the fades are over", () =>
          tab.evaluate<boolean>("window.fades.length > 2 && window.fades.every(({ gone }) => gone)"),
        )
        const fades = await tab.evaluate<ReadonlyArray<{ half?: ReadonlyArray<number> }>>("window.fades")
        for (const fade of fades) expect(fade).toMatchObject({ stood: true, inert: true })
        const halves = fades.flatMap(({ half = [] }) => half)
        expect(halves.filter((opacity) => opacity > 0 && opacity < 1).length).toBeGreaterThan(0)
      },
      { reducedMotion: "no-preference" },
    )
  })

  it("pass axe on the page in plain JavaScript, from which calls work too", async () => {
    await withRig(async (rig, visitor) => {
      const tab = await visitor.open(`${rig.url}headless.html`)
      await check(tab, "headless")
      await click(tab, "Start a call")
      await tab.getByText("In a call. You'll hear what you say one second later.").waitFor()
      await tab.getByText("Hello. I repeat what you say.").waitFor()
      await eventually("the echo's sound", async () => (await tab.evaluate("heard.value")) !== 0)
      await click(tab, "Leave")
      await tab.getByText("Ended: hung-up.").waitFor()
    })
  })
})
