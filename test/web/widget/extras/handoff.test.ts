/** Continuing on another device by a link, where a page switches it on. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { sharedBrowser } from "../../../support/browser.ts"
import { click, place, screen, see, visit } from "../../visitor.ts"
import { useShop } from "../shop.ts"
import { check } from "./extras-check.ts"

const { open, widget } = useShop()

describe("continuing on another device", () => {
  /** Opens the link that a tab offers as another visitor. */
  const elsewhere = async <A>(link: string, then: (other: Page) => Promise<A>): Promise<A> => {
    const { context, open: openTab } = await visit(await sharedBrowser())
    try {
      return await then(await openTab(link))
    } finally {
      await context.close()
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
    await click(tab, "Start a call")
    await place(tab, 1)
    const link = await offered(tab)
    await click(tab, "Copy link")
    await see(tab, "Copied")
    expect(await tab.evaluate("navigator.clipboard.readText()")).toBe(link)
    expect(link.startsWith(`${tab.url()}#voicegate=`)).toBe(true)
    await tab.getByRole("img", { name: "Continue on another device" }).waitFor()
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
      await click(behind, "Start a call")
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
    await click(tab, "Start a call")
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
      const onlyOne = async () => (await names()).toSorted().join() === "ended,in-call"
      await eventually("one in a call, and the other told", onlyOne)
      await other.waitForTimeout(1_500)
      expect(await onlyOne()).toBe(true)
    })
  })

  it("is known to a page that was loaded again since: it takes no call that the other device started, and ends none", async () => {
    const tab = await open("<voice-agent handoff auto-start></voice-agent>")
    const hangUp = await widget.rig.hold()
    await click(tab, "Start a call")
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
    await click(tab, "Start a call")
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
    await click(tab, "Start a call")
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
