/** A silent call by the built widget in a real browser: the gate's limit, the warning, and what keeps the call. */
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { announced, click, screen, see } from "../../visitor.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

/** the shortest limit that the settings allow, in seconds */
const LIMIT = 10
const limited = { settings: { VoiceAiPlatform: { SilenceSeconds: LIMIT } } }

describe("a call in which nobody speaks", () => {
  it("is warned of its end, goes on when somebody speaks, and ends when nobody does", async () => {
    await widget.begin(limited)
    const tab = await widget.open()
    const sockets: Array<string> = []
    const reports: Array<string> = []
    tab.on("websocket", (socket) => {
      if (!socket.url().endsWith("/events")) return
      sockets.push(socket.url())
      socket.on("framesent", ({ payload }) => reports.push(String(payload)))
    })
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await eventually("the events stay connected", () => sockets.length === 1)
    // the browser's microphone beeps once a second
    await click(tab, "Mute")
    await see(tab, /^Say something to stay\. The call ends in 0:0\d\.$/)
    await announced(tab, /^Say something to stay/)
    await eventually("the gate knows", () => reports.length === 1)
    expect(JSON.parse(reports[0] ?? "")).toEqual({ type: "silence", seconds: LIMIT / 2 })
    await click(tab, "Unmute")
    await eventually("the gate knows that somebody speaks", () => reports.length === 2)
    expect(JSON.parse(reports[1] ?? "")).toEqual({ type: "silence", seconds: 0 })
    await tab.locator("text=/^Say something to stay/").first().waitFor({ state: "hidden" })
    await screen(tab, "In call")
    await click(tab, "Mute")
    await screen(tab, "You’ve been disconnected")
    await see(tab, "The call ended because nobody spoke.")
    await eventually("the slot is free", () => widget.rig.webhooks.length === 1)
  }, 90_000)

  it("goes on when the gate says, to either report, that no end is due or that it is later, and ends in the language of the page", async () => {
    await widget.begin(limited)
    const tab = await widget.open()
    const reports: Array<number> = []
    /** answers the n-th report; the gate hears none of them */
    const answers: ReadonlyArray<() => string | null> = [
      // the limit was removed
      () => null,
      () => new Date(Date.now() + 3_000).toISOString(),
      // at the end: the vendor has heard somebody
      () => new Date(Date.now() + 12_000).toISOString(),
    ]
    await tab.routeWebSocket(/\/events$/, (page) => {
      const gate = page.connectToServer()
      page.onMessage((text) => {
        const { seconds, type }: { readonly type?: string; readonly seconds?: number } = JSON.parse(String(text))
        if (type !== "silence") return gate.send(text)
        reports.push(seconds ?? -1)
        const endsAt = answers[reports.length - 1]?.()
        if (endsAt !== undefined) page.send(JSON.stringify({ type: "warning", reason: "silence", endsAt }))
      })
    })
    await tab.evaluate('document.documentElement.lang = "de"')
    await click(tab, "Gespräch starten")
    await screen(tab, "Im Gespräch")
    await click(tab, "Stumm")
    const warning = tab.locator("p.silence", { hasText: /^Sagen Sie etwas, / })
    await eventually("the first report", () => reports.length === 1)
    await warning.waitFor({ state: "hidden" })
    await eventually("the second report, after the same time", () => reports.length === 2)
    await warning.waitFor({ state: "visible" })
    await eventually("the gate is asked before the page hangs up", () => reports.length === 3)
    await warning.waitFor({ state: "hidden" })
    await screen(tab, "Im Gespräch")
    await eventually("the gate is told how long nobody has spoken in all", () => reports.length === 4)
    expect(reports[0]).toBe(LIMIT / 2)
    expect(reports[3]).toBeGreaterThan(LIMIT)
    await see(tab, "Der Anruf wurde beendet, weil niemand gesprochen hat.")
  }, 90_000)

  it("may last without a limit, and its page sends nothing to the gate", async () => {
    await widget.begin()
    const tab = await widget.open()
    const sockets: Array<string> = []
    tab.on("websocket", (socket) => {
      if (socket.url().endsWith("/events")) sockets.push(socket.url())
    })
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await click(tab, "Mute")
    await see(tab, "0:12")
    await screen(tab, "In call")
    expect(sockets).toEqual([])
  }, 60_000)
})
