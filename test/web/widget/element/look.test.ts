/** How a page makes the agent its own by attributes, and what begins with one tap or without a microphone. In a real browser. */
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { click, screen, see } from "../../visitor.ts"
import { useShop, violations } from "../shop.ts"

const { open, widget } = useShop()

/** A red pixel. */
const PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

describe("the attributes of the widget", () => {
  it("name the agent, colour it and give it a picture, and one tap on a round launcher begins the call", async () => {
    const tab = await open(
      `<voice-agent mode="floating" corner="bottom-center" launcher="round" one-tap agent-name="Ada" heading="Any questions?"
        accent="rgb(255, 212, 0)" avatar="${PICTURE}"></voice-agent>`,
    )
    const launcher = tab.getByRole("button", { name: "Talk to us" })
    const { height, width, x } = (await launcher.boundingBox()) ?? { height: 0, width: 0, x: 0 }
    expect([width, height, x]).toEqual([56, 56, 1_000 / 2 - 56 / 2])
    expect(await violations(tab)).toEqual([])
    await launcher.click()
    await screen(tab, "Ada")
    await see(tab, "Ada is speaking")
    await see(tab, "Hello. I repeat what you say.")
    expect(await tab.locator("voice-agent .messages .speaker").first().textContent()).toBe("Ada")
    await tab.getByRole("dialog", { name: "Ada" }).waitFor()
    const panel = await tab.locator("voice-agent .panel").boundingBox()
    expect(Math.round((panel?.x ?? 0) * 2 + (panel?.width ?? 0))).toBe(1_000)
    expect(
      await tab.evaluate(`{
      const panel = document.querySelector("voice-agent").shadowRoot.querySelector(".panel")
      getComputedStyle(panel).getPropertyValue("--voice-agent-accent")
    }`),
    ).toBe("rgb(255, 212, 0)")
    // the launcher tells something: it is as wide as that
    await click(tab, "Minimize")
    const wide = await tab.getByRole("button", { name: /^In call/ }).boundingBox()
    expect(wide?.width).toBeGreaterThan(100)
    await tab.getByRole("button", { name: /^In call/ }).click()
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    expect(await violations(tab)).toEqual([])
  })

  it("name in the console what is wrong with a value, and have their default then; those that are right say nothing", async () => {
    const tab = await open(`<voice-agent theme="light" size="large" text-input="off"></voice-agent>`)
    await screen(tab, "Talk to us")
    const warnings: Array<string> = []
    tab.on("console", (message) => {
      if (message.type() === "warning") warnings.push(message.text())
    })
    const colour = () =>
      tab.evaluate<string>(`{
        const button = document.querySelector("voice-agent").shadowRoot.querySelector(".primary")
        getComputedStyle(button).backgroundColor
      }`)
    const before = await colour()
    await tab.evaluate(`{
      const agent = document.querySelector("voice-agent")
      for (const [name, value] of Object.entries({ accent: "grean", corner: "left", size: "", launcher: "round", avatar: "https://[" }))
        agent.setAttribute(name, value)
    }`)
    await eventually("the warnings", () => warnings.length === 3)
    expect(warnings).toEqual([
      'voicegate: the attribute accent="grean" has to be: a color',
      expect.stringMatching(/^voicegate: the attribute corner="left" has to be: bottom-right, .*top-center$/),
      'voicegate: the attribute avatar="https://[" has to be: an address',
    ])
    expect(await colour()).toBe(before)
    expect(await tab.locator("voice-agent .panel img").count()).toBe(0)
  })
})

describe("a visitor who writes", () => {
  it("is offered that as soon as the page's attribute says so", async () => {
    const tab = await open("<voice-agent></voice-agent>")
    await screen(tab, "Talk to us")
    const write = tab.getByRole("button", { name: "Write instead" })
    expect(await write.count()).toBe(0)
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("text-input", "on")')
    await write.waitFor()
  })

  it("begins without a microphone, and has no button for one", async () => {
    const tab = await open('<voice-agent text-input="on"></voice-agent>')
    await tab.evaluate(`{
      window.asked = 0
      const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      navigator.mediaDevices.getUserMedia = (wanted) => (window.asked++, ask(wanted))
    }`)
    const hangUp = await widget.rig.hold()
    await click(tab, "Write instead")
    await screen(tab, "Your place in the queue")
    hangUp()
    await click(tab, "Start the call")
    await screen(tab, "In call")
    await tab.getByRole("textbox", { name: "Message" }).fill("Do you ship to Norway?")
    await click(tab, "Send")
    await see(tab, "You wrote: Do you ship to Norway?")
    expect(await tab.getByRole("button", { name: "Mute" }).count()).toBe(0)
    // longer than a source that gives nothing would be taken for one that is gone
    await tab.waitForTimeout(4_000)
    await screen(tab, "In call")
    expect(await tab.locator("voice-agent .warning:visible").count()).toBe(0)
    expect(await tab.evaluate("window.asked")).toBe(0)
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
  })
})
