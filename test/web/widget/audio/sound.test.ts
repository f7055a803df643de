/**
 * How late the sound of a call is: before, during and three seconds after each disturbance, in a real browser, on a quiet machine:
 *
 *     SOUND=1 npx vitest run test/web/widget/audio/sound.test.ts
 *
 * It takes three minutes and prints the figures. With `WIDGET` set to a directory of another build, that one is measured.
 */
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { launchBrowser } from "../../../support/browser.ts"
import { whenWebBuilt } from "../../rig.ts"
import { beginCall, type LateLine, type Measured, typical, worst } from "./sound-rig.ts"

let widget: string
let browser: Browser

beforeAll(async () => {
  const [built, launched] = await Promise.all([whenWebBuilt(), launchBrowser()])
  widget = process.env.WIDGET ?? built.widget
  browser = launched
})

afterAll(async () => {
  await browser?.close()
})

interface Disturbance {
  readonly name: string
  /** how long it takes, in seconds */
  readonly seconds: number
  readonly begin: (line: LateLine, page: Page) => void
  /** a platform that answers no pings */
  readonly silent?: true
}

/** Nothing gets through for a time; everything arrives after it. */
const stall = (millis: number) => (line: LateLine) => {
  const end = performance.now() + millis
  line.delay = () => Math.max(0, end - performance.now())
}

/** The page's thread is busy. */
const block = (millis: number) => (_line: LateLine, page: Page) => {
  // not awaited: the answer comes when the thread is free again
  void page.evaluate(`{ const end = performance.now() + ${millis}; while (performance.now() < end); }`)
}

const random = (seed: number) => () => {
  seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32
  return seed / 2 ** 32
}

const DISTURBANCES: ReadonlyArray<Disturbance> = [
  { name: "stall of 1 s", seconds: 1, begin: stall(1_000) },
  { name: "stall of 4 s", seconds: 4, begin: stall(4_000) },
  { name: "stall of 4 s, no pings", seconds: 4, begin: stall(4_000), silent: true },
  {
    name: "jitter up to 150 ms for 20 s",
    seconds: 20,
    begin: (line) => {
      const [next, end] = [random(3), performance.now() + 20_000]
      line.delay = () => (performance.now() < end ? 150 * next() : 0)
    },
  },
  {
    name: "loss: 250 ms every 2 s for 10 s",
    seconds: 10,
    begin: (line) => {
      const begin = performance.now()
      line.delay = () => {
        const since = performance.now() - begin
        return since < 10_000 ? Math.max(0, 250 - (since % 2_000)) : 0
      }
    },
  },
  { name: "page busy for 500 ms", seconds: 0.5, begin: block(500) },
  { name: "page busy for 3 s", seconds: 3, begin: block(3_000) },
]

/** When the disturbance begins, and how long after it is measured, in seconds of the call. */
const BEGIN = 6
const AFTER = 4

const millis = (seconds: number | undefined): string =>
  (seconds === undefined || Number.isNaN(seconds) ? "none" : String(Math.round(seconds * 1_000))).padStart(5)

// skipped in npm test, since a busy machine is late by itself: jitter.test.ts has the same disturbances on synthetic time
describe.skipIf(process.env.SOUND === undefined)("the sound of a call", { timeout: 150_000 }, () => {
  for (const { begin, name, seconds, silent } of DISTURBANCES) {
    it(`is as timely as before within 3 s after: ${name}`, async () => {
      const call = await beginCall(browser, widget, silent !== true)
      await eventually("the call has settled", () => call.time() > BEGIN)
      const from = call.time()
      begin(call.line, call.page)
      await eventually("the disturbance is over", () => call.time() > from + seconds + AFTER, 90_000)
      const curves = await call.end()
      const figures = (curve: ReadonlyArray<Measured>) => ({
        before: typical(curve, from - 2, from) ?? Number.NaN,
        during: typical(curve, from + 0.1, from + seconds) ?? Number.NaN,
        worst: worst(curve, from, from + seconds + 0.5),
        after: typical(curve, from + seconds + 3, from + seconds + AFTER) ?? Number.NaN,
      })
      const [heard, sent] = [figures(curves.heard), figures(curves.sent)]
      for (const [who, { after, before, during, worst }] of [
        ["agent ", heard],
        ["caller", sent],
      ] as const) {
        const row = `before ${millis(before)}, during ${millis(during)} (at most ${millis(worst)}), 3 s after ${millis(after)} ms`
        console.log(`      ${name.padEnd(32)} ${who} ${row}`)
        const curve = who === "caller" ? curves.sent : curves.heard
        const points = Array.from({ length: 2 * (1 + Math.ceil(seconds) + AFTER) }, (_, n) => {
          const at = from - 1 + n / 2
          return millis(typical(curve, at, at + 0.5))
        })
        console.log(`      every 0.5 s from 1 s before: ${points.join("")}`)
      }
      // The first half second is the network's; a loaded machine adds to it.
      expect(heard.after).toBeLessThan(heard.before + 0.35)
      expect(sent.after).toBeLessThan(sent.before + 0.35)
      // A busy page is not even noticed.
      if (name.startsWith("page busy")) {
        expect(heard.during).toBeLessThan(heard.before + 0.35)
        expect(sent.during).toBeLessThan(sent.before + 0.35)
      }
    })
  }
})
