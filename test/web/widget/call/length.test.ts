/** A call with a time limit by the built widget in a real browser: the warning, its announcement, and the end. */
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { announced, click, screen, see } from "../../visitor.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

/** the shortest limit that the settings allow, in seconds */
const LIMIT = 20

describe("a call with a time limit", () => {
  it("counts down, says so once, and ends at its limit at the platform, with its reason", async () => {
    await widget.begin({ settings: { VoiceAiPlatform: { MaxCallSeconds: LIMIT } } })
    const tab = await widget.open()
    const warned: Array<unknown> = []
    tab.on("websocket", (socket) => {
      if (!socket.url().endsWith("/events")) return
      socket.on("framereceived", ({ payload }) => {
        const event: { readonly type?: string } = JSON.parse(String(payload))
        if (event.type === "warning") warned.push(event)
      })
    })
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await see(tab, /^Your call ends in 0:[01]\d\.$/)
    await announced(tab, /^Your call ends in/)
    await eventually("the gate warns too", () => warned.length > 0)
    expect(warned[0]).toMatchObject({ reason: "length" })
    await screen(tab, "You’ve been disconnected")
    await see(tab, "The call reached its time limit.")
    await eventually("the slot is free", () => widget.rig.webhooks.length === 1)
  }, 90_000)

  it("counts down and ends when a budget has no more for it", async () => {
    const Budgets = [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 0.4 }]
    await widget.begin({ settings: { VoiceAiPlatform: { Budgets } } })
    const tab = await widget.open()
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await see(tab, /^Your call ends in 0:[01]\d\.$/)
    await screen(tab, "You’ve been disconnected")
    await see(tab, "The call reached its time limit.")
    await eventually("the slot is free", () => widget.rig.webhooks.length === 1)
  }, 90_000)

  it("is hung up by its page when the gate and the platform do not end it", async () => {
    await widget.begin({ settings: { VoiceAiPlatform: { MaxCallSeconds: 600 } } })
    const tab = await widget.open()
    const endsAt = new Date(Date.now() + 8_000).toISOString()
    // the gate tells another end than it knows, so that it does nothing itself
    await tab.route(/session\/request$/, async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), endsAt } })
    })
    await tab.routeWebSocket(/\/events$/, () => {})
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await screen(tab, "You’ve been disconnected")
    await see(tab, "The call reached its time limit.")
  }, 90_000)
})
