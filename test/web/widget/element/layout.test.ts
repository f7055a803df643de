/**
 * How the states of the widget are laid out: messages are whole, what scrolls says so, nothing is said beside a wait but the wait, and what
 * matters stands out in forced colours too. In a real browser.
 */
import type { Frame, Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { NAMES } from "../../../../src/web/widget/languages/languages.ts"
import { eventually } from "../../../harness/process.ts"
import { inPanel, previewAt, tell } from "../preview.ts"
import { useShop } from "../shop.ts"

const { open, widget } = useShop()

/** How long a new state may need to be drawn: its fade, and the next tick of its times. In milliseconds. */
const DRAWN = 450

/** A state of the preview, drawn, in a frame as large as that. */
const shown = async (tab: Page, state: string, width: number, height: number, attributes = {}): Promise<Frame> => {
  const frame = await previewAt(widget.rig.url, tab, width, height)
  await tell(tab, attributes, state)
  await frame.waitForTimeout(DRAWN)
  return frame
}

const FLOATING = { mode: "floating" }
/** A phone's window, and one of 1280 by 1024 pixels at 400 %. */
const [PHONE, ZOOMED] = [
  [360, 720],
  [320, 256],
] as const

describe("a transcript", () => {
  it("shows whole messages or none, whatever room it has", async () => {
    const tab = await open("")
    const wrong: Array<string> = []
    let gone = 0
    const rooms = Array.from({ length: 11 }, (_, index) => [360, 720 - 32 * index, {}] as const)
    for (const [width, height, attributes] of [...rooms, [...ZOOMED, FLOATING] as const]) {
      for (const state of height === 256 ? ["call"] : ["call", "silence"]) {
        const frame = await shown(tab, state, width, height, attributes)
        const messages = await inPanel<ReadonlyArray<{ readonly cut: number; readonly seen: boolean }>>(
          frame,
          `[...panel.querySelectorAll(".messages li")].map((each) => {
            const [{ top }, box] = [each.parentElement.parentElement, each].map((one) => one.getBoundingClientRect())
            return { cut: box.bottom > top + 1 ? top - box.top : 0, seen: Number(getComputedStyle(each).opacity) > 0.1 }
          })`,
        )
        if (!messages.at(-1)?.seen) wrong.push(`${state}, ${height}: the last one is gone`)
        for (const { cut, seen } of messages) {
          if (seen && cut > 1) wrong.push(`${state}, ${height}: ${cut}`)
          if (!seen) gone++
        }
      }
    }
    expect(wrong).toEqual([])
    // some would have been cut through
    expect(gone).toBeGreaterThan(2)
  })

  it("shows a message that is higher than the list, and one that was scrolled to", async () => {
    const tab = await open("")
    const frame = await shown(tab, "call", ...ZOOMED, FLOATING)
    const seen = (which: number): Promise<number> =>
      inPanel(frame, `Number(getComputedStyle([...panel.querySelectorAll(".messages li")].at(${which})).opacity)`)
    expect(await seen(-1)).toBeGreaterThan(0.9)
    expect(await seen(0)).toBeLessThan(0.1)
    // at once: the next tick would be a quarter of a second later
    const whole = await inPanel<boolean>(
      frame,
      `(async () => {
        panel.querySelector(".messages").scrollTo(0, -1000)
        for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame)
        return !panel.querySelector(".messages li").classList.contains("cut")
      })()`,
    )
    expect(whole).toBe(true)
    await eventually("the first message", async () => (await seen(0)) > 0.9)
  })
})

describe("a low window", () => {
  const fades = (frame: Frame): Promise<boolean> =>
    inPanel(frame, `getComputedStyle(panel.querySelector(".screen:not(.old)")).maskImage !== "none"`)

  it("fades at the bottom while there is more below, and only then", async () => {
    const tab = await open("")
    for (const state of ["waiting", "offers"]) {
      const frame = await shown(tab, state, ...ZOOMED, FLOATING)
      expect(await fades(frame), state).toBe(true)
      await inPanel(frame, `panel.querySelector(".screen").scrollTo(0, 1000)`)
      await eventually("the end", async () => !(await fades(frame)))
    }
    expect(await fades(await shown(tab, "waiting", 440, 760, FLOATING))).toBe(false)
    expect(await fades(await shown(tab, "call", ...ZOOMED, FLOATING))).toBe(false)
  })

  it("shows the whole of a notice in a call, with its lower corners, and a gap below it", async () => {
    const tab = await open("")
    for (const state of ["silence", "ending", "reconnecting"]) {
      const frame = await shown(tab, state, ...ZOOMED, FLOATING)
      const [top = 0, bottom = 0, from = 0, to = 0] = await inPanel<ReadonlyArray<number>>(
        frame,
        `(() => {
          const [notice, bar, foot] = [".notice:not([hidden])", ".bar", ".foot"].map((each) => panel.querySelector(each).getBoundingClientRect())
          return [notice.top, notice.bottom, bar.bottom, foot.top]
        })()`,
      )
      expect(top - from, state).toBeGreaterThanOrEqual(0)
      expect(to - bottom, state).toBeGreaterThanOrEqual(6)
    }
  })
})

describe("a refusal", () => {
  for (const [state, text, button] of [
    ["closed", /^You can call from .*\d:\d\d/, ""],
    ["limited", /^You can call from .*\d:\d\d/, ""],
    ["budget", /^You can call from .*\d:\d\d/, ""],
    ["full", /^$/, "Try again in 2:00"],
    ["draining", /^$/, "Try again in 1:00"],
    ["failed", /^$/, "Try again in 1:00"],
    ["blocked", /^Turn off your VPN/, "Try again"],
  ] as const) {
    it(`says one sentence at most below its title, and has no button that says nothing of the wait (${state})`, async () => {
      const tab = await open("")
      const frame = await shown(tab, state, ...PHONE, FLOATING)
      const { height, texts, buttons } = await inPanel<{ height: number; texts: string; buttons: string }>(
        frame,
        `(() => {
          const shown = (selector) => [...panel.querySelectorAll(".screen:not(.old) " + selector)].filter((each) => each.checkVisibility())
          const textOf = (selector) => shown(selector).map((each) => each.textContent).join(" ")
          return { height: panel.offsetHeight, texts: textOf("p"), buttons: textOf("button") }
        })()`,
      )
      expect(texts).toMatch(text)
      // the clock of a countdown may have gone on by a second
      expect(buttons.replace("1:59", "2:00").replace("0:59", "1:00")).toBe(button)
      // as high as what is in it
      expect(height).toBeLessThan(button === "" ? 260 : 320)
    })
  }
})

describe("a call", () => {
  it("warns of silence, and only tells of its time limit", async () => {
    const tab = await open("")
    for (const [state, warnings] of [
      ["silence", 1],
      ["ending", 0],
    ] as const) {
      const frame = await shown(tab, state, 440, 700)
      const count = (selector: string): Promise<number> =>
        inPanel(frame, `[...panel.querySelectorAll("${selector}")].filter((each) => each.checkVisibility()).length`)
      expect(await count(".warning"), state).toBe(warnings)
      expect(await count(".notice"), state).toBe(1)
    }
  })

  it("leaves no time alone in the last line of a notice", async () => {
    const tab = await open("")
    const frame = await shown(tab, "silence", ...PHONE, FLOATING)
    const lines = await inPanel<ReadonlyArray<number>>(
      frame,
      `(() => {
        const range = document.createRange()
        range.selectNodeContents(panel.querySelector(".silence"))
        return [...range.getClientRects()].map((line) => line.width)
      })()`,
    )
    expect(lines.length).toBe(2)
    expect(Math.min(...lines) / Math.max(...lines)).toBeGreaterThan(0.6)
  })

  it("has room for what its text field asks for, in every language", async () => {
    const tab = await open("")
    const frame = await previewAt(widget.rig.url, tab, 240)
    const cut: Array<string> = []
    for (const lang of NAMES) {
      await tell(tab, { lang }, "")
      await eventually(`the texts of ${lang}`, async () => (await inPanel(frame, "panel.lang")) === lang)
      await tell(tab, { lang }, "call")
      await frame.waitForTimeout(60)
      const [room = 0, text = 0] = await inPanel<ReadonlyArray<number>>(
        frame,
        `(() => {
          const field = panel.querySelector("input")
          const style = getComputedStyle(field)
          const pen = document.createElement("canvas").getContext("2d")
          pen.font = style.font
          return [field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight), pen.measureText(field.placeholder).width]
        })()`,
      )
      if (text > room) cut.push(`${lang}: ${text} of ${room}`)
    }
    expect(cut).toEqual([])
  })
})

describe("rows of what else there is", () => {
  it("have one rule between them, or a text", async () => {
    const tab = await open("")
    const frame = await shown(tab, "offers", ...PHONE, FLOATING)
    const gaps = await inPanel<ReadonlyArray<number>>(
      frame,
      `(() => {
        const lines = [...panel.querySelectorAll(".way, .offers > p")].filter((each) => each.checkVisibility())
        return lines.slice(1).flatMap((each, index) =>
          [each, lines[index]].every((row) => row.matches(".way"))
            ? [each.getBoundingClientRect().top - lines[index].getBoundingClientRect().bottom]
            : []
        )
      })()`,
    )
    expect(gaps.filter((gap) => gap > 0)).toEqual([])
    expect(await frame.locator("voice-agent .way:visible").count()).toBeGreaterThan(1)
  })
})

describe("forced colours", () => {
  it("have a flat orb with an edge, and a first button and an end of the call that differ from the other buttons", async () => {
    const tab = await open("")
    await tab.emulateMedia({ forcedColors: "active" })
    const frame = await shown(tab, "call", 440, 760)
    const colours = (...selectors: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
      inPanel(
        frame,
        `${JSON.stringify(selectors)}.map((each) => getComputedStyle(panel.querySelector(each)).backgroundColor)`,
      )
    const [hangUp, mute] = await colours(".hang-up", ".mute")
    expect(hangUp).not.toBe(mute)
    await tell(tab, { "text-input": "on" }, "")
    await frame.locator("voice-agent .primary").waitFor()
    await frame.waitForTimeout(DRAWN)
    const [primary, other] = await colours(".primary", ".actions button:not(.primary)")
    expect(primary).not.toBe(other)
    const orb = frame.locator("voice-agent .panel .orb").first()
    expect(await inPanel(frame, `getComputedStyle(panel.querySelector(".orb i")).borderTopWidth`)).toBe("2px")
    const picture = (await orb.screenshot()).toString("base64")
    const inTheMiddle = await tab.evaluate<number>(`(async () => {
      const image = Object.assign(new Image(), { src: "data:image/png;base64,${picture}" })
      await image.decode()
      const { height, width } = image
      const pen = new OffscreenCanvas(width, height).getContext("2d")
      pen.drawImage(image, 0, 0)
      const { data } = pen.getImageData(width / 4, height / 4, width / 2, height / 2)
      return new Set(new Uint32Array(data.buffer)).size
    })()`)
    expect(inTheMiddle).toBe(1)
  })
})
