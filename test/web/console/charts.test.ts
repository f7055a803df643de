/** The charts of the console: what is seen of them, not what the page holds. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { noFacts } from "../../../src/ip-intel/facts.ts"
import { eventually } from "../../harness/process.ts"
import { heading, prepareVisits, shows, visiting } from "./visit.ts"

const legendOf = async (tab: Page, name: string): Promise<string> =>
  (await tab.getByRole("list", { name }).textContent()) ?? ""

interface Sight {
  readonly chart: string
  /** the class of what is seen and clicked in the middle of the chart; uPlot keeps a transparent `u-over` on its canvas */
  readonly middle: string
  /** texts of the notes that lie over it */
  readonly notes: ReadonlyArray<string>
  /** which of the series colours its canvas shows outside of the axes; a point of value 0 reaches a little below the plot */
  readonly drawn: ReadonlyArray<number>
  /** the canvas fills the chart, and has a pixel for each of the screen's */
  readonly fills: boolean
}

/** What a visitor sees of each chart: evaluated in the page, which has no script of ours. The axes are left and below. */
const sights = async (tab: Page): Promise<ReadonlyArray<Sight>> =>
  tab.evaluate(`[...document.querySelectorAll("[data-plot]")].map((plot) => {
    plot.scrollIntoView({ block: "center" })
    const box = plot.getBoundingClientRect()
    const middle = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
    const canvas = plot.querySelector("canvas")
    const shown = canvas.getBoundingClientRect()
    const scale = canvas.width / shown.width
    const [left, below] = [Math.round(40 * scale), Math.round(22 * scale)]
    const { data } = canvas.getContext("2d").getImageData(left, 0, canvas.width - left, canvas.height - below)
    const colors = new Set()
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 255) colors.add(data[i] + "," + data[i + 1] + "," + data[i + 2])
    }
    const series = getComputedStyle(plot)
    const drawn = [...Array(11).keys()].map((n) => n + 1).filter((n) => {
      const [red, green, blue] = series.getPropertyValue("--series-" + n).trim().match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16))
      return colors.has(red + "," + green + "," + blue)
    })
    return {
      chart: plot.dataset.plot,
      middle: middle === null ? "" : middle.className,
      notes: [...plot.querySelectorAll("p")].filter((note) => note.getClientRects().length > 0).map((note) => note.textContent),
      drawn,
      fills: shown.width === box.width && shown.height === box.height && scale === devicePixelRatio,
    }
  })`)

prepareVisits()

describe.concurrent("the console", () => {
  it(
    "draws its three charts at every width, light and dark, covers them only while they are empty, and says how many were not checked",
    visiting(
      1,
      1,
      async ({ gate, signIn }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        const [, ...empty] = await sights(tab)
        expect(empty).toMatchObject([
          { chart: "refusals", middle: "none", notes: ["No refusals in the last hour"], drawn: [] },
          { chart: "times", middle: "none", notes: ["No start calls in the last hour"], drawn: [] },
        ])
        const ticket = await gate.ticket()
        await gate.call(2)
        await gate.hangUp(1)
        await gate.start(ticket)
        await tab.getByRole("list", { name: "Refusals in the last hour" }).getByText("Queue full").waitFor()
        await eventually("mean times", async () => !/none/.test(await legendOf(tab, "Average times in the last hour")))
        // two callers, of whom one waited and was started later: nobody is counted twice
        expect(await legendOf(tab, "Admissions in the last hour")).toBe("Started at once1Queued1")
        expect(await legendOf(tab, "Average times in the last hour")).toMatch(/Call to start[\d.]+ s, 1 call$/)
        for (const colorScheme of ["light", "dark"] as const) {
          await tab.emulateMedia({ colorScheme })
          for (const width of [1280, 360, 1000]) {
            await tab.setViewportSize({ width, height: 900 })
            // drawn again at each size, and the wait fails with what is seen instead
            await eventually("the charts are drawn", async () => {
              expect(await sights(tab)).toEqual([
                { chart: "admissions", middle: "u-over", notes: [], drawn: [1, 2], fills: true },
                { chart: "refusals", middle: "u-over", notes: [], drawn: [3], fills: true },
                // both means are next to nothing, so that the one that is drawn last covers the other
                { chart: "times", middle: "u-over", notes: [], drawn: expect.arrayContaining([3]), fills: true },
              ])
              return true
            })
          }
        }
        await shows(tab, "unchecked", "4")
        await shows(tab, "unchecked-more", "4 allowed, 0 blocked in the last hour")
      },
      { facts: { ...noFacts, vpn: null }, queueLength: 1 },
    ),
  )
})
