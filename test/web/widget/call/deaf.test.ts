/** What makes a call deaf or mute: it goes on by itself, or it tells the visitor, or it ends and frees its slot. In a real browser. */
import axe from "axe-core"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { announced, click, level, screen, see } from "../../visitor.ts"
import { check } from "../extras/extras-check.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

/** Keeps what a page makes of the browser's audio; to be run before it. */
const KEEP = `
  window.kept = { contexts: [], nodes: [], sources: [], tracks: [], workers: [], microphone: true }
  const keep = (name, list) => {
    const Original = window[name]
    window[name] = class extends Original {
      constructor(...all) {
        super(...all)
        window.kept[list].push(this)
      }
    }
  }
  keep("AudioContext", "contexts")
  keep("AudioWorkletNode", "nodes")
  keep("Worker", "workers")
  const make = BaseAudioContext.prototype.createMediaStreamSource ?? AudioContext.prototype.createMediaStreamSource
  AudioContext.prototype.createMediaStreamSource = function (stream) {
    if (window.kept.refuses?.(this)) throw new DOMException("Connecting AudioNodes from AudioContexts with different sample-rate", "NotSupportedError")
    const source = make.call(this, stream)
    window.kept.sources.push(source)
    return source
  }
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    if (!window.kept.microphone) throw new DOMException("Requested device not found", "NotFoundError")
    const stream = await open(wanted)
    window.kept.tracks.push(...stream.getTracks())
    return stream
  }`

/** The caller's voice arrives, so it is captured. */
const speaks = (tab: Page): Promise<void> => eventually("speech", async () => (await level(tab, "You")) > 0.3)

/** A page of a visitor, before a call; `script` runs in it first. */
const openPage = async (script = ""): Promise<Page> => {
  await widget.begin()
  await widget.visitor.context.addInitScript(axe.source)
  await widget.visitor.context.addInitScript(`${KEEP}\n${script}`)
  return widget.open()
}

/** A call in which the caller is heard. */
const talk = async (script = ""): Promise<Page> => {
  const tab = await openPage(script)
  await click(tab, "Start a call")
  await screen(tab, "In call")
  await speaks(tab)
  return tab
}

/** The last track ends, as when its device is unplugged. */
const UNPLUG = `{
  const track = window.kept.tracks.at(-1)
  track.stop()
  track.dispatchEvent(new Event("ended"))
}`

const noNotice = (tab: Page): Promise<void> => tab.locator("voice-agent .notice.warning").waitFor({ state: "hidden" })

const isFree = (): Promise<void> => eventually("the slot is free", () => widget.rig.webhooks.length === 1)

describe("a microphone whose rate the audio context does not take, as in Firefox", () => {
  it("is captured by a context of a rate that fits", async () => {
    const tab = await openPage("window.kept.refuses = ({ sampleRate }) => sampleRate !== 16_000")
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await speaks(tab)
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
  })

  it("takes no slot where there is none, and the visitor is told", async () => {
    const tab = await openPage("window.kept.refuses = () => true")
    await click(tab, "Start a call")
    await screen(tab, "Audio isn’t available on this page")
    expect(widget.rig.webhooks).toEqual([])
    await tab.evaluate("window.kept.refuses = undefined")
    await click(tab, "Try again")
    await screen(tab, "In call")
    await speaks(tab)
  })

  it("is said to be unusable by the check of the microphone too", async () => {
    const tab = await openPage("window.kept.refuses = () => true")
    await click(tab, "Check your microphone")
    await see(tab, /^Audio isn’t available on this page/)
  })
})

describe("a call whose audio the browser stops", () => {
  it("goes on by itself when the browser lets it", async () => {
    const tab = await talk()
    await tab.evaluate("Promise.all(window.kept.contexts.map((context) => context.suspend()))")
    await eventually("it runs", () =>
      tab.evaluate<boolean>("window.kept.contexts.some(({ state }) => state === 'running')"),
    )
    await speaks(tab)
    await noNotice(tab)
  })

  it("goes on with a tap of the visitor when the browser waits for one", async () => {
    const tab = await talk()
    // the visitor taps as soon as the notice is there; a busy test would be too late
    await tab.evaluate(`for (const context of window.kept.contexts) {
      const { resume } = context
      let isTapped = false
      window.addEventListener("pointerdown", () => (isTapped = true), { once: true, capture: true })
      context.resume = () => (isTapped ? resume.call(context) : Promise.reject(new DOMException("", "NotAllowedError")))
      context.suspend()
    }
    const looking = setInterval(() => {
      const notice = document.querySelector("voice-agent").shadowRoot.querySelector(".notice")
      if (notice.hidden) return
      clearInterval(looking)
      window.told = notice.textContent
      window.dispatchEvent(new PointerEvent("pointerdown"))
    }, 20)`)
    await eventually("the notice", () => tab.evaluate<boolean>("window.told !== undefined"))
    expect(await tab.evaluate<string>("window.told")).toBe("The audio has stopped. Tap the page to turn it on again.")
    await noNotice(tab)
    await speaks(tab)
  })

  for (const [what, script] of [
    [
      "is interrupted for long",
      `for (const context of window.kept.contexts) {
        context.resume = () => Promise.reject(new DOMException("", "InvalidStateError"))
        context.suspend()
      }`,
    ],
    ["is closed", "for (const context of window.kept.contexts) context.close()"],
    ["throws in a processor", `window.kept.nodes.at(-1).dispatchEvent(new ErrorEvent("processorerror"))`],
    ["has no output any more", "for (const node of window.kept.nodes) node.port.onmessage = null"],
  ] as const) {
    it(`ends and frees its slot when its audio ${what}`, async () => {
      const tab = await talk()
      await tab.evaluate(script)
      await screen(tab, "The audio isn’t working")
      await check(tab, "deaf-ended")
      await isFree()
      await click(tab, "Try again")
      await screen(tab, "In call")
      await speaks(tab)
    })
  }

  it("ends and frees its slot when the worker of its line fails", async () => {
    const tab = await talk()
    await tab.evaluate(`window.kept.workers.at(-1).dispatchEvent(new ErrorEvent("error"))`)
    await screen(tab, "The call dropped")
    await isFree()
  })
})

describe("a call whose microphone is lost", () => {
  it("takes the next one by itself, muted as before", async () => {
    const tab = await talk()
    await click(tab, "Mute")
    await tab.evaluate(UNPLUG)
    await eventually("another one is open", () =>
      tab.evaluate<boolean>("window.kept.tracks.at(-1).readyState === 'live'"),
    )
    await noNotice(tab)
    expect(await tab.evaluate<boolean>("window.kept.tracks.at(-1).enabled")).toBe(false)
    await click(tab, "Unmute")
    await speaks(tab)
  })

  it("takes one that is connected later, and says so", async () => {
    const tab = await talk()
    await tab.evaluate(`window.kept.microphone = false; ${UNPLUG}`)
    await see(tab, /^Your microphone was disconnected or muted/)
    await announced(tab, /^Your microphone was disconnected or muted/)
    await tab.evaluate(`window.kept.microphone = true; navigator.mediaDevices.dispatchEvent(new Event("devicechange"))`)
    await announced(tab, /^Microphone on$/)
    await noNotice(tab)
    await speaks(tab)
  })

  it("lets the visitor try again by keyboard", async () => {
    const tab = await talk()
    await tab.evaluate(`window.kept.microphone = false; ${UNPLUG}`)
    const again = tab.getByRole("button", { name: "Try again" })
    await again.waitFor()
    await check(tab, "deaf-microphone")
    await tab.evaluate("window.kept.microphone = true")
    await again.press("Enter")
    await noNotice(tab)
    await again.waitFor({ state: "hidden" })
    await speaks(tab)
  })

  it("ends and frees its slot where it does not come back and the caller cannot write", async () => {
    await widget.begin()
    await widget.visitor.context.clock.install()
    await widget.visitor.context.addInitScript(KEEP)
    const tab = await widget.open()
    await tab.evaluate(`document.querySelector("voice-agent").setAttribute("text-input", "off")`)
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await tab.evaluate(`window.kept.microphone = false; ${UNPLUG}`)
    await see(tab, /^Your microphone was disconnected or muted/)
    await tab.clock.fastForward(31_000)
    await screen(tab, "The audio isn’t working")
    await isFree()
  })

  it("says that its device has muted it, until it gives sound again", async () => {
    const tab = await talk()
    await tab.evaluate(`window.kept.tracks.at(-1).dispatchEvent(new Event("mute"))`)
    await see(tab, /^Your microphone was disconnected or muted/)
    await tab.evaluate(`window.kept.tracks.at(-1).dispatchEvent(new Event("unmute"))`)
    await noNotice(tab)
  })

  it("opens it again when it gives no frames any more", async () => {
    const tab = await talk()
    const before = await tab.evaluate<number>("window.kept.tracks.length")
    await tab.evaluate("for (const source of window.kept.sources) source.disconnect()")
    await eventually("it is opened again", () => tab.evaluate<boolean>(`window.kept.tracks.length > ${before}`))
    await noNotice(tab)
    await speaks(tab)
  })
})

describe("a gate that answers with an error", () => {
  for (const [language, body, title, text] of [
    ["en", "Internal Server Error", "The agent isn’t available", "Please try again later."],
    [
      "en",
      '{"code":"store_unavailable","detail":"ECONNREFUSED 10.0.0.1"}',
      "The agent isn’t available",
      "Please try again later.",
    ],
    ["de", "<h1>502</h1>", "Der Assistent ist nicht verfügbar", "Bitte versuchen Sie es später erneut."],
  ] as const) {
    it(`is told in the widget's own words (${language}, ${body})`, async () => {
      const tab = await openPage()
      await widget.visitor.context.route("**/api/session/request", (route) => route.fulfill({ status: 500, body }))
      await tab.evaluate(`document.querySelector("voice-agent").lang = "${language}"`)
      await click(tab, language === "en" ? "Start a call" : "Gespräch starten")
      await screen(tab, title)
      await see(tab, text)
    })
  }
})
