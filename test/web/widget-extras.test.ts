/**
 * What a page switches on by an attribute: consent, rating, picture-in-picture, and continuing on another device. With `SHOTS` set to a
 * directory, screenshots go there.
 */
import axe from "axe-core"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../scripts/harness/process.ts"
import { launchBrowser } from "../support/browser.ts"
import { focusOn, tabTo } from "./focus.ts"
import { useShop, violations } from "./shop.ts"
import { announced, click, place, screen, see, visit } from "./visitor.ts"

const { open, widget } = useShop()

const shots = process.env.SHOTS

/** Nothing that axe finds in light and dark, and nothing wider than a phone. */
const check = async (tab: Page, name: string): Promise<void> => {
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme })
    expect(await violations(tab), `${name}, ${colorScheme}`).toEqual([])
    if (shots !== undefined)
      await tab.locator("voice-agent .panel").screenshot({ path: `${shots}/${name}-${colorScheme}.png` })
  }
  await tab.emulateMedia({ colorScheme: "light" })
  const size = tab.viewportSize()
  await tab.setViewportSize({ width: 360, height: 780 })
  expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth"), name).toBeLessThanOrEqual(0)
  if (shots !== undefined) await tab.locator("voice-agent .panel").screenshot({ path: `${shots}/${name}-360.png` })
  if (size !== null) await tab.setViewportSize(size)
}

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
    await tabTo(tab, "Start talking")
    await tab.keyboard.press("Enter")
    await screen(tab, "Before we start")
    await focusOn(tab, "Before we start")
    await announced(tab, "Before we start. The call is recorded.")
    const link = tab.getByRole("link", { name: "Privacy policy" })
    expect(await link.getAttribute("href")).toBe(new URL("/privacy", tab.url()).href)
    await check(tab, "consent")
    await click(tab, "Cancel")
    await screen(tab, "Talk to us")
    await click(tab, "Start talking")
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

  it("is remembered if the page says so, until its text changes", async () => {
    const tab = await open(`<voice-agent ${CONSENT} consent-remember mode="floating"></voice-agent>`)
    const again = async (title: string): Promise<void> => {
      await click(tab, "Talk to us")
      await click(tab, "Start talking")
      await screen(tab, title)
    }
    await again("Before we start")
    await check(tab, "consent-floating")
    await click(tab, "Agree and continue")
    await screen(tab, "In call")
    await tab.reload()
    await click(tab, "Call ended")
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
    await click(tab, "Start talking")
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
    await click(tab, "Start talking")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    expect(await tab.getByText("How was the call?").count()).toBe(0)
  })

  it("is read from right to left", async () => {
    const tab = await open("<voice-agent rating></voice-agent>", { lang: "he" })
    await tab.evaluate('document.documentElement.dir = "rtl"')
    await tab.locator("voice-agent .primary").click()
    await tab.locator("voice-agent .strong").click()
    await tab.getByRole("button", { name: "4 מתוך 5" }).click()
    await check(tab, "rating-rtl")
  })
})

describe("a small window", () => {
  it("shows the place and starts the call at the turn, and closes with it", async () => {
    const tab = await open("<voice-agent picture-in-picture></voice-agent>")
    const hangUp = await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    await check(tab, "waiting-float")
    const [small] = await Promise.all([tab.context().waitForEvent("page"), click(tab, "Keep in a small window")])
    await small.getByRole("heading", { name: "Your place in the queue" }).waitFor()
    await small.getByText("You’re next.", { exact: false }).waitFor()
    expect(await tab.getByRole("button", { name: "Keep in a small window" }).count()).toBe(0)
    await small.evaluate(axe.source)
    expect(await violations(small)).toEqual([])
    if (shots !== undefined) await small.setViewportSize({ width: 320, height: 220 })
    if (shots !== undefined) await small.screenshot({ path: `${shots}/float.png` })
    hangUp()
    await small.getByRole("heading", { name: "Your turn" }).waitFor()
    if (shots !== undefined) await small.setViewportSize({ width: 320, height: 220 })
    if (shots !== undefined) await small.screenshot({ path: `${shots}/float-turn.png` })
    const closed = small.waitForEvent("close")
    await small.getByRole("button", { name: "Start the call" }).click()
    await closed
    await screen(tab, "In call")
  })

  it("opens once at a double click, and its button comes back in another language", async () => {
    const tab = await open("<voice-agent picture-in-picture></voice-agent>")
    await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    await tab.evaluate(`
      window.opened = 0
      const pip = window.documentPictureInPicture
      const open = pip.requestWindow.bind(pip)
      pip.requestWindow = (size) => (window.opened++, open(size))`)
    const button = tab.getByRole("button", { name: "Keep in a small window" })
    const [small] = await Promise.all([tab.context().waitForEvent("page"), button.dblclick()])
    expect(await tab.evaluate("window.opened")).toBe(1)
    await tab.evaluate('document.documentElement.lang = "de"')
    await tab.getByText("Ihr Platz", { exact: false }).first().waitFor()
    await small.close()
    await tab.getByRole("button", { name: "In kleinem Fenster" }).waitFor()
  })

  it("has the language and the direction of the widget, also when they change, and leaves the choice of languages to the page", async () => {
    const tab = await open('<voice-agent picture-in-picture languages="en de ar"></voice-agent>')
    const hangUp = await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    const choice = tab.getByRole("combobox", { name: "Language" })
    await choice.selectOption("ar")
    const button = tab.getByRole("button", { name: "عرض في نافذة صغيرة" })
    const [small] = await Promise.all([tab.context().waitForEvent("page"), button.click()])
    const shown = () =>
      small.evaluate("[document.documentElement.lang, getComputedStyle(document.querySelector('h1')).direction]")
    await small.getByRole("heading", { name: "مكانك في قائمة الانتظار" }).waitFor()
    expect(await shown()).toEqual(["ar", "rtl"])
    expect(await small.title()).toBe("المساعد الصوتي")
    if (shots !== undefined) {
      await small.setViewportSize({ width: 320, height: 220 })
      await small.screenshot({ path: `${shots}/float-rtl.png` })
      await tab.emulateMedia({ colorScheme: "dark" })
      await small.emulateMedia({ colorScheme: "dark" })
      await small.screenshot({ path: `${shots}/float-rtl-dark.png` })
      await tab.emulateMedia({ colorScheme: "light" })
    }
    const own = tab.getByRole("combobox", { name: "اللغة" })
    expect(await small.getByRole("combobox").count()).toBe(0)
    await own.selectOption("de")
    await small.getByRole("heading", { name: "Ihr Platz in der Warteschlange" }).waitFor()
    expect(await shown()).toEqual(["de", "ltr"])
    hangUp()
    await small.getByRole("button", { name: "Anruf starten" }).waitFor()
    expect(await small.title()).toBe("Sprachassistent")
  })

  it("is not offered where the browser has none", async () => {
    const tab = await open("<voice-agent picture-in-picture></voice-agent>")
    await tab.evaluate("delete window.documentPictureInPicture")
    await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    await see(tab, /^Keep this tab open/)
    expect(await tab.getByRole("button", { name: "Keep in a small window" }).count()).toBe(0)
  })
})

describe("continuing on another device", () => {
  /** Opens the link that a tab offers in a browser of its own. */
  const elsewhere = async <A>(link: string, then: (other: Page) => Promise<A>): Promise<A> => {
    const browser = await launchBrowser()
    try {
      return await then(await (await visit(browser)).open(link))
    } finally {
      await browser.close()
    }
  }
  const offered = async (tab: Page): Promise<string> => {
    await click(tab, "Continue on another device")
    return tab.getByRole("textbox", { name: "Continue on another device" }).inputValue()
  }

  it("waits on both by a link whose ticket no server sees, and the call is where it is started", async () => {
    const tab = await open("<voice-agent handoff></voice-agent>", {
      browsing: { permissions: ["microphone", "clipboard-read", "clipboard-write"] },
    })
    const hangUp = await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    const link = await offered(tab)
    await click(tab, "Copy link")
    await see(tab, "Copied")
    expect(await tab.evaluate("navigator.clipboard.readText()")).toBe(link)
    expect(link.startsWith(`${tab.url()}#voicegate=`)).toBe(true)
    await check(tab, "handoff")
    await elsewhere(link, async (other) => {
      await screen(other, "Continue here")
      // the address no longer has the ticket
      expect(other.url()).toBe(tab.url())
      // looking at the link takes nothing away
      await place(tab, 1)
      await click(other, "Continue here")
      await place(other, 1)
      await other.reload()
      await place(other, 1)
      // both wait at the same place
      const behind = await widget.open()
      await click(behind, "Start talking")
      await place(behind, 2)
      hangUp()
      await screen(other, "Your turn")
      await screen(tab, "Your turn")
      await click(other, "Start the call")
      await screen(other, "In call")
      await screen(tab, "Open elsewhere")
      await see(tab, "You’re continuing in another window or device.")
      await check(tab, "elsewhere")
      // a page that has gone ends nothing
      await tab.reload()
      await screen(tab, "Talk to us")
      await other.waitForTimeout(1_000)
      await screen(other, "In call")
      await click(other, "Hang up")
      await screen(other, "Call ended")
    })
  })

  it("lets exactly one start when both have the turn and start at once", async () => {
    const tab = await open("<voice-agent handoff></voice-agent>")
    const hangUp = await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    const link = await offered(tab)
    hangUp()
    await screen(tab, "Your turn")
    await elsewhere(link, async (other) => {
      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      await tab.route("**/start", (route) => held.then(() => route.continue()))
      await click(tab, "Start the call")
      await click(other, "Continue here")
      await screen(other, "Your turn")
      release()
      await click(other, "Start the call")
      const names = async (): Promise<ReadonlyArray<string | null>> => [
        await tab.locator("voice-agent").getAttribute("state"),
        await other.locator("voice-agent").getAttribute("state"),
      ]
      await eventually("one in a call", async () => (await names()).includes("in-call"))
      await other.waitForTimeout(1_500)
      expect((await names()).toSorted()).toEqual(["ended", "in-call"])
    })
  })

  it("is known to a page that was loaded again since: it takes no call that the other device started, and ends none", async () => {
    const tab = await open("<voice-agent handoff auto-start></voice-agent>")
    const hangUp = await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    const link = await offered(tab)
    await tab.reload()
    await place(tab, 1)
    await elsewhere(link, async (other) => {
      await click(other, "Continue here")
      await place(other, 1)
      hangUp()
      // neither starts by itself: a tap says where the call is
      await screen(tab, "Your turn")
      await click(other, "Start the call")
      await screen(other, "In call")
      await screen(tab, "Open elsewhere")
      await tab.reload()
      await screen(tab, "Talk to us")
      await other.waitForTimeout(1_000)
      await screen(other, "In call")
    })
  })

  it("is offered by a page that is open already when its tab opens the link: before a call, after one, and not during one", async () => {
    const tab = await open("<voice-agent handoff></voice-agent>")
    const hangUp = await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    const link = await offered(tab)
    const page = tab.url()
    await elsewhere(page, async (other) => {
      await screen(other, "Talk to us")
      // only the fragment changes: the page is not loaded again
      await other.evaluate("window.isSame = true")
      await other.goto(link)
      await screen(other, "Continue here")
      expect(await other.evaluate("[window.isSame, location.href]")).toEqual([true, page])
      await click(other, "Continue here")
      await place(other, 1)
      // its own link changes nothing, and does not stay in the address
      await other.goto(link)
      await eventually("the address without the ticket", () => other.url() === page)
      await place(other, 1)
      hangUp()
      await click(other, "Start the call")
      await screen(other, "In call")
      await screen(tab, "Open elsewhere")
      await click(tab, "Talk again")
      await place(tab, 1)
      const second = await offered(tab)
      expect(second).not.toBe(link)
      await other.goto(second)
      await other.waitForTimeout(500)
      await screen(other, "In call")
      await click(other, "Hang up")
      await screen(other, "Call ended")
      await other.goto(page)
      await other.goto(second)
      await screen(other, "Continue here")
      expect(other.url()).toBe(page)
    })
  })

  it("is not taken where the page does not offer it", async () => {
    const tab = await open("<voice-agent></voice-agent>")
    await tab.goto(`${tab.url()}#voicegate=.kW3-a_fX0y1Bq9dTzL5mNw`)
    await tab.reload()
    await screen(tab, "Talk to us")
  })

  it("says so when the place has expired, and takes a new one", async () => {
    const tab = await open("<voice-agent handoff></voice-agent>")
    await widget.rig.hold()
    await click(tab, "Start talking")
    await place(tab, 1)
    const link = await offered(tab)
    await click(tab, "Leave the queue")
    await screen(tab, "Talk to us")
    await elsewhere(link, async (other) => {
      await click(other, "Continue here")
      await see(other, /^Your earlier place expired/)
      await place(other, 1)
    })
  })
})
