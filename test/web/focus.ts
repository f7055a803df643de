/** The element that has the keyboard focus in a tab. A page moves it after it has drawn, so tests wait for it. */
import type { Page } from "playwright-core"
import { eventually } from "../harness/process.ts"

/** What assistive technology would read of the element with the focus: its label, or its text. */
const FOCUSED = `(() => {
  const outer = document.activeElement
  const element = outer?.shadowRoot?.activeElement ?? outer
  return element?.labels?.[0]?.textContent ?? element?.getAttribute("aria-label") ?? element?.textContent ?? ""
})()`

export const focused = async (tab: Page): Promise<string> => String(await tab.evaluate(FOCUSED))

/** Waits until the element of this name has the focus. */
export const focusOn = async (tab: Page, name: string): Promise<void> => {
  await eventually(`the focus on “${name}”`, async () => (await focused(tab)) === name)
}

/** Presses Tab until the element of this name has the focus. */
export const tabTo = async (tab: Page, name: string): Promise<void> => {
  for (let presses = 0; presses < 25 && (await focused(tab)) !== name; presses++) await tab.keyboard.press("Tab")
  await focusOn(tab, name)
}
