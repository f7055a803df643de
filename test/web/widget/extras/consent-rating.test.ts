/** What a page switches on by an attribute: a consent before the call, and a rating after it. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { focusOn, tabTo } from "../../focus.ts"
import { announced, click, screen, see } from "../../visitor.ts"
import { useShop } from "../shop.ts"
import { check } from "./extras-check.ts"

const { open } = useShop()

/** Requests to the gate's session API, by any tab. */
const requests = (tab: Page): ReadonlyArray<string> => {
  const seen: Array<string> = []
  tab.context().on("request", (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith("/api/session")) seen.push(`${request.method()} ${pathname}`)
  })
  return seen
}

describe("consent", () => {
  const CONSENT = 'consent="The call is recorded." consent-link="/privacy"'

  it("is asked before the microphone and the gate, with a link to the policy, by keyboard and screen reader", async () => {
    const tab = await open(`<voice-agent ${CONSENT}></voice-agent>`)
    const seen = requests(tab)
    await tab.evaluate(`
      window.asked = 0
      const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      navigator.mediaDevices.getUserMedia = (wanted) => (window.asked++, ask(wanted))`)
    await tabTo(tab, "Start a call")
    await tab.keyboard.press("Enter")
    await screen(tab, "Before we start")
    await focusOn(tab, "Before we start")
    await announced(tab, "Before we start. The call is recorded.")
    const link = tab.getByRole("link", { name: "Privacy policy" })
    expect(await link.getAttribute("href")).toBe(new URL("/privacy", tab.url()).href)
    await check(tab, "consent")
    await click(tab, "Cancel")
    await screen(tab, "Talk to us")
    await click(tab, "Start a call")
    await screen(tab, "Before we start")
    expect(seen).toEqual([])
    expect(await tab.evaluate("window.asked")).toBe(0)
    await tabTo(tab, "Agree and continue")
    await tab.keyboard.press("Enter")
    await screen(tab, "In call")
    expect(await tab.evaluate("window.asked")).toBe(1)
    await click(tab, "Hang up")
    await click(tab, "Talk again")
    await screen(tab, "Before we start")
    // nor does a script of the page get around it
    await tab.evaluate('document.querySelector("voice-agent").agent.begin()')
    await screen(tab, "Before we start")
    expect(seen.length).toBe(1)
  })

  it("is asked where the page switches it on after the visitor has come near the button, which loads the screens", async () => {
    const tab = await open("<voice-agent></voice-agent>")
    await screen(tab, "Talk to us")
    const loaded = tab.waitForResponse(/widget\/screens\.js/)
    await tab.getByRole("button", { name: "Start a call" }).hover()
    await loaded
    // what the page has loaded is there as soon as it has asked for it once more
    await click(tab, "Check your microphone")
    await click(tab, "Done")
    await tab.evaluate(`document.querySelector("voice-agent").setAttribute("consent", "The call is recorded.")`)
    await click(tab, "Start a call")
    await screen(tab, "Before we start")
    await click(tab, "Agree and continue")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
  })

  it("is remembered if the page says so, until its text changes", async () => {
    const tab = await open(`<voice-agent ${CONSENT} consent-remember mode="floating"></voice-agent>`)
    const again = async (title: string): Promise<void> => {
      await click(tab, "Talk to us")
      await click(tab, "Start a call")
      await screen(tab, title)
    }
    await again("Before we start")
    await check(tab, "consent-floating")
    await click(tab, "Agree and continue")
    await screen(tab, "In call")
    await tab.reload()
    await click(tab, "Your call was interrupted")
    await click(tab, "Talk again")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    await tab.evaluate(
      'document.querySelector("voice-agent").setAttribute("consent", "The call is recorded and read.")',
    )
    await click(tab, "Talk again")
    await screen(tab, "Before we start")
  })

  for (const [attributes, first] of [
    ["", []],
    ["rating", []],
    [CONSENT, ["consent"]],
  ] as const) {
    it(`lets a page count the visits that begin, with the attributes “${attributes}”`, async () => {
      const tab = await open(`<voice-agent ${attributes}></voice-agent>`)
      await tab.evaluate(`
        window.states = []
        document.querySelector("voice-agent").addEventListener("statechange", ({ detail }) => window.states.push(detail.name))`)
      await click(tab, "Start a call")
      if (first.length > 0) await click(tab, "Agree and continue")
      await screen(tab, "In call")
      const states = await tab.evaluate<ReadonlyArray<string>>("window.states")
      expect(states.slice(0, states.indexOf("connecting"))).toEqual([...first, "checking-microphone"])
    })
  }

  it("is read from right to left", async () => {
    const tab = await open('<voice-agent consent="تُسجَّل المكالمة." consent-link="/privacy"></voice-agent>', {
      lang: "ar",
    })
    await tab.locator("voice-agent .primary").click()
    await screen(tab, "قبل أن نبدأ")
    await check(tab, "consent-rtl")
  })
})

describe("the rating", () => {
  it("is asked once after a call, by keyboard, told to the page and not to the gate", async () => {
    const tab = await open("<voice-agent rating></voice-agent>")
    await tab.evaluate(`
      window.ratings = []
      document.querySelector("voice-agent").addEventListener("rating", ({ detail }) => window.ratings.push(detail))`)
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await check(tab, "in-call")
    await tab.evaluate(`
      window.closings = 0
      const close = AudioContext.prototype.close
      // as Firefox: its state changes only when it is closed
      AudioContext.prototype.close = function () {
        window.closings++
        return new Promise((closed) => setTimeout(closed, 200)).then(() => close.call(this))
      }`)
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    // the sound of the call: a second time would be an error in the browser's console
    expect(await tab.evaluate("window.closings")).toBe(1)
    const stars = tab.getByRole("group", { name: "How was the call?" }).getByRole("button")
    expect(await stars.count()).toBe(5)
    // then what was said, and last the next call
    const order = await tab.evaluate<ReadonlyArray<number>>(`[".rating", ".kept", ".primary"].map((each) =>
      document.querySelector("voice-agent").shadowRoot.querySelector(".screen:not(.old) " + each).getBoundingClientRect().top)`)
    expect(order.toSorted((a, b) => a - b)).toEqual(order)
    await check(tab, "rating")
    const seen = requests(tab)
    await tabTo(tab, "4 out of 5")
    await tab.keyboard.press("Enter")
    await see(tab, "Thanks for your rating.")
    await tab.getByRole("button", { name: "4 out of 5", pressed: true }).waitFor()
    await check(tab, "rated")
    await tab.getByRole("button", { name: "1 out of 5" }).dispatchEvent("click")
    const ratings = await tab.evaluate<ReadonlyArray<{ rating: number; lasted: number }>>("window.ratings")
    expect(ratings.map(({ rating }) => rating)).toEqual([4])
    expect(ratings[0]?.lasted).toBeGreaterThan(0)
    expect(seen).toEqual([])
    // it stays when the texts change
    await tab.evaluate('document.documentElement.lang = "de"')
    await tab.getByRole("button", { name: "4 von 5", pressed: true }).waitFor()
    await check(tab, "rated-de")
    await click(tab, "Neues Gespräch")
    await screen(tab, "Im Gespräch")
    await click(tab, "Auflegen")
    await tab.getByRole("button", { name: "4 von 5", pressed: false }).waitFor()
  })

  it("is not asked where there was no call, or the page does not want it", async () => {
    const tab = await open("<voice-agent></voice-agent>")
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    expect(await tab.getByText("How was the call?").count()).toBe(0)
  })

  it("is read from right to left", async () => {
    const tab = await open("<voice-agent rating></voice-agent>", { lang: "he" })
    await tab.evaluate('document.documentElement.dir = "rtl"')
    await tab.locator("voice-agent .primary").click()
    await tab.locator("voice-agent .hang-up").click()
    await tab.getByRole("button", { name: "4 מתוך 5" }).click()
    await check(tab, "rating-rtl")
  })
})
