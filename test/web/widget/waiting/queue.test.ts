/** The queue as the built widget shows it in a real browser, against the real gate and the local platform. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { announced, click, level, place, screen, see, titled } from "../../visitor.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

/** A tab in a call, or waiting when the slots are taken. */
const talk = async (shows: "In call" | "Your place in the queue"): Promise<Page> => {
  const tab = await widget.open()
  await click(tab, "Start a call")
  await screen(tab, shows)
  return tab
}

describe("the queue", () => {
  it("gives one slot to one of two tabs, shows the other its place, and calls it when the slot opens", async () => {
    await widget.begin()
    const first = await talk("In call")
    const second = await talk("Your place in the queue")
    await place(second, 1)
    await see(second, "You’re next.")
    const third = await talk("Your place in the queue")
    await place(third, 2)
    await see(third, "One person is ahead of you.")
    await announced(third, "Number 2 in the queue.")
    const title = await second.title()

    await click(first, "Hang up")
    await screen(second, "Your turn")
    await titled(second, `● Your turn – ${title}`)
    await second.getByRole("alert").getByText("Your turn. Start the call.").waitFor()
    await see(second, /for 0:(30|2\d)\./)
    await place(third, 1)
    await click(second, "Start the call")
    await screen(second, "In call")
    await titled(second, title)
    await click(second, "Hang up")
    await screen(third, "Your turn")
  })

  it("keeps the place over a reload, and the turn", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const second = await talk("Your place in the queue")
    const third = await talk("Your place in the queue")
    await second.reload()
    await place(second, 1)
    await place(third, 2)
    hangUp()
    await screen(second, "Your turn")
    await second.reload()
    await screen(second, "Your turn")
    await click(second, "Start the call")
    await screen(second, "In call")
    await eventually("speech", async () => (await level(second, "You")) > 0.3)
  })

  it("starts the call at another gate when the first one is shutting down", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const tab = await talk("Your place in the queue")
    hangUp()
    await screen(tab, "Your turn")
    let refusals = 0
    await tab.route("**/start", (route) =>
      ++refusals > 2
        ? route.continue()
        : route.fulfill({
            status: 503,
            contentType: "application/problem+json",
            headers: { "retry-after": "1" },
            body: JSON.stringify({ code: "draining", detail: "This server is shutting down. Try again." }),
          }),
    )
    await click(tab, "Start the call")
    await screen(tab, "In call")
    expect(refusals).toBe(3)
  })

  it("gives a duplicated tab its own visit instead of the same place", async () => {
    await widget.begin()
    await widget.rig.hold()
    const second = await talk("Your place in the queue")
    const [copy] = await Promise.all([
      widget.visitor.context.waitForEvent("page"),
      second.evaluate("void window.open(location.href)"),
    ])
    await screen(copy, "Talk to us")
    await place(second, 1)
  })

  it("can be left with one tap", async () => {
    await widget.begin()
    await widget.rig.hold()
    const second = await talk("Your place in the queue")
    const third = await talk("Your place in the queue")
    await place(third, 2)
    await click(second, "Leave the queue")
    await screen(second, "Talk to us")
    await announced(second, "You left the queue.")
    await place(third, 1)
    await second.reload()
    await screen(second, "Talk to us")
  })

  it("keeps the place when the network is lost, and then shows the current state", async () => {
    await widget.begin()
    await widget.rig.hold()
    const second = await talk("Your place in the queue")
    const third = await talk("Your place in the queue")
    await place(third, 2)
    widget.rig.gateLine.set("cut")
    await see(third, /^Reconnecting… We’ll hold/)
    await announced(third, /Reconnecting… We’ll hold/)
    await second.close()
    widget.rig.gateLine.set("open")
    await third
      .locator("voice-agent .panel")
      .getByText(/^Reconnecting… We’ll hold/)
      .waitFor({ state: "hidden" })
    await place(third, 2)
  })

  it("reconnects with growing delays while it is told to reconnect, and polls its place meanwhile", async () => {
    await widget.begin()
    await widget.visitor.context.addInitScript(`
      window.connected = []
      Math.random = () => 0.5
      const Real = window.WebSocket
      // a gate that accepts each connection and tells it to reconnect
      window.WebSocket = function (url) {
        if (!String(url).includes("/events")) return new Real(url)
        window.connected.push(performance.now())
        const socket = { close: () => setTimeout(() => socket.onclose({ code: 1005 })) }
        setTimeout(() => {
          socket.onopen()
          socket.onmessage({ data: '{"type":"reconnect","message":"connect again"}' })
        })
        return socket
      }`)
    await widget.rig.hold()
    const second = await talk("Your place in the queue")
    await place(second, 1)
    const connected = () => second.evaluate<ReadonlyArray<number>>("window.connected")
    await eventually("the fourth connection", async () => (await connected()).length >= 4)
    const [first = 0, , , fourth = 0] = await connected()
    // half a second, one, and two: a timer is never early
    expect(fourth - first).toBeGreaterThanOrEqual(3_500)
  })

  it("says so when the turn was missed", async () => {
    await widget.begin({ settings: { Queue: { StartWindowSeconds: 2 } } })
    const hangUp = await widget.rig.hold()
    const second = await talk("Your place in the queue")
    hangUp()
    await screen(second, "Your turn")
    await screen(second, "You missed your turn")
    await click(second, "Join again")
    await screen(second, "In call")
  })

  it("goes back to its place when the agent is busy at the start", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const second = await talk("Your place in the queue")
    hangUp()
    await screen(second, "Your turn")
    await widget.rig.holdPastGate()
    await click(second, "Start the call")
    await screen(second, "Your place in the queue")
    await second.locator("voice-agent .notice:not(.warning)").waitFor()
    await place(second, 1)
  })

  it("keeps its place while the agent cannot be reached, says so instead of the time, and is called when it can", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const second = await talk("Your place in the queue")
    const third = await talk("Your place in the queue")
    await place(third, 2)
    // nothing is said of a wait that is not known
    expect(await third.locator("voice-agent .estimate").textContent()).toBe("")
    hangUp()
    await screen(second, "Your turn")
    await second.evaluate(`
      window.notices = []
      document.querySelector("voice-agent").addEventListener("statechange", ({ detail }) => {
        if (detail.name === "waiting" && detail.place.disrupted) window.notices.push(detail.notice)
        if (detail.name !== "your-turn" && detail.name !== "waiting") window.left = detail.name
      })`)
    widget.rig.platformLine.set("gone")
    await click(second, "Start the call")
    await screen(second, "Your place in the queue")
    await see(second, /The voice agent is (temporarily unavailable|unavailable right now)\./)
    const trouble = "The voice agent is temporarily unavailable. You’ll keep your place."
    await see(third, trouble)
    const expectedText = new RegExp(`(You’re next|One person is ahead of you)\\. ${trouble.replaceAll(".", "\\.")}$`)
    await third.locator("voice-agent .text").getByText(expectedText).waitFor()
    await announced(third, trouble)
    // one at a time is called to find out
    await screen(second, "Your turn")
    await click(second, "Start the call")
    await screen(second, "Your place in the queue")
    await see(second, trouble)
    const fourth = await talk("Your place in the queue")
    await see(fourth, trouble)
    await third.reload()
    await see(third, trouble)

    widget.rig.platformLine.set("open")
    await screen(second, "Your turn")
    // it was told once where it stands, and not by a notice besides, nor was anything else shown
    const notices = await second.evaluate<ReadonlyArray<unknown>>("window.notices")
    expect(notices.length).toBeGreaterThan(0)
    expect(notices.filter((notice) => notice !== undefined && notice !== null)).toEqual([])
    expect(await second.evaluate("window.left")).toBe(undefined)
    await click(second, "Start the call")
    await screen(second, "In call")
    await place(third, 1)
    await see(third, /^(Estimated wait: .+|This is taking longer than usual\. You’ll keep your place)\.$/)
    await place(fourth, 2)
  })

  it("goes back to its place when only its start failed, with the gate's message", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const second = await talk("Your place in the queue")
    hangUp()
    await screen(second, "Your turn")
    widget.rig.platformLine.set("cut")
    await click(second, "Start the call")
    await screen(second, "Your place in the queue")
    await see(second, "The voice agent is unavailable right now. You’ll keep your place and be called again.")
    // where the gate has meanwhile read the platform, which is still cut off, that takes the place of the estimate
    await see(
      second,
      /^(Estimated wait: .+|This is taking longer than usual\. You’ll keep your place|The voice agent is temporarily unavailable\. You’ll keep your place)\.$/,
    )
  })

  it("says within moments that an operator has paused it, and gives no estimate meanwhile", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const second = await talk("Your place in the queue")
    await widget.rig.operate("pause")
    const paused = "The queue is paused. You’ll keep your place."
    await see(second, paused)
    // its place is not said again
    await announced(second, new RegExp(`^${paused.replaceAll(".", "\\.")}$`))
    hangUp()
    // a newcomer is told at once, and the tab that waits is not called
    const third = await talk("Your place in the queue")
    await see(third, "The queue is paused. You’ll keep your place.")
    await screen(second, "Your place in the queue")
    await widget.rig.operate("resume")
    await screen(second, "Your turn")
    await see(third, /^Estimated wait: /)
  })

  it("says by when calls resume while callers wait for a budget, and that the tab has to stay open", async () => {
    const hourly = { Name: "hourly", Of: "campaign", Unit: "minutes", Per: "hour", Cap: 1, OnLimit: "wait" }
    await widget.begin({ slots: 2, settings: { VoiceAiPlatform: { Budgets: [hourly] } } })
    // it holds the minute
    const hangUp = await widget.rig.hold()
    const second = await talk("Your place in the queue")
    await see(second, /^Calls resume by .+\. You’ll keep your place\.$/)
    await see(second, /^Keep this tab open\. /)
    // what it has not used is given back
    hangUp()
    await screen(second, "Your turn")
  })

  it("says until when it is paused, in the visitor's language, and goes on by itself then", async () => {
    await widget.begin({}, { locale: "de", timezoneId: "Europe/Berlin" })
    const hangUp = await widget.rig.hold()
    const tab = await widget.open()
    await tab.evaluate('document.documentElement.lang = "de"')
    await click(tab, "Gespräch starten")
    await screen(tab, "Ihr Platz in der Warteschlange")
    const tomorrow = Date.now() + 86_400_000
    await widget.rig.operate("pause", tomorrow)
    const time = new Intl.DateTimeFormat("de", {
      ...{ weekday: "long", hour: "numeric", minute: "2-digit" },
      timeZone: "Europe/Berlin",
    })
    const paused = (until: number) =>
      `Die Warteschlange ist bis ${time.format(until)} angehalten. Sie behalten Ihren Platz.`
    await see(tab, paused(tomorrow))
    await announced(tab, new RegExp(`${paused(tomorrow).replaceAll(".", "\\.")}$`))
    // another time is pushed too
    const later = tomorrow + 86_400_000
    await widget.rig.operate("pause", later)
    await see(tab, paused(later))
    hangUp()
    const soon = Date.now() + 2_000
    await widget.rig.operate("pause", soon)
    await screen(tab, "Sie sind an der Reihe")
    expect(Date.now()).toBeGreaterThanOrEqual(soon)
  })

  it("counts the estimate down by itself, and says when it takes longer", async () => {
    await widget.begin()
    await widget.rig.hold()
    const tab = await widget.open()
    await tab.clock.install()
    // the gate has measured calls of ten minutes
    await tab.route("**/api/session/request", async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), estimatedWaitSeconds: 600 } })
    })
    await tab.routeWebSocket(/\/events$/, (socket) => {
      socket
        .connectToServer()
        .onMessage((text) =>
          socket.send(String(text).replace(/"estimatedWaitSeconds":null/, '"estimatedWaitSeconds":600')),
        )
    })
    await click(tab, "Start a call")
    await see(tab, "Estimated wait: 7–13 minutes.")
    await tab.clock.runFor("05:00")
    await see(tab, "Estimated wait: 3–7 minutes.")
    await tab.clock.runFor("04:20")
    await see(tab, "Estimated wait: less than a minute.")
    await tab.clock.runFor("01:00")
    await see(tab, "This is taking longer than usual. You’ll keep your place.")
  })
})
