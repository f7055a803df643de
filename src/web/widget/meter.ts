/** A level meter on a decibel scale that shows recent peaks and falls slowly. */

/** Sets the loudness, 0 to 1. */
export type Meter = (loudness: number) => void

/** The level shown as zero, in decibels below full scale. */
const FLOOR = 60
/** The fraction of the scale that the bar falls in a second. */
const FALL = 1.6

/** Updates `element`, which has the role meter; its style draws the bar from `--level`. */
export const createMeter = (element: HTMLElement): Meter => {
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

  return (loudness) => {
    target = loudness <= 0 ? 0 : Math.max(0, Math.min(1, 1 + (20 * Math.log10(loudness)) / FLOOR))
    if (running || target === 0) return
    running = true
    last = performance.now()
    requestAnimationFrame(draw)
  }
}
