/**
 * Takes a picture of every state of the widget as it is built, as it is on pages of several kinds, into a folder outside the repository, to be
 * looked at one by one:
 *
 *     npm run build && node scripts/pictures/states.ts FOLDER [--on inline,dark,…] [STATE …]
 *
 * The states are the samples of the widget's preview (`web/widget/preview/samples.ts`), and the first screen as the gate says what a visitor
 * would find. Without names it takes all of them.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { Page } from "playwright-core"
import { SAMPLES } from "../../src/web/widget/preview/samples.ts"
import { type Program, startProgram, type Theme } from "./program.ts"

/** What a page is like. */
interface Setting {
  readonly width: number
  readonly height: number
  readonly theme?: Theme
  readonly floating?: boolean
  readonly lang?: string
  readonly forcedColors?: boolean
}

const FLOATING = { width: 760, height: 760, floating: true }
const SETTINGS: Readonly<Record<string, Setting>> = {
  inline: { width: 440, height: 700 },
  dark: { width: 440, height: 700, theme: "dark" },
  floating: FLOATING,
  "floating-dark": { ...FLOATING, theme: "dark" },
  phone: { width: 360, height: 720, floating: true },
  narrow: { width: 256, height: 760 },
  low: { width: 640, height: 400, floating: true },
  "low-inline": { width: 640, height: 400 },
  // a window of 1280 by 1024 pixels at 400 %
  zoomed: { width: 320, height: 256, floating: true },
  arabic: { width: 440, height: 700, lang: "ar" },
  german: { width: 360, height: 720, lang: "de" },
  forced: { width: 440, height: 700, forcedColors: true },
}

const HOUR = 3_600_000
const later = (millis: number): string => new Date(Date.now() + millis).toISOString()
/** What the gate answers while the first screen is shown. */
const FOUND: Readonly<Record<string, object>> = {
  idle: { state: "open", estimatedWaitSeconds: 0 },
  "idle-wait": { state: "open", estimatedWaitSeconds: 400 },
  "idle-closed": { state: "closed", opensAt: later(14 * HOUR) },
  "idle-closed-offers": {
    state: "closed",
    opensAt: later(72 * HOUR),
    offers: [
      { kind: "number", label: "Call +44 20 7946 0000", target: "tel:+442079460000" },
      { kind: "link", label: "Write to us", target: "https://shop.example/contact" },
    ],
  },
  "idle-closed-for-good": { state: "closed" },
  "idle-full": { state: "full" },
  "idle-paused": { state: "paused" },
  "idle-paused-until": { state: "paused", pausedUntil: later(HOUR) },
  "idle-draining": { state: "draining" },
  "idle-budget": { state: "budget_exhausted", resetsAt: later(5 * HOUR) },
}

/** What the page says of its agent, and what it switches on, for some states. */
const ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  idle: { "text-input": "on" },
  "idle-wait": { "agent-name": "Ada", heading: "Any questions?" },
  consent: {
    consent: "This call is recorded, so that we can improve our service.",
    "consent-link": "https://shop.example/privacy",
  },
  waiting: { notify: "", handoff: "", "picture-in-picture": "" },
  rating: { rating: "", "agent-name": "Ada" },
  call: { "agent-name": "Ada" },
}

const inFrame = (page: Page, selector: string) => page.frameLocator("iframe").locator(selector).first()

/** States that another one leads to: a sample, or the live widget. */
const STEPS: Readonly<Record<string, { readonly from: string; readonly step: (page: Page) => Promise<void> }>> = {
  consent: { from: "", step: (page) => inFrame(page, ".primary").click() },
  rating: {
    from: "",
    step: async (page) => {
      await inFrame(page, ".primary").click()
      await inFrame(page, ".hang-up").click()
      await inFrame(page, ".star").waitFor()
    },
  },
  "call-no-captions": { from: "call", step: (page) => inFrame(page, ".captions").click() },
  check: { from: "", step: (page) => inFrame(page, ".plain").click() },
  launcher: { from: "far", step: (page) => inFrame(page, ".minimize").click() },
  "launcher-turn": { from: "turn", step: (page) => inFrame(page, ".minimize").click() },
}

const ALL = [...Object.keys(FOUND), ...Object.keys(SAMPLES), ...Object.keys(STEPS)]

const { positionals, values } = parseArgs({ allowPositionals: true, options: { on: { type: "string" } } })
const [folder, ...names] = positionals
const settings = (values.on ?? Object.keys(SETTINGS).join()).split(",")
const unknown = [...names.filter((name) => !ALL.includes(name)), ...settings.filter((name) => !(name in SETTINGS))]
if (folder === undefined || unknown.length > 0) {
  console.error(
    `Expected a folder, of the pages ${Object.keys(SETTINGS).join(", ")}, and of the states ${ALL.join(", ")}; not ${unknown.join(", ")}.`,
  )
  process.exit(2)
}
mkdirSync(folder, { recursive: true })

/** How long a new state may need to be drawn: its fade, and the next tick of its times. In milliseconds. */
const DRAWN = 700

const takeAll = async (program: Program, name: string, setting: Setting): Promise<void> => {
  const { floating = false, forcedColors = false, height, lang = "en", theme = "light", width } = setting
  let found: object | undefined
  let count = 0
  const page = await program.openShop({
    theme,
    width,
    height,
    scale: 1,
    widget: "hidden",
    still: true,
    style:
      "body { overflow: hidden } iframe { position: fixed; inset: 0; inline-size: 100%; block-size: 100%; border: 0 }",
    text: `<script>
      addEventListener("message", () => { window.ready = true })
      window.tell = (message) => document.querySelector("iframe").contentWindow.postMessage({ "voicegate-preview": message }, "*")
      window.load = (query) => {
        window.ready = false
        document.querySelector("iframe")?.remove()
        document.body.append(Object.assign(document.createElement("iframe"), { src: "${program.gate}/widget/preview?" + query, allow: "microphone" }))
      }
    </script>`,
  })
  if (forcedColors) await page.emulateMedia({ forcedColors: "active" })
  await page.route("**/api/availability?*", (route) =>
    found === undefined
      ? route.continue()
      : route.fulfill({ json: found, headers: { "access-control-allow-origin": "*" } }),
  )
  const common = { lang, ...(floating ? { mode: "floating" } : {}) }
  for (const state of names.length > 0 ? names : ALL) {
    if (state.startsWith("launcher") && !floating) continue
    const from = STEPS[state]?.from ?? state
    found = FOUND[state] ?? FOUND.idle
    const attributes = { ...common, ...ATTRIBUTES[state] }
    await page.evaluate(`load("lang=${lang}")`)
    await page.waitForFunction("ready")
    const sample = from in FOUND ? "" : from
    await page.evaluate(`tell(${JSON.stringify({ attributes, state: sample })})`)
    // the preview opens it for a sample
    if (floating && sample === "") await inFrame(page, ".launcher").click()
    await page.waitForTimeout(DRAWN)
    await STEPS[state]?.step(page).catch((cause: unknown) => {
      throw new Error(`The step to “${state}” on the page “${name}” failed.`, { cause })
    })
    // what the pointer is over looks different
    await page.mouse.move(0, 0)
    if (state in STEPS) await page.waitForTimeout(DRAWN)
    await page.screenshot({ path: join(folder, `${state}-${name}.png`) })
    count++
  }
  await page.context().close()
  console.log(`${name}: ${count} pictures`)
}

await using program = await startProgram()
for (const name of settings) {
  const setting = SETTINGS[name]
  if (setting !== undefined) await takeAll(program, name, setting)
}
