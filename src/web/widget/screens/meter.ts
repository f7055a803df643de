/** A level meter on a decibel scale that shows recent peaks and falls slowly. */
import { h } from "./dom.ts"

export interface Meter {
  readonly element: HTMLElement
  /** Sets the loudness, 0 to 1. */
  readonly show: (loudness: number) => void
}

/** The level shown as zero, in decibels below full scale. */
const FLOOR = 60
/** The fraction of the scale that the bar falls in a second. */
const FALL = 1.6

/** A meter with a name; its style draws the bar from `--level`. */
export const createMeter = (label: string): Meter => {
  const element = h("div", {
    class: "track meter",
    role: "meter",
    "aria-label": label,
    "aria-valuemax": 1,
    "aria-valuenow": 0,
  })
  let shown = 0
  let target = 0
  let last = 0
  let running = false

  const draw = (now: number): void => {
    shown = Math.max(target, shown - (FALL * Math.max(0, now - last)) / 1_000)
    last = now
    element.ariaValueNow = shown.toFixed(2)
    element.style.setProperty("--level", shown.toFixed(3))
    running = shown > 0
    if (running) requestAnimationFrame(draw)
  }

  const show = (loudness: number): void => {
    // silence is minus infinity
    target = Math.max(0, Math.min(1, 1 + (20 * Math.log10(loudness)) / FLOOR))
    if (running || target === 0) return
    running = true
    last = performance.now()
    requestAnimationFrame(draw)
  }
  return { element, show }
}
