/**
 * How one screen of the floating widget gives way to the next, frame by frame: the panel's edge at its corner stands still, and so do all of
 * the old screen and the title of the new one. In a real browser.
 */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { click, screen } from "../../visitor.ts"
import { useShop } from "../shop.ts"

const { open, widget } = useShop()

/** Notes in `wrong` what has moved from one frame to the next while a screen fades, in `edges` where the panel ends, and counts the fades. */
const WATCH = `{
  const panel = document.querySelector("voice-agent").shadowRoot.querySelector(".panel")
  const content = panel.querySelector(".screen")
  Object.assign(window, { wrong: [], edges: { top: new Set(), bottom: new Set() }, fades: 0, halves: 0 })
  const nameOf = (each) => each.localName + " " + each.textContent
  /** what is read, and where; the mood goes to its place beside the orb when the first message comes */
  const read = () => new Map([...panel.querySelectorAll(".screen :is(h2, p:not(.mood), button, a)")]
    .filter((each) => each.checkVisibility() && each.closest(".unseen") === null)
    .map((each) => [each, { name: nameOf(each), box: each.getBoundingClientRect() }]))
  let [before, faded] = [read(), undefined]
  const frame = () => {
    const old = panel.querySelector(".old") ?? undefined
    const now = read()
    for (const edge of ["top", "bottom"]) edges[edge].add(panel.getBoundingClientRect()[edge])
    if (old !== undefined || faded !== undefined)
      for (const [each, { box, name }] of now) {
        const last = before.get(each)?.box
        // the panel stands at a whole pixel, whatever its height
        if (last && (old?.contains(each) || each.matches("h2")) && Math.hypot(last.x - box.x, last.y - box.y) > 1)
          wrong.push(name + (old?.contains(each) ? ", old," : "") + " from " + [last.x, last.y] + " to " + [box.x, box.y])
      }
    if (old !== undefined && old !== faded) fades++
    const opacity = old && Number(getComputedStyle(old).opacity)
    if (opacity > 0.1 && opacity < 0.9) halves++
    ;[before, faded] = [now, old]
    requestAnimationFrame(frame)
  }
  frame()
}`

interface Watched {
  readonly wrong: ReadonlyArray<string>
  /** how far the edges of the panel have moved (px) */
  readonly top: number
  readonly bottom: number
  readonly fades: number
}

const fadesAreOver = (tab: Page) =>
  eventually("the last fade is over", () =>
    tab.evaluate<boolean>('document.querySelector("voice-agent").shadowRoot.querySelector(".old") === null'),
  )

const watched = async (tab: Page): Promise<Watched> => {
  await fadesAreOver(tab)
  return tab.evaluate<Watched>(`(() => {
    const moved = (seen) => Math.max(...seen) - Math.min(...seen)
    return { wrong, fades, top: moved(edges.top), bottom: moved(edges.bottom) }
  })()`)
}

describe("a screen of the floating widget", () => {
  for (const [corner, edge] of [
    ["bottom-right", "bottom"],
    ["top-left", "top"],
  ] as const) {
    it(`fades into the next one while nothing of both moves (${corner})`, async () => {
      const tab = await open(`<voice-agent mode="floating" corner="${corner}" open></voice-agent>`, {
        browsing: { reducedMotion: "no-preference" },
      })
      const hangUp = await widget.rig.hold()
      await screen(tab, "Talk to us")
      await tab.evaluate(WATCH)
      await click(tab, "Start a call")
      await screen(tab, "Your place in the queue")
      hangUp()
      await screen(tab, "Your turn")
      await click(tab, "Start the call")
      await screen(tab, "In call")
      await tab.locator("voice-agent .messages li").first().waitFor()
      await click(tab, "Hang up")
      await screen(tab, "Call ended")
      const { fades, wrong, ...edges } = await watched(tab)
      expect(wrong).toEqual([])
      expect(fades).toBeGreaterThanOrEqual(4)
      // some were seen while they went on
      expect(await tab.evaluate<number>("halves")).toBeGreaterThan(0)
      // whatever the height, less than a pixel; the other edge goes where the next screen needs it
      expect(edges[edge]).toBeLessThanOrEqual(1)
      expect(Math.max(edges.top, edges.bottom)).toBeGreaterThan(10)
    })
  }

  it("that was scrolled fades where it was, and the next one is read from its top", async () => {
    const tab = await open('<voice-agent mode="floating" open></voice-agent>', {
      browsing: { reducedMotion: "no-preference", viewport: { width: 640, height: 240 } },
    })
    await widget.rig.hold()
    await click(tab, "Start a call")
    await screen(tab, "Your place in the queue")
    const content = tab.locator("voice-agent .screen:not(.old)")
    await eventually("the screen is scrolled", () =>
      content.evaluate((each) => {
        each.scrollTop = 1_000
        return each.scrollTop > 40
      }),
    )
    await fadesAreOver(tab)
    await tab.evaluate(WATCH)
    await click(tab, "Leave the queue")
    await screen(tab, "Talk to us")
    const { fades, wrong } = await watched(tab)
    expect(wrong).toEqual([])
    expect(fades).toBe(1)
    expect(await content.evaluate((each) => each.scrollTop)).toBe(0)
  })
})
