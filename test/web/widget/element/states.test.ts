/**
 * Every state of the widget, as the preview has it and as the gate says what a visitor would find: axe in light, dark and forced colours, nothing
 * said twice, a next step, and nothing cut off, covered or beside its place, as wide as a page gives it.
 */
import type { Frame, Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { SAMPLES } from "../../../../src/web/widget/preview/samples.ts"
import { eventually } from "../../../harness/process.ts"
import { useShop } from "../shop.ts"

const { open, widget } = useShop()

const OFFERS = [{ kind: "number", label: "Call +44 20 7946 0000", target: "tel:+442079460000" }]
const FOUND: Readonly<Record<string, object>> = {
  "idle, open": { state: "open", estimatedWaitSeconds: 0 },
  "idle, with a wait": { state: "open", estimatedWaitSeconds: 400 },
  "idle, closed": { state: "closed", opensAt: "2030-01-01T09:00:00Z", offers: OFFERS },
  "idle, full": { state: "full" },
  "idle, paused": { state: "paused" },
  "idle, draining": { state: "draining" },
}
/** Where there is nothing to do but wait, and the screen says until when. */
const WITHOUT_STEP = /^(idle, (closed|full|draining)|closed|budget|limited-today)$/

/** What is wrong with the screen as it is. */
const LOOK = `(() => {
  const panel = document.querySelector("voice-agent").shadowRoot.querySelector(".panel")
  const card = panel.getBoundingClientRect()
  const shown = (selector) => [...panel.querySelectorAll(selector)].filter((each) => each.checkVisibility() && !each.closest(".unseen"))
  const nameOf = (each) => each.ariaLabel || each.textContent || each.className
  const wrong = []
  const texts = shown("h2, p, button, a, .mood").map(nameOf).filter((text) => text.length > 3)
  for (const text of new Set(texts)) if (texts.filter((each) => each.replace(/[.]$/, "") === text).length > 1) wrong.push("says twice: " + text)
  for (const each of shown("h2, p, button, a, input, .orb, .picture")) {
    const box = each.getBoundingClientRect()
    if (box.left < card.left || box.right > card.right) wrong.push("leaves the card: " + nameOf(each))
    if (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline" && !each.matches("input, .orb"))
      wrong.push("is cut off: " + nameOf(each))
  }
  for (const sign of shown(".picture")) {
    const [outer, inner] = [sign, sign.querySelector(".icon")].map((each) => each.getBoundingClientRect())
    if (Math.abs(outer.x + outer.width / 2 - inner.x - inner.width / 2) > 1) wrong.push("an icon beside its place")
  }
  const steps = shown("button:not(.captions, .minimize, [aria-disabled=true]), a[href]").length
  return { wrong, steps, titles: shown("h2").length }
})()`

interface Look {
  readonly wrong: ReadonlyArray<string>
  readonly steps: number
  readonly titles: number
}

/** The preview in a frame as wide as that. */
const preview = async (tab: Page, width: number): Promise<Frame> => {
  await tab.evaluate(`{
    document.querySelector("iframe")?.remove()
    window.ready = false
    addEventListener("message", () => { window.ready = true })
    const frame = Object.assign(document.createElement("iframe"), { src: "${widget.rig.url}widget/preview", title: "Preview" })
    frame.style.cssText = "inline-size: ${width}px; block-size: 760px"
    document.body.append(frame)
  }`)
  await tab.waitForFunction("window.ready")
  const frame = tab.frames().find((each) => each.url().includes("/widget/preview"))
  if (frame === undefined) throw new Error("there is no preview")
  return frame
}

const tell = (tab: Page, attributes: object, state: string): Promise<void> =>
  tab.evaluate(`document.querySelector("iframe").contentWindow.postMessage(
    { "voicegate-preview": ${JSON.stringify({ attributes, state })} }, "*")`)

const violationsOf = (frame: Frame): Promise<ReadonlyArray<string>> =>
  frame.evaluate<ReadonlyArray<string>>(
    `axe.run({ rules: { "page-has-heading-one": { enabled: false }, region: { enabled: false }, "landmark-one-main": { enabled: false } } })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))`,
  )

describe("each state of the widget", () => {
  for (const lang of ["en", "ar", "de"]) {
    it(`has a title and a next step, says nothing twice, and is whole in 440 and 240 pixels (${lang})`, async () => {
      const tab = await open("")
      const found: Record<string, ReadonlyArray<string>> = {}
      const note = async (frame: Frame, name: string): Promise<void> => {
        const { steps, titles, wrong } = await frame.evaluate<Look>(LOOK)
        const missing = [
          ...(titles === 1 ? [] : [`${titles} titles`]),
          ...(steps > 0 || WITHOUT_STEP.test(name) || /^(full|draining|limited|failed)$/.test(name)
            ? []
            : ["no next step"]),
        ]
        if (wrong.length + missing.length > 0) found[`${name}, ${lang}`] = [...wrong, ...missing]
      }
      for (const width of [440, 240]) {
        const frame = await preview(tab, width)
        for (const state of Object.keys(SAMPLES)) {
          await tell(tab, { lang }, state)
          await frame.waitForTimeout(60)
          await note(frame, state)
        }
      }
      expect(found).toEqual({})
    })
  }

  it("has no finding of axe in light, dark and forced colours", async () => {
    const tab = await open("")
    const frame = await preview(tab, 440)
    const found: Record<string, ReadonlyArray<string>> = {}
    for (const state of Object.keys(SAMPLES)) {
      await tell(tab, {}, state)
      await frame.waitForTimeout(60)
      for (const look of [{ colorScheme: "light" }, { colorScheme: "dark" }, { forcedColors: "active" }] as const) {
        await tab.emulateMedia({ colorScheme: "light", forcedColors: "none", ...look })
        const violations = await violationsOf(frame)
        if (violations.length > 0) found[`${state}, ${JSON.stringify(look)}`] = violations
      }
    }
    expect(found).toEqual({})
  })

  it("is as good while the gate says what a visitor would find", async () => {
    const tab = await open("")
    const wrongs: Record<string, unknown> = {}
    let json = {}
    await tab.route("**/api/availability?*", (route) =>
      route.fulfill({ json, headers: { "access-control-allow-origin": "*" } }),
    )
    for (const [name, answer] of Object.entries(FOUND)) {
      json = answer
      const frame = await preview(tab, 240)
      await eventually("the first screen", () => frame.evaluate<boolean>(`${LOOK}.titles === 1`))
      await frame.waitForTimeout(400)
      const { steps, wrong } = await frame.evaluate<Look>(LOOK)
      const violations = await violationsOf(frame)
      const step = steps > 0 || WITHOUT_STEP.test(name) ? [] : ["no next step"]
      if (wrong.length + violations.length + step.length > 0) wrongs[name] = [...wrong, ...violations, ...step]
    }
    expect(wrongs).toEqual({})
  })
})
