/** Opens a page as one of several kinds of browser shows it, takes pictures of it, asks axe about it, and walks through it by keyboard. */
import { join } from "node:path"
import axe from "axe-core"
import type { Browser, Page } from "playwright-core"
import { LETTERS, type Theme } from "./program.ts"

export interface Setting {
  readonly width: number
  readonly height: number
  readonly theme?: Theme
  readonly forcedColors?: boolean
}

/** A longer page is taken in pieces of this height, because a picture that is made smaller shows less. */
const PIECE = 1_500

/** Opens a page, and takes pictures of it into a folder: of its window, or of its whole length. */
export const open = async (
  folder: string,
  browser: Browser,
  name: string,
  { forcedColors = false, height, theme = "light", width }: Setting,
  address: string,
) => {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    forcedColors: forcedColors ? "active" : "none",
    reducedMotion: "reduce",
    bypassCSP: true,
    hasTouch: width < 500,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(address)
  const letters = () => page.addStyleTag({ content: LETTERS })
  await letters()
  /** Says what axe finds wrong, and how much wider than its window the page is. */
  const check = async (what: string): Promise<void> => {
    await page.evaluate(axe.source)
    const found = await page.evaluate<ReadonlyArray<string>>(`(async () => {
      // it does not know what colours are drawn where a browser replaces them
      const rules = { "color-contrast": { enabled: ${!forcedColors} } }
      const { violations } = await axe.run(document, { iframes: false, rules })
      const wider = document.documentElement.scrollWidth - innerWidth
      return [
        ...violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")),
        ...(wider > 0 ? [wider + " px wider than its window"] : []),
      ]
    })()`)
    for (const each of found) console.log(`${what}, ${name}: ${each}`)
  }
  const shoot = async (what: string, fullPage = false): Promise<void> => {
    await page.waitForTimeout(800)
    await check(what)
    // what stays in view while the page scrolls is where the page begins
    if (fullPage) await page.evaluate("scrollTo(0, 0)")
    const whole = await page.evaluate<number>("document.documentElement.scrollHeight")
    if (!fullPage || whole <= PIECE) {
      await page.screenshot({ path: join(folder, `${what}-${name}.png`), fullPage })
      return
    }
    for (let y = 0; y < whole; y += PIECE) {
      const clip = { x: 0, y, width, height: Math.min(PIECE, whole - y) }
      await page.screenshot({ path: join(folder, `${what}-${name}-${1 + y / PIECE}.png`), fullPage, clip })
    }
  }
  return { context, letters, page, shoot }
}
export type Opened = Awaited<ReturnType<typeof open>>

/** What has the focus: its name, where it is, and whether it can be seen that it has it. */
const walk = (page: Page) =>
  page.evaluate<string>(`(() => {
    const { activeElement: at } = document
    if (at === document.body) return ""
    const { left, top, width, height } = at.getBoundingClientRect()
    const name = at.getAttribute("aria-label") ?? (at.labels?.[0] ?? at).textContent.trim().slice(0, 60)
    const drawn = [at, at.parentElement].some((each) => getComputedStyle(each).outlineStyle !== "none")
    const covered = !at.contains(document.elementFromPoint(left + width / 2, top + height / 2)) && at.type !== "range"
    const seen = (drawn ? "" : " NOT DRAWN") + (covered ? " COVERED" : "")
    return [at.localName, name, [left, top, width, height].map(Math.round).join(" ") + seen].join(" | ")
  })()`)

/** Tabs through the page to its end, or so many steps. */
export const tabThrough = async ({ page }: Pick<Opened, "page">, steps: number): Promise<void> => {
  console.log(`${page.url()} by keyboard`)
  for (let step = 1; step <= steps; step++) {
    await page.keyboard.press("Tab")
    const at = await walk(page)
    if (at === "") return
    console.log(`  ${step}: ${at}`)
  }
}
