/** How far a page's layout has shifted since it was opened (CLS, web.dev). */
import type { Page } from "playwright-core"

export interface Shifts {
  readonly sum: number
  /** each shift and what has moved, to be read when there are too many */
  readonly text: string
}

/** What Chromium has seen since the page was opened, without what followed an input. */
export const layoutShifts = async (tab: Page): Promise<Shifts> => {
  const shifts: unknown = await tab.evaluate(`new Promise((resolve) => {
    const shifts = []
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, sources, value } of list.getEntries())
        if (!hadRecentInput) shifts.push({ value, moved: sources.map(({ node }) => node?.nodeName + "." + node?.className) })
    }).observe({ type: "layout-shift", buffered: true })
    // the page's timers may be the test's; frames are not: entries of what was drawn come with the next ones
    const frames = (left) => left === 0 ? resolve(shifts) : requestAnimationFrame(() => frames(left - 1))
    frames(20)
  })`)
  const sum = Array.isArray(shifts) ? shifts.reduce((total: number, { value }) => total + value, 0) : Number.NaN
  return { sum, text: JSON.stringify(shifts) }
}
