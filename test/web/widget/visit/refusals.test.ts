/** The widget when there is no call to be had: refusals of the real gate, no microphone, no network, no permission. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import type { Options } from "../../rig.ts"
import { click, screen, see } from "../../visitor.ts"
import { type Browsing, useWidget } from "../rig.ts"

const widget = useWidget()
/** in milliseconds */
const HALF_A_MINUTE = 30_000

/** A page of a visitor at a gate of its own. */
const begin = async (options: Options = {}, browsing: Browsing = {}): Promise<Page> => {
  await widget.begin(options, browsing)
  return widget.open()
}

/** Requests for sessions that the page makes from now on. */
const counting = (tab: Page): { count: number } => {
  const requests = { count: 0 }
  tab.on("request", (request) => {
    if (request.url().endsWith("/api/session/request")) requests.count++
  })
  return requests
}

/** What the gate says of a visitor who would come now. */
const finding = async (found: object): Promise<{ json: object }> => {
  const answer = { json: found }
  await widget.begin()
  await widget.visitor.context.route("**/api/availability?*", (route) => route.fulfill(answer))
  return answer
}

const buttons = (tab: Page): Promise<ReadonlyArray<string>> =>
  tab.locator("voice-agent .panel").getByRole("button").allTextContents()

describe("the first screen", () => {
  it("says how long a visitor would wait, and that the call begins in the queue then", async () => {
    await finding({ state: "open", estimatedWaitSeconds: 240 })
    const tab = await widget.open()
    await see(tab, "Estimated wait: 3–5 minutes.")
    await click(tab, "Join the queue")
    await screen(tab, "In call")
  })

  it("says that the campaign is closed, and until when, without a button that could not work", async () => {
    const day = new Intl.DateTimeFormat("en", { weekday: "short", timeZone: "UTC" }).format(Date.now() + 3 * 86_400_000)
    const settings = {
      VoiceAiPlatform: {
        Hours: { Zone: "UTC", Open: `${day} 09:00-17:00` },
        Overflow: { AfterSeconds: 60, Offers: ["Call the shop tel:+49301234567"] },
      },
    }
    const tab = await begin({ settings })
    const panel = tab.locator("voice-agent .panel")
    await screen(tab, "We’re closed")
    await see(tab, /^You can call from \w+day 9:00\sAM\.$/)
    expect(await buttons(tab)).toEqual([])
    expect(await panel.getByRole("link", { name: "Call the shop" }).getAttribute("href")).toBe("tel:+49301234567")
    await see(tab, "Other ways to reach us")
  })

  for (const [found, title] of [
    [{ state: "closed" }, "We’re closed"],
    [{ state: "full" }, "The queue is full"],
    [{ state: "draining" }, "We’re not taking calls right now"],
  ] as const) {
    it(`has no button while nobody is let in (${found.state})`, async () => {
      await finding(found)
      const tab = await widget.open()
      await screen(tab, title)
      await see(tab, "Please try again later.")
      expect(await buttons(tab)).toEqual([])
      expect(await tab.locator("voice-agent .orb:visible").count()).toBe(0)
    })
  }

  it("has its button again within half a minute after a visitor is let in, by itself", async () => {
    const answer = await finding({ state: "full" })
    await widget.visitor.context.clock.install()
    const tab = await widget.open()
    await screen(tab, "The queue is full")
    Object.assign(answer, { json: { state: "open", estimatedWaitSeconds: 0 } })
    await tab.clock.fastForward(HALF_A_MINUTE)
    // without another half of a minute
    await tab
      .getByRole("heading", { level: 2, name: "Talk to us", exact: true })
      .waitFor({ timeout: HALF_A_MINUTE / 2 })
    await click(tab, "Start a call")
    await screen(tab, "In call")
  })

  it("says that the queue is paused, which a visitor may join", async () => {
    await finding({ state: "paused" })
    const tab = await widget.open()
    await screen(tab, "Talk to us")
    await see(tab, "Calls are paused. You can already join the queue.")
    await tab.getByRole("button", { name: "Join the queue" }).waitFor()
  })

  it("is as ever when the gate says what this widget does not know", async () => {
    await finding({ state: "hibernating", until: "spring" })
    const tab = await widget.open()
    await tab.waitForResponse("**/api/availability?*")
    await screen(tab, "Talk to us")
    await tab.getByRole("button", { name: "Start a call" }).waitFor()
  })
})

describe("the widget", () => {
  it("shows a caller who is refused for a budget what the campaign offers instead", async () => {
    const settings = {
      VoiceAiPlatform: {
        // too little for a call to begin
        Budgets: [{ Name: "day", Of: "campaign", Unit: "minutes", Per: "day", Cap: 0.1, OnLimit: "refuse" }],
        Overflow: { AfterSeconds: 60, Offers: ["Call the shop tel:+49301234567"] },
      },
    }
    await widget.begin({ settings })
    // the budget was used up after the page had asked
    await widget.visitor.context.route("**/api/availability?*", (route) => route.fulfill({ json: { state: "open" } }))
    const tab = await widget.open()
    await click(tab, "Start a call")
    const panel = tab.locator("voice-agent .panel")
    await panel.getByRole("heading", { name: /call time is used up/i }).waitFor()
    await see(tab, "Other ways to reach us")
    expect(await panel.getByRole("link", { name: "Call the shop" }).getAttribute("href")).toBe("tel:+49301234567")
  })

  it("tells a caller behind a VPN that this connection may not call", async () => {
    const vpn = new URL("../../../fixtures/ip/vpn.txt", import.meta.url).pathname
    const settings = { IpIntel: { Lists: { Vpn: [vpn] } } }
    const tab = await begin({ settings }, { extraHTTPHeaders: { "x-forwarded-for": "8.8.8.8" } })
    await click(tab, "Start a call")
    await screen(tab, "Calls aren’t available on this network")
  })

  it("tells a caller who is rate limited from when he may call, and has no button that could not work", async () => {
    const tab = await begin({ settings: { Security: { RateLimitHourly: 1 } } })
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    await click(tab, "Talk again")
    await screen(tab, "You’ve reached your call limit")
    await see(tab, /^You can call from .*\d:\d\d\s[AP]M\.$/)
    expect(await buttons(tab)).toEqual([])
  })

  it("lets a caller try again at that time", async () => {
    const tab = await begin()
    let refusals = 1
    await tab.route("**/api/session/request", (route) =>
      refusals-- > 0
        ? route.fulfill({
            status: 429,
            contentType: "application/problem+json",
            headers: { "retry-after": "4" },
            body: JSON.stringify({ code: "rate_limited", detail: "At most 20 calls an hour from one address." }),
          })
        : route.continue(),
    )
    await click(tab, "Start a call")
    await screen(tab, "You’ve reached your call limit")
    // what is waited for is counted down to in the button, and nowhere else
    await tab.getByRole("button", { name: /^Try again in 0:0[1-4]$/, disabled: true }).waitFor()
    expect(await tab.locator("voice-agent .text:visible").count()).toBe(0)
    await click(tab, "Try again")
    await screen(tab, "In call")
  })

  it("has no button while a caller has to wait for hours", async () => {
    const tab = await begin()
    await tab.route("**/api/session/request", (route) =>
      route.fulfill({ status: 429, headers: { "retry-after": "18000" }, json: { code: "budget_exhausted" } }),
    )
    await click(tab, "Start a call")
    await screen(tab, "The call time is used up for now")
    await see(tab, /^You can call from .*\d:\d\d\s[AP]M\.$/)
    expect(await buttons(tab)).toEqual([])
  })

  it("asks again by itself when an instance of the gate stops", async () => {
    const tab = await begin()
    await tab.route(
      "**/api/session/request",
      (route) => route.fulfill({ status: 503, headers: { "retry-after": "1" }, json: { code: "draining" } }),
      { times: 1 },
    )
    await click(tab, "Start a call")
    await screen(tab, "In call")
  })

  it("lists what was wrong with a request, as text and not as markup", async () => {
    const tab = await begin()
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("client-identifier", "<b>mars</b>")')
    await click(tab, "Start a call")
    await screen(tab, "The agent isn’t available")
    await see(tab, /^clientIdentifier: /)
    expect(await tab.locator("voice-agent b").count()).toBe(0)
  })

  it("lists what was wrong with a request in the visitor's language, and tells the site's owner what was expected", async () => {
    const tab = await begin()
    const told: Array<string> = []
    tab.on("console", (message) => told.push(message.text()))
    await tab.evaluate('document.documentElement.lang = "de"')
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("client-identifier", "a/b")')
    await click(tab, "Gespräch starten")
    await see(tab, "clientIdentifier: Dieser Wert wird nicht akzeptiert.")
    expect(await tab.locator("voice-agent .panel").textContent()).not.toContain("Expected")
    expect(told).toContainEqual(
      expect.stringMatching(/^voicegate: the gate does not accept .*clientIdentifier: Expected/),
    )
  })

  it("says that the queue is full", async () => {
    const tab = await begin({ settings: { Queue: { MaxLength: 1 } } })
    await widget.rig.hold()
    await click(tab, "Start a call")
    await screen(tab, "Your place in the queue")
    const other = await widget.visitor.open(widget.rig.url)
    await click(other, "Start a call")
    await screen(other, "The queue is full")
  })

  it("retries automatically while the gate does not answer, and at once on a tap", async () => {
    const tab = await begin()
    widget.rig.gateLine.set("cut")
    await click(tab, "Start a call")
    await screen(tab, "No connection")
    widget.rig.gateLine.set("open")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    widget.rig.gateLine.set("cut")
    await click(tab, "Talk again")
    await screen(tab, "No connection")
    widget.rig.gateLine.set("open")
    await click(tab, "Try again")
    await screen(tab, "In call")
  })

  it("takes no slot when the microphone is denied, and goes on when it is allowed", async () => {
    const tab = await begin()
    const requests = counting(tab)
    await tab.evaluate(`
      const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      let denials = 1
      navigator.mediaDevices.getUserMedia = (wanted) => {
        window.wanted = wanted
        return denials-- > 0 ? Promise.reject(new DOMException("denied", "NotAllowedError")) : ask(wanted)
      }`)
    await click(tab, "Start a call")
    await screen(tab, "Your microphone is blocked")
    expect(requests.count).toBe(0)
    expect(await tab.evaluate("window.wanted.audio")).toMatchObject({
      echoCancellation: true,
      noiseSuppression: true,
      autoGainControl: true,
    })
    await click(tab, "Try again")
    await screen(tab, "In call")
    expect(requests.count).toBe(1)
  })

  it("takes no slot when the page itself may not use the microphone", async () => {
    const tab = await begin()
    await tab.route(widget.rig.url, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, headers: { ...response.headers(), "permissions-policy": "microphone=()" } })
    })
    await tab.reload()
    const requests = counting(tab)
    await click(tab, "Start a call")
    await screen(tab, "Audio isn’t available on this page")
    expect(requests.count).toBe(0)
    // Chromium reports the violated policy
    widget.visitor.complaints.splice(0)
  })

  it("takes no slot while the browser asks for the microphone", async () => {
    const tab = await begin()
    const requests = counting(tab)
    await tab.evaluate("navigator.mediaDevices.getUserMedia = () => new Promise(() => {})")
    await click(tab, "Start a call")
    await screen(tab, "Allow the microphone")
    await click(tab, "Cancel")
    await screen(tab, "Talk to us")
    expect(requests.count).toBe(0)
  })

  it("takes no slot if the worklet can be loaded neither from the gate nor from the page", async () => {
    const tab = await begin()
    const requests = counting(tab)
    // as with a security policy that allows neither the gate nor blob:
    await tab.evaluate('AudioWorklet.prototype.addModule = () => Promise.reject(new DOMException("no", "AbortError"))')
    await click(tab, "Start a call")
    await screen(tab, "Audio isn’t available on this page")
    expect(requests.count).toBe(0)
  })

  it("closes a session that was cancelled while it was requested", async () => {
    const tab = await begin()
    await tab.route("**/api/session/request", async (route) => {
      const response = await route.fetch()
      await click(tab, "Cancel")
      await route.fulfill({ response })
    })
    await click(tab, "Start a call")
    await screen(tab, "Talk to us")
    await eventually("the slot is free again", () => widget.rig.webhooks.length === 1)
    const hangUp = await widget.rig.hold()
    hangUp()
  })

  it("releases its place and the microphone when it is removed from the page", async () => {
    const tab = await begin()
    await widget.rig.hold()
    await click(tab, "Start a call")
    await screen(tab, "Your place in the queue")
    const deletion = tab.waitForResponse((response) => response.request().method() === "DELETE")
    await tab.evaluate('document.querySelector("voice-agent").remove()')
    expect((await deletion).status()).toBe(204)
  })

  it("says that there is no microphone, and calls with a tone instead where the page offers one", async () => {
    const tab = await begin()
    await tab.evaluate(
      'navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("none", "NotFoundError"))',
    )
    await click(tab, "Start a call")
    await screen(tab, "No microphone found")
    await tab.getByLabel("Use a test tone instead of the microphone").check()
    await click(tab, "Try again")
    await screen(tab, "In call")
    const agentMeter = tab.getByRole("meter", { name: "Agent" })
    await eventually("the tone's echo", async () => Number(await agentMeter.getAttribute("aria-valuenow")) > 0.3)
  })
})
