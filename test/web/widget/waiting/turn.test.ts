/** How the built widget tells a caller that it is their turn, in a real browser, against the real gate and the local platform. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { click, level, place, screen, see } from "../../visitor.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

/** A tab that waits, because the slots are taken. */
const waiting = async (): Promise<Page> => {
  const tab = await widget.open()
  await click(tab, "Start a call")
  await screen(tab, "Your place in the queue")
  return tab
}

describe("a caller's turn", () => {
  for (const [ring, rings] of [
    ["on", true],
    ["off", false],
  ] as const) {
    it(`${rings ? "rings until the call starts" : "does not ring if the page forbids it"}`, async () => {
      await widget.begin()
      const hangUp = await widget.rig.hold()
      const tab = await widget.open()
      await tab.evaluate(`
        window.chimes = 0
        const start = OscillatorNode.prototype.start
        OscillatorNode.prototype.start = function (...args) { window.chimes++; start.apply(this, args) }
        document.querySelector("voice-agent").setAttribute("ring", "${ring}")`)
      const chimes = () => tab.evaluate<number>("window.chimes")
      await click(tab, "Start a call")
      await screen(tab, "Your place in the queue")
      expect(await chimes()).toBe(0)
      hangUp()
      await screen(tab, "Your turn")
      if (rings) await eventually("the second chime", async () => (await chimes()) >= 4)
      await click(tab, "Start the call")
      await screen(tab, "In call")
      const after = await chimes()
      expect(after > 0).toBe(rings)
      // longer than between two chimes
      await tab.waitForTimeout(2_500)
      expect(await chimes()).toBe(after)
    })
  }

  it("starts automatically if the page enables that", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const second = await waiting()
    await second.evaluate('document.querySelector("voice-agent").setAttribute("auto-start", "")')
    await click(second, "Leave the queue")
    await click(second, "Start a call")
    await place(second, 1)
    hangUp()
    await screen(second, "In call")
    await eventually("speech", async () => (await level(second, "You")) > 0.3)
  })

  it("alerts a hidden tab with a notification that the caller has enabled, and holds its place longer", async () => {
    await widget.begin()
    await widget.visitor.context.addInitScript(`
      window.notified = []
      window.Notification = class {
        static permission = "default"
        static requestPermission = async () => (Notification.permission = "granted")
        constructor(title, { body }) { window.notified.push(title + ": " + body) }
        close() {}
      }
      Object.defineProperty(Document.prototype, "hidden", { get: () => true })`)
    const hangUp = await widget.rig.hold()
    const second = await waiting()
    await click(second, "Notify me")
    await see(second, /^You’ll get a notification/)
    hangUp()
    await screen(second, "Your turn")
    const notified = () => second.evaluate<ReadonlyArray<string>>("window.notified")
    await eventually("the notification", async () => (await notified()).length > 0)
    expect(await notified()).toEqual(["Your turn: An agent is ready. Come back to start your call."])
    // twice the start window of 30 s
    await see(second, /^We’re holding your place for (1:00|0:[45]\d)\.$/)
  })

  it("holds the place of a hidden tab longer that can only poll", async () => {
    await widget.begin()
    await widget.visitor.context.addInitScript(
      'Object.defineProperty(Document.prototype, "hidden", { get: () => true })',
    )
    await widget.visitor.context.routeWebSocket(/\/events$/, (socket) => void socket.close())
    const hangUp = await widget.rig.hold()
    const second = await waiting()
    hangUp()
    await screen(second, "Your turn")
    await see(second, /^We’re holding your place for (1:00|0:[45]\d)\.$/)
  })

  it("is announced within moments of the webhook", async () => {
    await widget.begin()
    const rounds = 12
    const hangUp = await widget.rig.hold()
    const tab = await widget.open()
    // As many widgets as rounds, one behind the other; each starts when it is called, hangs up, and so calls the next.
    // Page and rig both read `Date.now()`: `performance.timeOrigin` does not follow changes of the system clock.
    await tab.evaluate(`
      document.querySelector("voice-agent").remove()
      window.called = []
      for (let count = 0; count < ${rounds}; count++) {
        const widget = document.createElement("voice-agent")
        widget.addEventListener("statechange", ({ detail }) => {
          if (detail.name === "your-turn" && !detail.starting) {
            const shown = widget.shadowRoot.querySelector("h2").textContent
            if (shown === "Your turn") window.called.push(Date.now())
            widget.agent.start()
          }
          if (detail.name === "in-call") widget.agent.leave()
        })
        document.querySelector("main").append(widget)
        widget.agent.begin()
      }`)
    await eventually("all wait", async () => (await tab.locator(".place").count()) === rounds)
    hangUp()
    const called = () => tab.evaluate<Array<number>>("window.called")
    await eventually("all were called", async () => (await called()).length === rounds)
    const delays = (await called())
      .map((at, round) => at - (widget.rig.webhooks[round] ?? Number.NaN))
      .sort((a, b) => a - b)
    const [median = Number.NaN, worst = Number.NaN] = [delays[rounds / 2], delays.at(-1)]
    console.log(
      `      webhook to “your turn”: median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms of ${rounds}`,
    )
    // none before its webhook; both are whole milliseconds
    expect(delays.every((delay) => delay >= 0)).toBe(true)
    expect(worst).toBeLessThan(1_000)
  })
})
