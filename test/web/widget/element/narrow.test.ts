/** The widget in a narrow column, and in low windows: everything is inside of its card, and nothing lies over anything else. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { click, screen } from "../../visitor.ts"
import { shots } from "../extras/extras-check.ts"
import { useShop } from "../shop.ts"

const { open } = useShop()

/** What a visitor can use, and what it lies over; names what leaves the card, or covers or is covered by another. */
const wrong = (tab: Page): Promise<ReadonlyArray<string>> =>
  tab.evaluate<ReadonlyArray<string>>(`{
    const root = document.querySelector("voice-agent").shadowRoot
    const card = root.querySelector(".panel").getBoundingClientRect()
    const shown = [...root.querySelectorAll("button, input, h2, .orb, .mood, .timer")].filter((each) => each.checkVisibility())
    const boxes = shown.map((each) => ({ name: each.ariaLabel || each.className + " " + each.textContent, box: each.getBoundingClientRect() }))
    const outside = boxes.filter(({ box }) => box.left < card.left || box.right > card.right).map(({ name }) => name + " leaves the card")
    const covering = boxes.flatMap(({ name, box }, index) =>
      boxes.slice(index + 1).filter(({ box: other }) =>
        Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1 &&
        Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 1
      ).map((other) => name + " lies over " + other.name))
    ;[...outside, ...covering]
  }`)

const look = async (tab: Page, name: string): Promise<void> => {
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme })
    if (shots !== undefined)
      await tab.locator("voice-agent .panel").screenshot({ path: `${shots}/narrow-${name}-${colorScheme}.png` })
  }
  expect(await wrong(tab), name).toEqual([])
}

describe("the widget in a narrow column", () => {
  for (const width of [208, 224, 240]) {
    it(`has all of a call and of its end side by side, ${width} pixels wide`, async () => {
      const styles = `voice-agent { width: ${width}px }`
      const tab = await open("<voice-agent rating text-input></voice-agent>", { styles })
      await look(tab, `${width}-idle`)
      await click(tab, "Start a call")
      await screen(tab, "In call")
      await tab.locator("voice-agent .messages li").first().waitFor()
      await look(tab, `${width}-call`)
      await tab.evaluate('document.querySelector("voice-agent").lang = "de"')
      await screen(tab, "Im Gespräch")
      await look(tab, `${width}-call-de`)
      await click(tab, "Auflegen")
      await screen(tab, "Anruf beendet")
      await look(tab, `${width}-ended`)
    })
  }
})

describe("the floating widget in a low window", () => {
  for (const [width, height] of [
    [640, 300],
    [360, 320],
    [320, 256],
  ] as const) {
    it(`shows the text field and the buttons of a call without scrolling, ${width} by ${height}`, async () => {
      const tab = await open('<voice-agent mode="floating" open text-input></voice-agent>', {
        browsing: { viewport: { width, height } },
      })
      await click(tab, "Start a call")
      await screen(tab, "In call")
      await tab.locator("voice-agent .messages li").first().waitFor()
      if (shots !== undefined) await tab.screenshot({ path: `${shots}/low-${width}-${height}.png` })
      const field = tab.getByRole("textbox", { name: "Message" })
      const edges = async (of: typeof field) => {
        const box = await of.boundingBox()
        return { top: box?.y ?? -1, bottom: (box?.y ?? 0) + (box?.height ?? 0) }
      }
      const hangUp = tab.getByRole("button", { name: "Hang up" })
      await eventually("all is in the window", async () => (await edges(hangUp)).bottom <= height)
      expect((await edges(field)).top).toBeGreaterThanOrEqual(0)
      expect((await edges(field)).bottom).toBeLessThanOrEqual((await edges(hangUp)).top)
      // a click of Playwright's reaches what is on top
      await field.click({ trial: true })
      await hangUp.click({ trial: true })
    })
  }
})
