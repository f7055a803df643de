/** The built demo page in a real browser, against the gate's wire. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { build } from "vite"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import config from "../../src/web/vite.config.ts"
import { launchBrowser } from "../support/browser.ts"
import { eventually } from "../support/process.ts"
import { type FakeGate, startFakeGate } from "./fake-gate.ts"

let page: string
let browser: Browser
let gate: FakeGate
let context: BrowserContext
/** what went wrong in any tab: errors of scripts, and what the content security policy forbade */
let complaints: Array<string>

beforeAll(async () => {
  page = await mkdtemp(join(tmpdir(), "voicegate-demo-"))
  const output = { ...config.build, outDir: page }
  const [started] = await Promise.all([
    launchBrowser(),
    build({ ...config, configFile: false, logLevel: "warn", build: output }),
  ])
  browser = started
})

afterAll(async () => {
  await browser?.close()
  await rm(page, { recursive: true, force: true })
})

beforeEach(async () => {
  gate = await startFakeGate({ page, slots: 2 })
  context = await browser.newContext({ viewport: { width: 1200, height: 800 } })
  context.setDefaultTimeout(10_000)
  complaints = []
})

afterEach(async () => {
  await context.close()
  await gate.stop()
  expect(complaints).toEqual([])
})

const openTab = async (): Promise<Page> => {
  const tab = await context.newPage()
  tab.on("pageerror", (error) => complaints.push(String(error)))
  tab.on("console", (message) => {
    // Chromium reports every refusal and lost connection as an error; the tests cause those.
    const expected = /Failed to load resource|WebSocket connection/.test(message.text())
    if (message.type() === "error" && !expected) complaints.push(message.text())
  })
  await tab.goto(gate.url)
  return tab
}

const click = (tab: Page, name: string): Promise<void> => tab.getByRole("button", { name, exact: true }).click()
const see = (tab: Page, text: string | RegExp): Promise<void> => tab.locator(".panel").getByText(text).waitFor()
const heading = (tab: Page, name: string): Promise<void> => tab.getByRole("heading", { level: 1, name }).waitFor()
const place = (tab: Page, number: number): Promise<void> =>
  tab.locator(".place", { hasText: new RegExp(`^${number}$`) }).waitFor()
const announced = (tab: Page, text: string | RegExp): Promise<void> => tab.getByRole("status").getByText(text).waitFor()
const level = async (tab: Page, name: string): Promise<number> =>
  Number(await tab.getByLabel(name, { exact: true }).getAttribute("value"))

/** A tab in a call, or waiting when both slots are taken. */
const talk = async (shows: "In call" | "Your place in the queue"): Promise<Page> => {
  const tab = await openTab()
  await click(tab, "Start talking")
  await heading(tab, shows)
  return tab
}

describe("the demo page", () => {
  it("shows a third tab its place live, calls it when a call ends, and plays back what it says", async () => {
    const first = await talk("In call")
    await talk("In call")
    const third = await talk("Your place in the queue")
    await place(third, 1)
    await see(third, "You are next.")
    const fourth = await talk("Your place in the queue")
    await place(fourth, 2)
    await see(fourth, "One person is ahead of you.")
    expect(await fourth.title()).toMatch(/^Place 2/)

    await click(first, "Hang up")
    await heading(first, "Call ended")
    await heading(third, "Your turn")
    expect(await third.title()).toMatch(/^Your turn/)
    await announced(third, /It is your turn/)
    await see(third, /^0:(30|2\d)$/)
    await place(fourth, 1)

    await click(third, "Start the call")
    await heading(third, "In call")
    await see(third, "Hello. I repeat what you say.")
    const ticket = () => {
      const found = gate.tickets()[2]
      if (found === undefined) throw new Error("the third tab has no ticket")
      return found
    }
    await eventually("speech", async () => (await level(third, "You")) > 0.3)
    await eventually("the echo's bytes", () => ticket().echoed > 16_000)
    await eventually("the echo's sound", async () => (await level(third, "Agent")) > 0.3)
    expect(new Set(ticket().frames)).toEqual(new Set([640]))

    await click(third, "Hang up")
    await heading(third, "Call ended")
    await heading(fourth, "Your turn")
  })

  it("sends fifty frames a second, and silence while muted", async () => {
    const tab = await talk("In call")
    const frames = () => gate.tickets()[0]?.frames.length ?? 0
    await eventually("frames", () => frames() > 10)
    const [before, began] = [frames(), performance.now()]
    await eventually("a second of frames", () => frames() >= before + 50)
    expect(performance.now() - began).toBeGreaterThan(600)
    expect(performance.now() - began).toBeLessThan(2_000)
    await click(tab, "Mute")
    await announced(tab, "Muted.")
    await eventually("silence", async () => (await level(tab, "You")) === 0)
    const mutedAt = frames()
    await eventually("frames while muted", () => frames() > mutedAt + 10)
    expect(await level(tab, "You")).toBe(0)
    await click(tab, "Mute")
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
  })

  it("keeps the place over a reload", async () => {
    gate.occupy()
    const third = await talk("Your place in the queue")
    const fourth = await talk("Your place in the queue")
    await third.reload()
    await place(third, 1)
    await place(fourth, 2)
    expect(gate.tickets()).toHaveLength(4)
  })

  it("gives a duplicated tab a visit of its own instead of the same place", async () => {
    gate.occupy()
    const third = await talk("Your place in the queue")
    const [copy] = await Promise.all([context.waitForEvent("page"), third.evaluate("void window.open(location.href)")])
    await heading(copy, "Talk to the agent")
    await place(third, 1)
    expect(gate.tickets()).toHaveLength(3)
  })

  it("starts after a reload while it is called", async () => {
    const endOne = gate.occupy()
    const third = await talk("Your place in the queue")
    endOne()
    await heading(third, "Your turn")
    await third.reload()
    await heading(third, "Your turn")
    await click(third, "Start the call")
    await heading(third, "In call")
    await eventually("speech", async () => (await level(third, "You")) > 0.3)
  })

  it("frees its place when it leaves the queue", async () => {
    gate.occupy()
    const third = await talk("Your place in the queue")
    const fourth = await talk("Your place in the queue")
    await click(third, "Leave the queue")
    await heading(third, "Talk to the agent")
    await place(fourth, 1)
    await third.reload()
    await heading(third, "Talk to the agent")
  })

  it("says so when the turn was missed", async () => {
    await gate.stop()
    gate = await startFakeGate({ page, slots: 1, startWindowMillis: 1_500 })
    const endOne = gate.occupy()
    const second = await talk("Your place in the queue")
    endOne()
    await heading(second, "Your turn")
    await heading(second, "You missed your turn")
    await click(second, "Talk again")
    await heading(second, "In call")
  })

  it("keeps the place when the connection is lost, and shows what happened meanwhile", async () => {
    gate.occupy()
    const third = await talk("Your place in the queue")
    const fourth = await talk("Your place in the queue")
    await see(fourth, "Live")
    gate.allowEvents(false)
    await see(fourth, /^Connection lost/)
    await click(third, "Leave the queue")
    await place(fourth, 1)
    gate.allowEvents(true)
    await see(fourth, "Live")
  })

  it("asks again by itself while the gate does not answer", async () => {
    const tab = await openTab()
    gate.allowRequests(false)
    await click(tab, "Start talking")
    await heading(tab, "The gate does not answer")
    gate.allowRequests(true)
    await heading(tab, "In call")
  })

  it("shows why it was refused, and when to try again", async () => {
    const tab = await openTab()
    const problem = {
      code: "rate_limited",
      message: "Limit reached.",
      detail: "At most 20 calls an hour from one address.",
    }
    gate.refuseNext(429, problem, { "retry-after": "2" })
    await click(tab, "Start talking")
    await heading(tab, "Too many calls for now")
    await see(tab, "At most 20 calls an hour from one address.")
    await see(tab, /^You can try again in 0:0[12]\.$/)
    const again = tab.getByRole("button", { name: "Try again" })
    expect(await again.getAttribute("aria-disabled")).toBe("true")
    await see(tab, "You can try again now.")
    await again.click()
    await heading(tab, "In call")
  })

  it("lists what was wrong with a request, as text and not as markup", async () => {
    const tab = await openTab()
    const errors = [{ field: "regionId", message: "expected <b>one of</b> eu, us" }]
    gate.refuseNext(400, { code: "invalid_request", message: "The request is invalid.", errors })
    await click(tab, "Start talking")
    await heading(tab, "The gate did not accept the request")
    await see(tab, "regionId: expected <b>one of</b> eu, us")
  })

  it("goes back to its place when the agent is busy at the start", async () => {
    const endOne = gate.occupy()
    const third = await talk("Your place in the queue")
    endOne()
    await heading(third, "Your turn")
    gate.refuseNextStart(409, { code: "agent_busy", message: "The agent is busy; you keep your place." })
    await click(third, "Start the call")
    await heading(third, "Your place in the queue")
    await see(third, "The agent is busy; you keep your place.")
  })

  it("offers a test tone where there is no microphone, before a slot is taken", async () => {
    await context.addInitScript(
      'navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("none", "NotFoundError"))',
    )
    const tab = await openTab()
    await click(tab, "Start talking")
    await heading(tab, "No microphone found")
    expect(gate.tickets()).toHaveLength(0)
    await click(tab, "Use a test tone")
    await heading(tab, "In call")
    await eventually("the tone", async () => (await level(tab, "You (test tone)")) > 0.3)
    await eventually("its echo", async () => (await level(tab, "Agent")) > 0.3)
  })

  it("gives back a session that was cancelled while it was asked for", async () => {
    const tab = await openTab()
    await tab.route("**/api/session/request", async (route) => {
      const response = await route.fetch()
      await click(tab, "Cancel")
      await route.fulfill({ response })
    })
    await click(tab, "Start talking")
    await heading(tab, "Talk to the agent")
    await eventually("the slot is free again", () => gate.tickets().every(({ state }) => state === "ended"))
    expect(gate.tickets()).toHaveLength(1)
  })

  it("can be used by keyboard alone", async () => {
    const tab = await openTab()
    const focused = () => tab.evaluate("document.activeElement.textContent")
    for (let presses = 0; presses < 10 && (await focused()) !== "Start talking"; presses++)
      await tab.keyboard.press("Tab")
    await tab.keyboard.press("Enter")
    await heading(tab, "In call")
    expect(await focused()).toBe("In call")
    await tab.keyboard.press("Tab")
    expect(await focused()).toBe("Hang up")
    await tab.keyboard.press("Space")
    await heading(tab, "Call ended")
    expect(await focused()).toBe("Call ended")
  })

  it("fits a phone of 360 pixels before, in the queue, when called and in the call", async () => {
    const endOne = gate.occupy()
    const tab = await openTab()
    await tab.setViewportSize({ width: 360, height: 740 })
    const overflow = () => tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(await overflow()).toBe(0)
    await click(tab, "Start talking")
    await place(tab, 1)
    expect(await overflow()).toBe(0)
    endOne()
    await heading(tab, "Your turn")
    expect(await overflow()).toBe(0)
    await click(tab, "Start the call")
    await heading(tab, "In call")
    expect(await overflow()).toBe(0)
  })
})
