/** The conversation of a call: the transcript of both sides, text input, captions, push to talk, the orb, and the check of the microphone. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { focusOn, tabTo } from "../../focus.ts"
import { click, level, place, screen, see } from "../../visitor.ts"
import { useShop, violations } from "../shop.ts"

const { open, widget } = useShop()

/** A tab in a call. */
const talk = async (attributes = "", browsing = {}): Promise<Page> => {
  const tab = await open(`<voice-agent ${attributes}></voice-agent>`, { browsing })
  await click(tab, "Start a call")
  await screen(tab, "In call")
  await see(tab, "Hello. I repeat what you say.")
  return tab
}

const write = async (tab: Page, text: string): Promise<void> => {
  await tab.getByRole("textbox", { name: "Message" }).fill(text)
  await tab.getByRole("textbox", { name: "Message" }).press("Enter")
}

/** Who said what, as a reader finds it. */
const turns = (tab: Page): Promise<Array<string>> => tab.locator("voice-agent .messages li").allInnerTexts()
const spoken = (turn: string | undefined): string => (turn ?? "").replace(/\s*\n\s*/g, ": ")

describe("the transcript", () => {
  it("shows both sides, takes text, and is kept and copied after the call", async () => {
    const tab = await talk("", { permissions: ["microphone", "clipboard-read", "clipboard-write"] })
    await tab.evaluate(`
      window.events = []
      for (const type of ["turn", "message"]) {
        document.querySelector("voice-agent").addEventListener(type, ({ detail }) => window.events.push([type, detail]))
      }`)
    await write(tab, "Do you ship to Norway?")
    await see(tab, "You wrote: Do you ship to Norway?")
    expect(await tab.evaluate("window.events.slice(0, 3)")).toEqual([
      ["turn", { role: "caller", text: "Do you ship to Norway?" }],
      ["turn", { role: "agent", text: "You wrote: Do you ship to Norway?" }],
      ["message", "You wrote: Do you ship to Norway?"],
    ])
    expect(await tab.getByRole("textbox").inputValue()).toBe("")
    // answers to what was written are read out
    expect(await tab.getByRole("log").getAttribute("aria-live")).toBe("polite")
    const said = (await turns(tab)).map(spoken)
    expect(said.slice(0, 3)).toEqual([
      "Agent: Hello. I repeat what you say.",
      "You: Do you ship to Norway?",
      "Agent: You wrote: Do you ship to Norway?",
    ])
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    await see(tab, "You wrote: Do you ship to Norway?")
    await click(tab, "Copy transcript")
    await see(tab, "Copied")
    const copied = String(await tab.evaluate("navigator.clipboard.readText()"))
    expect(copied.split("\n").slice(0, 3)).toEqual(said.slice(0, 3))
    expect(await violations(tab)).toEqual([])
  })

  it("shows markup as text", async () => {
    const tab = await talk()
    await write(tab, "<img src=x onerror=alert(1)>")
    await see(tab, "You wrote: <img src=x onerror=alert(1)>")
    expect(await tab.locator("voice-agent .messages img").count()).toBe(0)
    // addresses of the web can be followed, without the signs round them, and nothing else
    await write(tab, "See (https://shop.example/a?b=1&c=2), http://two.example. javascript:alert(1) data:text/html,x")
    await see(tab, /^You wrote: See/)
    const links = await tab
      .locator("voice-agent .messages .agent a")
      .evaluateAll((all) =>
        all.map((each) => [
          each.textContent,
          each.getAttribute("href"),
          each.getAttribute("rel"),
          each.getAttribute("target"),
        ]),
      )
    const attributes = ["noopener noreferrer", "_blank"]
    expect(links).toEqual(
      ["https://shop.example/a?b=1&c=2", "http://two.example"].map((address) => [address, address, ...attributes]),
    )
  })

  it("can be hidden, and comes back with all that was said", async () => {
    const tab = await open('<voice-agent captions="off"></voice-agent>')
    await click(tab, "Start a call")
    await screen(tab, "In call")
    const log = tab.getByRole("log")
    await tab.getByRole("button", { name: "Captions", pressed: false }).waitFor()
    await log.waitFor({ state: "hidden" })
    await tab.getByRole("textbox").waitFor()
    await write(tab, "Hello")
    await click(tab, "Captions")
    await see(tab, "You wrote: Hello")
    await click(tab, "Captions")
    await log.waitFor({ state: "hidden" })
    await tab.getByRole("button", { name: "Captions", pressed: false }).waitFor()
  })

  it("has no text field where the page switches it off", async () => {
    const tab = await talk('text-input="off"')
    expect(await tab.getByRole("textbox").count()).toBe(0)
  })
})

describe("push to talk", () => {
  it("opens the microphone while Space or the button is held, and only then", async () => {
    const tab = await talk("push-to-talk")
    const on = tab.getByRole("button", { name: "Hold to talk", pressed: true })
    const off = tab.getByRole("button", { name: "Hold to talk", pressed: false })
    await off.waitFor()
    // the heading has the focus: Space means nothing else there
    await focusOn(tab, "In call")
    await tab.keyboard.down("Space")
    await on.waitFor()
    await eventually("speech", async () => (await level(tab, "You")) > 0.3)
    await tab.keyboard.up("Space")
    await off.waitFor()
    await eventually("silence", async () => (await level(tab, "You")) === 0)
    await off.hover()
    await tab.mouse.down()
    await on.waitFor()
    await tab.mouse.move(5, 5)
    await tab.mouse.up()
    await off.waitFor()
    await tabTo(tab, "Hold to talk")
    await tab.keyboard.down("Space")
    await on.waitFor()
    await tab.keyboard.up("Space")
    await off.waitFor()
    // In a field Space is a space.
    await tab.getByRole("textbox").fill("a")
    await tab.getByRole("textbox").press("End")
    await tab.keyboard.press("Space")
    expect(await tab.getByRole("textbox").inputValue()).toBe("a ")
    await off.waitFor()
    expect(await violations(tab)).toEqual([])
  })

  it("lets go when the window loses the focus", async () => {
    const tab = await talk("push-to-talk")
    await tab.keyboard.down("Space")
    await tab.getByRole("button", { name: "Hold to talk", pressed: true }).waitFor()
    await tab.evaluate(`window.dispatchEvent(new Event("blur"))`)
    await tab.getByRole("button", { name: "Hold to talk", pressed: false }).waitFor()
  })
})

describe("the orb", () => {
  /** Counts how often it is moved, once it is there. */
  const COUNT = `
    window.drawn = 0
    new MutationObserver((changes) => {
      window.drawn += changes.filter(({ target }) => target.matches?.(".live")).length
    }).observe(document.querySelector("voice-agent").shadowRoot, { subtree: true, attributeFilter: ["style"] })`
  const drawn = async (tab: Page): Promise<number> => Number(await tab.evaluate("window.drawn"))
  const call = async (attributes: string, reducedMotion: "reduce" | "no-preference"): Promise<Page> => {
    const tab = await open(`<voice-agent ${attributes}></voice-agent>`, { browsing: { reducedMotion } })
    await tab.evaluate(COUNT)
    if (attributes !== "") await click(tab, "Talk to us")
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await tab.bringToFront()
    return tab
  }
  /** How far the sphere has swollen: 1 is at rest. */
  const SCALE = `new DOMMatrix(getComputedStyle(
    document.querySelector("voice-agent").shadowRoot.querySelector(".live i")).transform).a`

  it("moves with the voices, says in text who speaks, and rests while nobody can see it", async () => {
    const tab = await call('mode="floating"', "no-preference")
    await eventually("the agent speaks", async () => (await level(tab, "Agent")) > 0.3)
    await see(tab, /^Agent is speaking$/)
    await eventually("it swells", async () => Number(await tab.evaluate(SCALE)) > 1.02)
    const before = await drawn(tab)
    await eventually("frames", async () => (await drawn(tab)) > before + 10)
    await tab.keyboard.press("Escape")
    await tab.getByRole("button", { name: /^In call/ }).waitFor()
    const closed = await drawn(tab)
    await tab.getByRole("button", { name: /^In call 0:/ }).waitFor()
    await tab.waitForTimeout(500)
    expect((await drawn(tab)) - closed).toBeLessThanOrEqual(2)
    await tab.getByRole("button", { name: /^In call/ }).click()
    await click(tab, "Mute")
    await tab.locator("voice-agent .mood", { hasText: /^Muted$/ }).waitFor()
  })

  it("stands still for who prefers that", async () => {
    const tab = await call("", "reduce")
    await eventually("the agent speaks", async () => (await level(tab, "Agent")) > 0.3)
    await see(tab, /^(Agent is speaking|Listening)$/)
    const before = await drawn(tab)
    await tab.waitForTimeout(1_000)
    // once for each change of who speaks
    // each is two values
    expect((await drawn(tab)) - before).toBeLessThanOrEqual(8)
  })
})

describe("the check of the microphone", () => {
  const COUNT = `
    window.tracks = []
    const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
    navigator.mediaDevices.getUserMedia = async (wanted) => {
      window.wanted = wanted.audio.deviceId?.ideal
      const stream = await open(wanted)
      window.tracks.push(...stream.getTracks())
      return stream
    }`
  const live = async (tab: Page): Promise<number> =>
    Number(await tab.evaluate("window.tracks.filter(({ readyState }) => readyState === 'live').length"))

  it("says that it is heard, and the device that is chosen is used for the call", async () => {
    const tab = await open("<voice-agent></voice-agent>")
    await tab.evaluate(COUNT)
    await tabTo(tab, "Check your microphone")
    await tab.keyboard.press("Enter")
    await screen(tab, "Check your microphone")
    await focusOn(tab, "Check your microphone")
    await see(tab, "We hear you.")
    expect(await violations(tab)).toEqual([])
    // in another language the same microphone stays on, and what was heard stays heard
    await tab.evaluate("document.querySelector('voice-agent').lang = 'de'")
    await screen(tab, "Mikrofon testen")
    await see(tab, "Wir hören Sie.")
    await tab.getByRole("meter", { name: "Mikrofonpegel" }).waitFor()
    expect(await tab.evaluate("window.tracks.map(({ readyState }) => readyState)")).toEqual(["live"])
    await tab.evaluate("document.querySelector('voice-agent').lang = 'en'")
    await see(tab, "We hear you.")
    const picker = tab.getByRole("combobox", { name: "Microphone" })
    const names = await picker.locator("option").allTextContents()
    expect(names.length).toBeGreaterThan(1)
    const [, , last = names[1] ?? ""] = names
    await picker.selectOption({ label: last })
    await see(tab, "We hear you.")
    const chosen = await picker.inputValue()
    await click(tab, "Done")
    await screen(tab, "Talk to us")
    await eventually("the microphone is off", async () => (await live(tab)) === 0)
    await click(tab, "Start a call")
    await screen(tab, "In call")
    expect(await tab.evaluate("window.tracks.at(-1).getSettings().deviceId")).toBe(chosen)
    // another one in the call, which goes on
    const inCall = tab.getByRole("combobox", { name: "Microphone" })
    const before = await inCall.inputValue()
    expect(before).toBe(await tab.evaluate("window.wanted"))
    await inCall.selectOption({ index: 1 })
    const other = await inCall.inputValue()
    expect(other).not.toBe(before)
    await eventually("the other microphone", async () => (await tab.evaluate("window.wanted")) === other)
    await eventually("only that one is on", async () => (await live(tab)) === 1)
    await eventually("it is heard", async () => (await level(tab, "You")) > 0.3)
    expect(await tab.locator("voice-agent .warning:visible").count()).toBe(0)
  })

  it("is there while waiting too, and ends by itself at the turn", async () => {
    const tab = await open('<voice-agent><p slot="waiting">Read our size guide.</p></voice-agent>')
    await tab.evaluate(COUNT)
    const hangUp = await widget.rig.hold()
    await click(tab, "Start a call")
    await place(tab, 1)
    await tab.getByText("Read our size guide.").waitFor()
    await click(tab, "Check your microphone")
    await see(tab, "We hear you.")
    hangUp()
    await screen(tab, "Your turn")
    await eventually("the microphone is off", async () => (await live(tab)) === 0)
    expect(await tab.getByText("Read our size guide.").isVisible()).toBe(false)
  })

  it("says why there is nothing to hear, and is not offered where the page replaces the microphone", async () => {
    const tab = await open('<voice-agent id="one"></voice-agent><voice-agent check="off"></voice-agent>')
    expect(await tab.getByRole("button", { name: "Check your microphone" }).count()).toBe(1)
    await tab.evaluate(`
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("denied", "NotAllowedError"))`)
    await click(tab, "Check your microphone")
    await tab
      .locator("#one")
      .getByText(/^Your microphone is blocked/)
      .waitFor()
  })
})

describe("waiting on another tab", () => {
  it("shows the place in the title, and the page's own title after it", async () => {
    const tab = await open("<voice-agent></voice-agent>")
    const hide = (hidden: boolean): Promise<unknown> =>
      tab.evaluate(`
        Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} })
        document.dispatchEvent(new Event("visibilitychange"))`)
    const hangUp = await widget.rig.hold()
    await click(tab, "Start a call")
    await place(tab, 1)
    expect(await tab.title()).toBe("A shop")
    await hide(true)
    await eventually("the place", async () => (await tab.title()) === "Number 1 in the queue – A shop")
    await hide(false)
    await eventually("the title", async () => (await tab.title()) === "A shop")
    await hide(true)
    hangUp()
    await eventually("the turn", async () => (await tab.title()) === "● Your turn – A shop")
    await hide(false)
    await click(tab, "Leave the queue")
    await eventually("the title", async () => (await tab.title()) === "A shop")
  })
})
