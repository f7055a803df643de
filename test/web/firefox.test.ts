/**
 * The demo in Firefox: the built program, its widget, its console and its platform's dashboard. Skipped where Firefox is not installed
 * (Debian's `firefox-esr`, or the path that `FIREFOX` names).
 */
import type { Page } from "puppeteer-core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { program, whenBuilt } from "../harness/build.ts"
import { type Child, eventually, start } from "../harness/process.ts"
import { type Firefox, firefox, launchFirefox, pulseaudio } from "../support/firefox.ts"
import { holdSlot } from "../support/other-caller.ts"

const skipped = firefox === undefined ? " (skipped: no Firefox is installed; FIREFOX may name one)" : ""

const silent =
  pulseaudio === undefined ? " (skipped: needs a sound server, Debian's pulseaudio; PULSEAUDIO may name one)" : ""

/** Notes every AudioContext of a page; to be run before it. */
const noteSound = `
  window.sounds = []
  window.AudioContext = class extends AudioContext {
    constructor(...options) {
      super(...options)
      window.sounds.push(this)
    }
  }`

describe.skipIf(firefox === undefined)(`the demo in Firefox${skipped}`, () => {
  let demo: Child
  let opened: Firefox
  /** errors of scripts, in any tab */
  let complaints: Array<string> = []

  beforeAll(async () => {
    await whenBuilt()
    ;[demo, opened] = await Promise.all([
      start(process.execPath, [program, "demo", "--port", "0"], process.cwd()),
      launchFirefox(firefox ?? ""),
    ])
    await eventually("the demo", () => demo.output().includes("Stop with Ctrl-C"))
  })

  afterAll(async () => {
    await opened?.close()
    await demo?.stop()
  })

  afterEach(() => {
    const seen = complaints
    complaints = []
    expect(seen).toEqual([])
  })

  /** What the demo prints of itself. */
  const said = (pattern: RegExp): string => pattern.exec(demo.output())?.[1] ?? ""

  const open = async (url: string): Promise<Page> => {
    const tab = await opened.browser.newPage()
    tab.setDefaultTimeout(60_000)
    tab.on("pageerror", (error) => complaints.push(String(error)))
    tab.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text())
    })
    await tab.evaluateOnNewDocument(noteSound)
    await tab.goto(url)
    return tab
  }

  const openWidget = (): Promise<Page> => open(said(/voicegate demo +(http\S+)/))
  const see = (tab: Page, text: string): Promise<unknown> =>
    tab.waitForSelector(`::-p-text(${text})`, { visible: true })
  const click = (tab: Page, text: string): Promise<void> =>
    tab.locator(`voice-agent >>> button ::-p-text(${text})`).click()
  const state = (tab: Page, name: string): Promise<unknown> => tab.waitForSelector(`voice-agent[state="${name}"]`)
  const texts = (tab: Page): Promise<string> => tab.$eval("body", (body) => body.textContent)

  const hold = (): Promise<() => void> => holdSlot(said(/voicegate demo +(http\S+)/))

  it.skipIf(pulseaudio === undefined)(`waits, is called, talks and hears, and hangs up${silent}`, async () => {
    const hangUps = [await hold(), await hold()]
    const tab = await openWidget()
    await click(tab, "Start a call")
    await state(tab, "waiting")
    await see(tab, "You’re next.")
    hangUps[0]?.()
    await state(tab, "your-turn")
    await click(tab, "Start the call")
    await state(tab, "in-call")
    const running = "window.sounds.some(({ state, currentTime }) => state === 'running' && currentTime > 0.5)"
    await eventually("the sound runs", async () => (await tab.evaluate(running)) === true)
    // the demo's agent repeats what the microphone hears
    const level = async (name: string): Promise<number> =>
      tab.$eval(`voice-agent >>> [role="meter"][aria-label="${name}"]`, (meter) => Number(meter.ariaValueNow))
    await eventually("the caller is heard", async () => (await level("You")) > 0.05)
    await eventually("the agent is heard", async () => (await level("Agent")) > 0.05)
    await click(tab, "Hang up")
    await state(tab, "ended")
    await see(tab, "Call ended")
    hangUps[1]?.()
    await tab.close()
  })

  it("shows the console, with live figures and charts", async () => {
    const tab = await open(said(/Console +(http\S+)/))
    await tab.type("input", said(/with the token (\S+)/))
    await tab.keyboard.press("Enter")
    await see(tab, "Taking calls")
    await tab.waitForSelector(".figures")
    await see(tab, "Live")
    await tab.waitForSelector("canvas")
    expect(await texts(tab)).toContain("0 of 2")
    await tab.close()
  })

  it("shows the dashboard's pages after signing in", async () => {
    const tab = await open(said(/Local platform +(http\S+)/))
    await tab.waitForSelector("input")
    await tab.type('input[type="email"]', said(/sign in as (\S+)/))
    await tab.type('input[type="password"]', said(/sign in as \S+ with (\S+)/))
    await tab.keyboard.press("Enter")
    await tab.waitForSelector("nav a")
    const pages = await tab.$$eval("nav a", (links) => links.map(({ href, textContent }) => ({ href, textContent })))
    expect(pages.length).toBeGreaterThan(5)
    for (const { href, textContent } of pages) {
      await tab.goto(href)
      await tab.waitForSelector("#main h1")
      await eventually(`the page ${textContent}`, async () => !/Loading /.test(await texts(tab)))
    }
    await tab.close()
  })
})
