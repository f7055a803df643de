/** Whatever accent a page sets, the widget's text can be read and its focus can be seen (WCAG 2.2: 1.4.3 and 1.4.11). In a real browser. */
import { describe, expect, it } from "vitest"
import { tabTo } from "../../focus.ts"
import { screen } from "../../visitor.ts"
import { useShop } from "../shop.ts"

const { open } = useShop()

const STEPS = [0, 51, 102, 153, 204, 255]
/** A grid over all colours, those of the report, some in other notations, and the one next to which black and white are equal. */
const ACCENTS = [
  ...STEPS.flatMap((red) => STEPS.flatMap((green) => STEPS.map((blue) => `rgb(${red} ${green} ${blue})`))),
  "yellow",
  "#1a1a5e",
  "#757575",
  "#767676",
  "hsl(60 100% 50%)",
  "oklch(0.7 0.3 150)",
  "color(display-p3 1 1 0)",
  "rgb(255 255 0 / 0.5)",
]

/** The ratios of one accent; `text` is the least of those that text has, `ring` that of the focus ring. */
interface Ratios {
  readonly accent: string
  readonly text: number
  readonly ring: number
}

const MEASURE = `
  const host = document.querySelector("voice-agent")
  const root = host.shadowRoot
  const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true })
  const luminance = (color) => {
    pixel.fillStyle = color
    pixel.fillRect(0, 0, 1, 1)
    const [r, g, b] = [...pixel.getImageData(0, 0, 1, 1).data].map((each) => {
      const share = each / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
  }
  const button = root.querySelector(".primary")
  const probe = document.createElement("span")
  root.querySelector(".screen").append(probe)
  const value = (name) => {
    probe.style.color = "var(" + name + ")"
    return getComputedStyle(probe).color
  }
  const measure = (accent) => {
    host.style.setProperty("--voice-agent-accent", accent)
    const { backgroundColor, color, outlineColor, outlineStyle } = getComputedStyle(button)
    const [ground, legible, ink, tint] = ["--ground", "--legible", "--ink", "--tint"].map(value)
    return {
      accent,
      text: Math.min(ratio(color, backgroundColor), ratio(legible, ground), ratio(ink, tint)),
      ring: outlineStyle === "solid" ? ratio(outlineColor, ground) : 0,
    }
  }`

describe("the contrast of the widget", () => {
  for (const theme of ["light", "dark"]) {
    it(`follows from any accent, ${theme}`, async () => {
      const tab = await open(`<voice-agent theme="${theme}"></voice-agent>`)
      await screen(tab, "Talk to us")
      await tabTo(tab, "Start a call")
      const all = await tab.evaluate<ReadonlyArray<Ratios>>(`{ ${MEASURE}; ${JSON.stringify(ACCENTS)}.map(measure) }`)
      expect(all.length).toBeGreaterThan(220)
      expect(all.filter(({ ring, text }) => !(text >= 4.5 && ring >= 3))).toEqual([])
    })
  }

  it("leaves a colour of text on the accent that the page sets", async () => {
    const tab = await open("<voice-agent></voice-agent>")
    await screen(tab, "Talk to us")
    const color = await tab.evaluate<string>(`{
      const host = document.querySelector("voice-agent")
      host.style.setProperty("--voice-agent-accent", "yellow")
      host.style.setProperty("--voice-agent-on-accent", "rgb(1, 2, 3)")
      getComputedStyle(host.shadowRoot.querySelector(".primary")).color
    }`)
    expect(color).toBe("rgb(1, 2, 3)")
  })
})
