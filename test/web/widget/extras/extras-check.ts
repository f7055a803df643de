/** What holds for every screen of an extra. With `SHOTS` set to a directory, screenshots go there. */
import type { Page } from "playwright-core"
import { expect } from "vitest"
import { violations } from "../shop.ts"

export const shots = process.env.SHOTS

/** Nothing that axe finds in light and dark, and nothing wider than a phone. */
export const check = async (tab: Page, name: string): Promise<void> => {
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
