/** A call by the built widget in a real browser, on the demo's page, against the real gate and the local platform. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { Resampler } from "../../../../src/web/widget/audio/resample.ts"
import { eventually } from "../../../harness/process.ts"
import { focusOn, tabTo } from "../../focus.ts"
import { announced, click, level, screen, see } from "../../visitor.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

/** A tab in a call. */
const talk = async (): Promise<Page> => {
  const tab = await widget.open()
  await click(tab, "Start a call")
  await screen(tab, "In call")
  return tab
}

/** The audio of the session's WebSocket, in both directions. */
const recordFrames = (tab: Page): { readonly sent: Array<Buffer>; readonly received: Array<Buffer> } => {
  const sent: Array<Buffer> = []
  const received: Array<Buffer> = []
  tab.on("websocket", (socket) => {
    if (!socket.url().includes("/session/") || socket.url().endsWith("/events")) return
    socket.on("framesent", ({ payload }) => {
      if (typeof payload !== "string") sent.push(payload)
    })
    socket.on("framereceived", ({ payload }) => {
      if (typeof payload !== "string") received.push(payload)
    })
  })
  return { sent, received }
}

/** Keeps what goes to the loudspeaker in `played`, 128 samples at a time; to be run before the page. */
const recordPlayed = `
  window.played = []
  const connect = AudioNode.prototype.connect
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to instanceof AudioDestinationNode && this.numberOfInputs === 0 && window.played.rate === undefined) {
      window.played.rate = this.context.sampleRate
      const recorder = this.context.createScriptProcessor(4096, 1, 1)
      recorder.onaudioprocess = ({ inputBuffer }) => window.played.push([...inputBuffer.getChannelData(0)])
      connect.call(this, recorder)
      connect.call(recorder, to)
    }
    return connect.call(this, to, ...rest)
  }`

const samplesOf = (frames: ReadonlyArray<Buffer>): Float32Array => {
  const bytes = Buffer.concat(frames)
  return Float32Array.from({ length: bytes.length >> 1 }, (_, index) => bytes.readInt16LE(index * 2) / 0x8000)
}

/** How alike two signals are, at best over small shifts of the second: 1 is the same. */
const likeness = (a: Float32Array, b: Float32Array): number => {
  const at = (shift: number): number => {
    let [ab, aa, bb] = [0, 0, 0]
    for (let index = 0; index < a.length; index++) {
      const [x, y] = [a[index] ?? 0, b[index + shift] ?? 0]
      ab += x * y
      aa += x * x
      bb += y * y
    }
    return ab / Math.sqrt(aa * bb || 1)
  }
  return Math.max(...Array.from({ length: 200 }, (_, shift) => at(shift)))
}

/** A signal (16 kHz) from shortly before each beep: where it is loud after a tenth of a second of quiet. */
const fromBeeps = (samples: Float32Array, before: number): ReadonlyArray<Float32Array> => {
  const starts: Array<number> = []
  let quiet = Number.POSITIVE_INFINITY
  samples.forEach((sample, index) => {
    const loud = Math.abs(sample) > 0.05
    if (loud && quiet > 1_600) starts.push(index)
    quiet = loud ? 0 : quiet + 1
  })
  return starts.map((start) => samples.slice(Math.max(0, start - before)))
}

describe("a call", () => {
  it("sends the microphone in frames of 20 ms, fifty a second, and plays exactly what it receives", async () => {
    await widget.begin()
    await widget.visitor.context.addInitScript(recordPlayed)
    const tab = await widget.open()
    const wire = recordFrames(tab)
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await see(tab, "Hello. I repeat what you say.")
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
    const [before, began] = [wire.sent.length, performance.now()]
    await eventually("a hundred frames", () => wire.sent.length >= before + 100)
    const seconds = (performance.now() - began) / 1_000
    expect(seconds).toBeGreaterThan(1.6)
    expect(seconds).toBeLessThan(3)
    await eventually("the echo's sound", async () => (await level(tab, "Agent")) > 0.3)
    await eventually("three seconds of echo", () => wire.received.length >= 150)
    await click(tab, "Hang up")
    await screen(tab, "Call ended")

    expect(new Set(wire.sent.map((frame) => frame.length))).toEqual(new Set([640]))
    const [sent, received] = [Buffer.concat(wire.sent), Buffer.concat(wire.received)]
    expect(received.length).toBeGreaterThan(90_000)
    expect(received.equals(sent.subarray(0, received.length))).toBe(true)
    const speech = samplesOf(wire.sent)
    expect(speech.some((sample) => sample > 0.1)).toBe(true)

    const { played, rate } = await tab.evaluate<{ played: Array<Array<number>>; rate: number }>(
      "({ played: window.played, rate: window.played.rate })",
    )
    const loudspeaker = new Resampler(rate, 16_000).push(Float32Array.from(played.flat()))
    const receivedBeeps = fromBeeps(samplesOf(wire.received), 100).filter(({ length }) => length >= 4_800)
    const playedBeeps = fromBeeps(loudspeaker, 200)
    expect(receivedBeeps.length).toBeGreaterThan(2)
    const likenesses = receivedBeeps
      .slice(0, playedBeeps.length)
      .map((beep, n) => likeness(beep.slice(0, 4_800), playedBeeps[n] ?? new Float32Array()))
    console.log(
      `      received and played: likeness ${likenesses.map((each) => each.toFixed(4)).join(", ")} over 0.3 s`,
    )
    // where the machine has no time for the browser, one of them may be played with a gap
    const similar = Math.max(...likenesses)
    // half a sample of delay, which shifts by whole samples cannot undo, costs this beep up to 0.02 (measured)
    expect(similar).toBeGreaterThan(0.95)
  })

  it("sends silence while muted, and announces it once", async () => {
    await widget.begin()
    const tab = await widget.open()
    const wire = recordFrames(tab)
    await click(tab, "Start a call")
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
    await click(tab, "Mute")
    await announced(tab, /^Muted$/)
    await tab.getByRole("button", { name: "Unmute", exact: true }).waitFor()
    await eventually("silence", async () => (await level(tab, "You")) === 0)
    const mutedAt = wire.sent.length
    await eventually("frames while muted", () => wire.sent.length > mutedAt + 25)
    expect(samplesOf(wire.sent.slice(mutedAt)).every((sample) => sample === 0)).toBe(true)
    await click(tab, "Unmute")
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
  })

  it("uses the format that the page specifies", async () => {
    await widget.begin()
    const tab = await widget.open()
    const wire = recordFrames(tab)
    const request = tab.waitForRequest("**/api/session/request")
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("audio", "mulaw 8000")')
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await eventually("the echo's sound", async () => (await level(tab, "Agent")) > 0.3)
    expect(new Set(wire.sent.map((frame) => frame.length))).toEqual(new Set([160]))
    const { audioConfiguration } = (await request).postDataJSON()
    expect(audioConfiguration).toMatchObject({ inputEncodingType: 3, inputSampleRate: 8_000, outputBitsPerSample: 8 })
  })

  it("shows a lost connection, resumes when it is back, and allows another call if it broke", async () => {
    await widget.begin()
    const tab = await talk()
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
    widget.rig.callLine.set("frozen")
    await widget.visitor.context.setOffline(true)
    await see(tab, /^Reconnecting… Your connection is down/)
    await announced(tab, /^Reconnecting… Your connection is down/)
    widget.rig.callLine.set("open")
    await widget.visitor.context.setOffline(false)
    await tab.locator("voice-agent .notice.warning").waitFor({ state: "hidden" })
    await screen(tab, "In call")
    widget.rig.callLine.set("cut")
    await screen(tab, "The call dropped")
    widget.rig.callLine.set("open")
    await eventually("the platform noticed", () => widget.rig.webhooks.length === 1)
    await click(tab, "Try again")
    await screen(tab, "In call")
  })

  const down = (tab: Page) =>
    tab.evaluate<unknown>('(({ link, down }) => ({ link, down }))(document.querySelector("voice-agent").agent.state)')

  it("says that the agent's service does not answer where only the platform is dead, and goes on when it recovers", async () => {
    await widget.begin()
    const tab = await talk()
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
    widget.rig.callLine.set("frozen")
    await see(tab, /^Reconnecting… The agent isn’t answering/)
    await announced(tab, /^Reconnecting… The agent isn’t answering/)
    expect(await down(tab)).toEqual({ link: false, down: "agent" })
    widget.rig.callLine.set("open")
    await tab.locator("voice-agent .notice.warning").waitFor({ state: "hidden" })
    await announced(tab, /^The connection is back/)
    expect(await down(tab)).toEqual({ link: true, down: undefined })
  })

  it("says that the visitor's connection is down where the gate does not answer either, though the machine is online", async () => {
    await widget.begin()
    const tab = await talk()
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
    widget.rig.gateLine.set("frozen")
    widget.rig.callLine.set("frozen")
    await see(tab, /^Reconnecting… Your connection is down/)
    expect(await down(tab)).toEqual({ link: false, down: "network" })
    widget.rig.gateLine.set("open")
    widget.rig.callLine.set("open")
    await tab.locator("voice-agent .notice.warning").waitFor({ state: "hidden" })
    await announced(tab, /^The connection is back/)
  })

  for (const [how, hangUp] of [
    ["the visitor hangs up", (tab: Page) => click(tab, "Hang up")],
    ["the page goes", (tab: Page) => tab.goto("about:blank")],
  ] as const) {
    it(`frees the slot at once when ${how} on a dead line`, async () => {
      await widget.begin()
      const tab = await talk()
      widget.rig.callLine.set("frozen")
      await hangUp(tab)
      await eventually("the slot is free", () => widget.rig.webhooks.length === 1)
      widget.rig.callLine.set("open")
      const next = await widget.open()
      await click(next, "Start a call")
      await screen(next, "In call")
    })
  }

  it("ends when it does not open, and gives the slot back", async () => {
    await widget.begin()
    const tab = await widget.open()
    widget.rig.callLine.set("frozen")
    await click(tab, "Start a call")
    await screen(tab, "Connecting your call")
    await tab.getByRole("heading", { level: 2, name: "The call didn’t connect" }).waitFor({ timeout: 20_000 })
    await eventually("the slot is free", () => widget.rig.webhooks.length === 1)
    widget.rig.callLine.set("open")
    await click(tab, "Try again")
    await screen(tab, "In call")
  })

  it("says that a reload interrupted it, once, and allows another call", async () => {
    await widget.begin()
    const tab = await talk()
    await tab.reload()
    await screen(tab, "Your call was interrupted")
    await announced(tab, /^Your call was interrupted/)
    await eventually("the slot is free", () => widget.rig.webhooks.length === 1)
    await click(tab, "Talk again")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    await tab.reload()
    await screen(tab, "Talk to us")
  })

  it("announces the end of muting, and not the call again", async () => {
    await widget.begin()
    const tab = await talk()
    await announced(tab, "In call")
    await click(tab, "Mute")
    await announced(tab, /^Muted$/)
    await click(tab, "Unmute")
    await announced(tab, /^Microphone on$/)
  })

  it("keeps its messages after it, and through a change of language", async () => {
    await widget.begin()
    const tab = await talk()
    await see(tab, "Hello. I repeat what you say.")
    await tab.evaluate('document.querySelector("voice-agent").lang = "de"')
    await screen(tab, "Im Gespräch")
    await see(tab, "Hello. I repeat what you say.")
    expect(await tab.locator("voice-agent .messages .speaker").allTextContents()).toEqual(["Assistent"])
    await click(tab, "Auflegen")
    await screen(tab, "Anruf beendet")
    await see(tab, "Hello. I repeat what you say.")
    await click(tab, "Neues Gespräch")
    await screen(tab, "Im Gespräch")
    await see(tab, "Hello. I repeat what you say.")
    expect(await tab.locator("voice-agent .messages li").count()).toBe(1)
  })

  it("has the microphone only from its begin on: it is off while waiting", async () => {
    await widget.begin()
    await widget.visitor.context.addInitScript(`
      window.tracks = []
      const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        const stream = await open(wanted)
        window.tracks.push(...stream.getTracks())
        return stream
      }`)
    const states = (tab: Page) => tab.evaluate<Array<string>>("window.tracks.map(({ readyState }) => readyState)")
    const hangUp = await widget.rig.hold()
    const tab = await widget.open()
    await click(tab, "Start a call")
    await screen(tab, "Your place in the queue")
    expect(await states(tab)).toEqual(["ended"])
    hangUp()
    await click(tab, "Start the call")
    await screen(tab, "In call")
    expect(await states(tab)).toEqual(["ended", "live"])
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
  })

  it("says why its start takes long when the browser asks for the microphone again", async () => {
    await widget.begin()
    await widget.visitor.context.addInitScript(`
      const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      let opened = 0
      // the second time, the visitor decides when
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        if (opened++ > 0) await new Promise((resolve) => (window.allow = resolve))
        return open(wanted)
      }`)
    const hangUp = await widget.rig.hold()
    const tab = await widget.open()
    await click(tab, "Start a call")
    await screen(tab, "Your place in the queue")
    hangUp()
    await click(tab, "Start the call")
    await see(tab, "Allow the microphone again to start the call.")
    await tab.evaluate("window.allow()")
    await screen(tab, "In call")
  })

  it("can be made by keyboard alone, from the queue to hanging up", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const tab = await widget.open()
    await tabTo(tab, "Start a call")
    await tab.keyboard.press("Enter")
    await screen(tab, "Your place in the queue")
    await focusOn(tab, "Your place in the queue")
    hangUp()
    await screen(tab, "Your turn")
    await focusOn(tab, "Your turn")
    await tabTo(tab, "Start the call")
    await tab.keyboard.press("Enter")
    await screen(tab, "In call")
    await tabTo(tab, "Mute")
    await tab.keyboard.press("Space")
    await announced(tab, /^Muted$/)
    await tabTo(tab, "Hang up")
    await tab.keyboard.press("Space")
    await screen(tab, "Call ended")
    await focusOn(tab, "Call ended")
  })
})
