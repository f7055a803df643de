/** The charts of the console: what is seen of them, not what the page holds. */
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { noFacts } from "../../../src/ip-intel/facts.ts"
import { makeHistory } from "../../../src/operator/history.ts"
import type { Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { heading, prepareVisits, visiting } from "./visit.ts"

/** What an instance has counted in this minute and the one before, of the campaign without a name. */
const counted = (store: Store["Service"], now: number): Promise<void> => {
  const history = makeHistory(store)
  const part = (number: number, at: number, counts: Readonly<Record<string, number>>) =>
    history.add("another", { number, at, campaigns: [{ campaign: "default", counts }] })
  return Effect.runPromise(
    Effect.andThen(
      part(1, now - 60_000, {
        ...{ samples: 30, waiting: 90, held: 30, "max.waiting": 5, "max.held": 1, "max.slots": 1 },
        ...{ "over.ended": 3, "over.left": 2, "refused.queue_full": 4, "wait.12": 2, "wait.60": 2 },
      }),
      part(2, now, { samples: 5, "max.waiting": 2, "max.held": 1, "max.slots": 1, "over.missed": 1, "wait.3": 1 }),
    ),
  )
}

const legendOf = async (tab: Page, name: string): Promise<string> =>
  (await tab.getByRole("list", { name: `${name}: values` }).textContent()) ?? ""

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
    "draws the history at every width, light and dark, says the values of a moment to pointer and keyboard, and who was not checked",
    visiting(
      1,
      1,
      async ({ gate, signIn }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        await tab.getByText("No waiting caller was called in the last hour").waitFor()
        const now = await Effect.runPromise(gate.store.now)
        await counted(gate.store, Math.floor(now / 60_000) * 60_000)
        await gate.call(3)
        await tab.keyboard.press("r")
        await eventually("the values of the hour", async () =>
          /Missed their turn1/.test(await legendOf(tab, "Outcomes")),
        )
        expect(await legendOf(tab, "Queue and slots")).toMatch(/^Waitingat most 5Slots in useat most 1Slotsat most 1$/)
        expect(await legendOf(tab, "Wait until called")).toMatch(/^Median[\d.]+ s95 % within5\d s$/)
        expect(await legendOf(tab, "Refusals")).toMatch(/^Queue full[46]$/)
        for (const colorScheme of ["light", "dark"] as const) {
          await tab.emulateMedia({ colorScheme })
          for (const width of [1280, 360, 1000]) {
            await tab.setViewportSize({ width, height: 900 })
            // drawn again at each size, and the wait fails with what is seen instead
            await eventually("the charts are drawn", async () => {
              expect(await sights(tab)).toEqual([
                { chart: "load", middle: "u-over", notes: [], drawn: expect.arrayContaining([1, 2]), fills: true },
                { chart: "waits", middle: "u-over", notes: [], drawn: expect.arrayContaining([3]), fills: true },
                { chart: "outcomes", middle: "u-over", notes: [], drawn: expect.arrayContaining([1, 2]), fills: true },
                { chart: "refusals", middle: "u-over", notes: [], drawn: [3], fills: true },
              ])
              return true
            })
          }
        }
        // by keyboard: the last minute, and the one before
        const moment = tab.getByRole("slider", { name: "Outcomes: moment" })
        await moment.focus()
        await eventually("the last minute", async () => /Missed their turn1/.test(await legendOf(tab, "Outcomes")))
        await tab.keyboard.press("ArrowLeft")
        await eventually("the minute before", async () =>
          /^Completed3Left the queue2/.test(await legendOf(tab, "Outcomes")),
        )
        expect(await moment.getAttribute("aria-valuetext")).toMatch(/^\d\d:\d\d: Completed 3, Left the queue 2, /)
        // all charts show the same moment
        expect(await legendOf(tab, "Queue and slots")).toBe("Waiting5Slots in use1Slots1")
        await moment.blur()
        expect(await legendOf(tab, "Queue and slots")).toMatch(/^Waitingat most 5/)
        // by pointer: nothing was reported half an hour ago
        await tab.locator('[data-plot="load"] .u-over').hover()
        await eventually(
          "half an hour ago",
          async () => (await legendOf(tab, "Queue and slots")) === "Waiting–Slots in use–Slots–",
        )
        await tab.getByText("4 addresses not checked: 4 allowed, 0 blocked.").waitFor()
      },
      { facts: { ...noFacts, vpn: null }, queueLength: 1 },
    ),
  )
})
