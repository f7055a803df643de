/**
 * Every state of the widget, as the preview has it and as the gate says what a visitor would find: axe in light, dark and forced colours, nothing
 * said twice, a next step, and nothing cut off, covered or beside its place, as wide as a page gives it.
 */
import type { Frame, Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { NAMES } from "../../../../src/web/widget/languages/languages.ts"
import { SAMPLES } from "../../../../src/web/widget/preview/samples.ts"
import { eventually } from "../../../harness/process.ts"
import { inPanel, previewAt, tell } from "../preview.ts"
import { useShop } from "../shop.ts"

const { open, widget } = useShop()

const preview = (tab: Page, width: number, height?: number): Promise<Frame> =>
  previewAt(widget.rig.url, tab, width, height)

const OFFERS = [{ kind: "number", label: "Call +44 20 7946 0000", target: "tel:+442079460000" }]
const FOUND: Readonly<Record<string, object>> = {
  "idle, open": { state: "open", estimatedWaitSeconds: 0 },
  "idle, with a wait": { state: "open", estimatedWaitSeconds: 400 },
  "idle, closed": { state: "closed", opensAt: "2030-01-01T09:00:00Z", offers: OFFERS },
  "idle, full": { state: "full" },
  "idle, paused": { state: "paused" },
  "idle, paused for a while": { state: "paused", pausedUntil: "2030-01-01T09:00:00Z" },
  "idle, draining": { state: "draining" },
  "idle, without a budget": { state: "budget_exhausted", resetsAt: "2030-01-01T09:00:00Z" },
}
/** Where there is nothing to do but wait, and the screen says until when. */
const WITHOUT_STEP = /^(idle, (closed|full|draining|without a budget)|closed|budget|limited-today)$/

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

const violationsOf = (frame: Frame): Promise<ReadonlyArray<string>> =>
  frame.evaluate<ReadonlyArray<string>>(
    `axe.run({ rules: { "page-has-heading-one": { enabled: false }, region: { enabled: false }, "landmark-one-main": { enabled: false } } })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))`,
  )

/** Answers what a visitor would find, until it is called again. */
const answering = async (tab: Page): Promise<(found: object) => void> => {
  let json = {}
  await tab.route("**/api/availability?*", (route) =>
    route.fulfill({ json, headers: { "access-control-allow-origin": "*" } }),
  )
  return (found) => {
    json = found
  }
}

/** The first screen, once it shows what a visitor would find. */
const firstScreen = async (tab: Page, width: number): Promise<Frame> => {
  const frame = await preview(tab, width)
  await eventually("the first screen", () => frame.evaluate<boolean>(`${LOOK}.titles === 1`))
  await frame.waitForTimeout(400)
  return frame
}

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
    const answer = await answering(tab)
    for (const [name, found] of Object.entries(FOUND)) {
      answer(found)
      const frame = await firstScreen(tab, 240)
      const { steps, wrong } = await frame.evaluate<Look>(LOOK)
      const violations = await violationsOf(frame)
      const step = steps > 0 || WITHOUT_STEP.test(name) ? [] : ["no next step"]
      if (wrong.length + violations.length + step.length > 0) wrongs[name] = [...wrong, ...violations, ...step]
    }
    expect(wrongs).toEqual({})
  })

  it("has a picture of its own for each reason why nobody is let in, and promises no place to a visitor without one", async () => {
    const tab = await open("")
    const answer = await answering(tab)
    const pictures = new Map<string, string>()
    for (const state of ["closed", "full", "draining", "budget_exhausted"]) {
      answer({ state })
      const frame = await firstScreen(tab, 440)
      const lines = await inPanel<string>(frame, `panel.querySelector(".picture:not([hidden]) path").getAttribute("d")`)
      pictures.set(lines, state)
    }
    expect([...pictures.values()]).toEqual(["closed", "full", "draining", "budget_exhausted"])
    for (const pausedUntil of [undefined, "2030-01-01T09:00:00Z"]) {
      answer({ state: "paused", pausedUntil })
      const text = await inPanel<string>(await firstScreen(tab, 440), `panel.querySelector("h2 + .text").textContent`)
      expect(text).toMatch(/^Calls are paused( until .*2030.*)?\. You can already join the queue\.$/)
      expect(text.includes("until")).toBe(pausedUntil !== undefined)
    }
  })

  it("says until when a budget is used up or the queue is paused, and not that it is closed", async () => {
    const tab = await open("")
    const answer = await answering(tab)
    answer({ state: "budget_exhausted", resetsAt: "2030-01-01T09:00:00Z" })
    const frame = await firstScreen(tab, 440)
    expect(await inPanel(frame, `panel.querySelector("h2").textContent`)).toBe("The call time is used up for now")
    expect(await inPanel(frame, `panel.querySelector("h2 + .text").textContent`)).toMatch(/^You can call from .*2030/)
    await tell(tab, {}, "paused")
    await eventually("the pause", () => inPanel<boolean>(frame, `panel.querySelector(".estimate") !== null`))
    expect(await inPanel(frame, `panel.querySelector(".estimate").textContent`)).toMatch(
      /^Paused until \d.+\. You’ll keep your place\.$/,
    )
  })

  it("listens to nobody who writes, and shows the answers where captions are off", async () => {
    const tab = await open("")
    const frame = await preview(tab, 440)
    await tell(tab, { captions: "off" }, "writing")
    const shown = (): Promise<string> =>
      inPanel(
        frame,
        `[".messages", ".captions", ".mood", ".bar [role=timer]"].map((each) => panel.querySelector(each)?.checkVisibility()).join()`,
      )
    await eventually("the answers", async () => (await shown()) === "true,false,false,false")
  })

  it("shows in the lowest window what is said in a call, and what warns of its end", async () => {
    const tab = await open("")
    const frame = await preview(tab, 320, 256)
    for (const [state, part, lines] of [
      ["call", ".messages", 2],
      ["silence", ".warning.silence", 2],
      ["reconnecting", ".notice.warning", 2],
    ] as const) {
      await tell(tab, { mode: "floating" }, state)
      await frame.locator(`voice-agent ${part}`).waitFor()
      await frame.waitForTimeout(400)
      const seen = await inPanel<number>(
        frame,
        `(([whole, part]) => Math.min(whole.bottom, part.bottom) - Math.max(whole.top, part.top))(
          [".body", "${part}"].map((each) => panel.querySelector(each).getBoundingClientRect()))`,
      )
      expect(seen, state).toBeGreaterThanOrEqual(21 * lines)
    }
  })

  it("ends the icon of captions where the text of the card ends, and its button where that has an edge", async () => {
    const tab = await open("")
    const frame = await preview(tab, 440)
    for (const lang of ["en", "ar"]) {
      await tell(tab, { lang }, "")
      await eventually(`the texts of ${lang}`, async () => (await inPanel(frame, "panel.lang")) === lang)
      await tell(tab, { lang }, "call")
      await frame.waitForTimeout(200)
      for (const [forcedColors, part] of [
        ["none", ".captions .icon"],
        ["active", ".captions"],
      ] as const) {
        await tab.emulateMedia({ forcedColors })
        const side = lang === "ar" ? "left" : "right"
        const [icon = 0, foot = 0] = await inPanel<ReadonlyArray<number>>(
          frame,
          `["${part}", ".foot"].map((each) => panel.querySelector(each).getBoundingClientRect().${side})`,
        )
        expect(Math.abs(icon - foot), `${lang}, ${part}`).toBeLessThanOrEqual(1)
      }
    }
  })

  it("moves neither button of a call when the caller mutes, in any language, and has a small orb in a low window", async () => {
    const tab = await open("")
    const moved: Array<string> = []
    // the second one is as wide as a phone's panel
    for (const width of [440, 352, 240]) {
      const frame = await preview(tab, width)
      for (const lang of NAMES) {
        const edges: Array<string> = []
        await tell(tab, { lang }, "")
        await eventually(`the texts of ${lang}`, async () => (await inPanel(frame, "panel.lang")) === lang)
        for (const state of ["call", "muted"]) {
          await tell(tab, { lang }, state)
          await frame.waitForTimeout(60)
          edges.push(
            await inPanel<string>(
              frame,
              `[...panel.querySelectorAll(".mute, .picker, .hang-up")].map((each) => {
                const { height, width, x, y } = each.getBoundingClientRect()
                return [x, y, width, height].map(Math.round)
              }).join(" | ")`,
            ),
          )
        }
        if (edges[0] !== edges[1]) moved.push(`${lang}, ${width} pixels: ${edges.join(" → ")}`)
      }
    }
    expect(moved).toEqual([])
    for (const [height, orb] of [
      [760, 88],
      [400, 48],
    ] as const) {
      const frame = await preview(tab, 440, height)
      await tell(tab, {}, "call")
      await frame.waitForTimeout(60)
      const [size, bottom] = await inPanel<ReadonlyArray<number>>(
        frame,
        `[panel.querySelector(".live").offsetWidth, panel.getBoundingClientRect().height]`,
      )
      expect(size).toBe(orb)
      expect(bottom).toBeLessThanOrEqual(height)
    }
  })

  it("shows in forced colours what is pressed, what warns and who has spoken, where backgrounds are gone", async () => {
    const tab = await open("")
    await tab.emulateMedia({ forcedColors: "active" })
    const frame = await preview(tab, 440)
    await tell(tab, {}, "ending")
    await frame.waitForTimeout(200)
    const borders = await inPanel<ReadonlyArray<string>>(
      frame,
      `[...panel.querySelectorAll(".notice:not([hidden]), .messages p")].map((each) => getComputedStyle(each).borderTopWidth)`,
    )
    expect(borders.length).toBeGreaterThan(2)
    expect(new Set(borders)).toEqual(new Set(["1px"]))
    const colour = (): Promise<string> =>
      inPanel(frame, `getComputedStyle(panel.querySelector(".captions")).backgroundColor`)
    const pressed = await colour()
    await inPanel(frame, `panel.querySelector(".captions").click()`)
    expect(await colour()).not.toBe(pressed)
  })
})
