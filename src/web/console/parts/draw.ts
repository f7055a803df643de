/** Draws a chart of the last hour on a canvas: axes, and stacked bars or lines in the page's colours. */
import { count } from "../words.ts"

/** What is drawn in one colour. */
export interface Series {
  /** which of the page's series colours */
  readonly color: number
  /** a value for each minute; null where there is none. Of stacked bars, the top of each. */
  readonly values: ReadonlyArray<number | null>
}

export interface Picture {
  /** the beginning of each minute, in seconds since 1970 */
  readonly x: ReadonlyArray<number>
  /** bottom first where they are stacked */
  readonly series: ReadonlyArray<Series>
  readonly as: "bars" | "lines"
}

/** The space around the plot, in pixels: the axes are at its left and below it. */
const TOP = 8
const RIGHT = 20
const BOTTOM = 26
const LEFT = 40
/** Labels are at least so far apart. */
const LABEL_WIDTH = 56
const LABEL_HEIGHT = 34
const BAR_WIDTH = 12
/** The least that the upper end of the scale says. */
const LEAST = 4

const MINUTE = 60
const STEPS_MINUTES = [5, 10, 15, 30, 60]

export const variable = (color: number): string => `--series-${color}`

/** The least of 1, 2, 5, 10, 20, 25, 50, 100 … that is not below `least`, of which 1 is the least. */
const roundStep = (least: number): number => {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)))
  const steps = [1, 2, 2.5, 5].map((factor) => factor * power).filter(Number.isInteger)
  return steps.find((step) => step >= least) ?? 10 * power
}

const clock = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`
}

interface Scales {
  readonly left: number
  readonly right: number
  readonly bottom: number
  readonly top: number
  readonly max: number
  readonly x: (seconds: number) => number
  readonly y: (value: number) => number
}

const scalesOf = ({ series, x }: Picture, width: number, height: number): Scales => {
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const max = Math.max(LEAST, highest * 1.1)
  const first = x[0] ?? 0
  const length = (x.at(-1) ?? 0) + MINUTE - first
  const [left, right, top, bottom] = [LEFT, width - RIGHT, TOP, height - BOTTOM]
  return {
    left,
    right,
    bottom,
    top,
    max,
    x: (seconds) => left + ((seconds - first) / length) * (right - left),
    y: (value) => bottom - (value / max) * (bottom - top),
  }
}

const drawAxes = (
  to: CanvasRenderingContext2D,
  { x }: Picture,
  scales: Scales,
  colorOf: (name: string) => string,
): void => {
  const [first = 0, last = 0] = [x[0], x.at(-1)]
  to.font = `12px ${colorOf("--sans")}`
  to.fillStyle = colorOf("--soft")
  to.strokeStyle = colorOf("--rule")
  to.lineWidth = 1
  to.textAlign = "right"
  to.textBaseline = "middle"
  const step = roundStep((LABEL_HEIGHT * scales.max) / (scales.bottom - scales.top))
  for (let value = 0; value <= scales.max; value += step) {
    // on whole pixels, or the line is two grey ones
    const y = Math.round(scales.y(value)) + 0.5
    to.beginPath()
    to.moveTo(scales.left, y)
    to.lineTo(scales.right, y)
    to.stroke()
    to.fillText(count(value), scales.left - 5, y)
  }
  to.textAlign = "center"
  to.textBaseline = "top"
  const minuteWidth = scales.x(first + MINUTE) - scales.left
  const minutes = STEPS_MINUTES.find((each) => each * minuteWidth >= LABEL_WIDTH) ?? 60
  const seconds = minutes * MINUTE
  for (let at = Math.ceil(first / seconds) * seconds; at <= last + MINUTE; at += seconds) {
    to.fillText(clock(at), scales.x(at), scales.bottom + 7)
  }
}

const drawBars = (to: CanvasRenderingContext2D, { x }: Picture, { values }: Series, scales: Scales): void => {
  const width = Math.max(1, Math.round(Math.min(BAR_WIDTH, 0.8 * (scales.x((x[0] ?? 0) + MINUTE) - scales.left))))
  for (const [i, at] of x.entries()) {
    const y = Math.round(scales.y(values[i] ?? 0))
    to.fillRect(Math.round(scales.x(at)), y, width, scales.bottom - y)
  }
}

const drawLine = (to: CanvasRenderingContext2D, { x }: Picture, { values }: Series, scales: Scales): void => {
  const points = x.flatMap((at, i) => {
    const value = values[i] ?? null
    return value === null ? [] : [[scales.x(at), scales.y(value)] as const]
  })
  to.lineWidth = 2
  to.lineJoin = "round"
  to.beginPath()
  for (const [left, top] of points) to.lineTo(left, top)
  to.stroke()
  for (const [left, top] of points) {
    to.beginPath()
    to.arc(left, top, 2.5, 0, 2 * Math.PI)
    to.fill()
  }
}

/** Draws it anew, as large as the canvas is on the page. */
export const draw = (canvas: HTMLCanvasElement, picture: Picture): void => {
  const to = canvas.getContext("2d")
  if (to === null) return
  const { clientHeight: height, clientWidth: width } = canvas
  canvas.width = Math.round(width * devicePixelRatio)
  canvas.height = Math.round(height * devicePixelRatio)
  to.scale(devicePixelRatio, devicePixelRatio)
  const style = getComputedStyle(canvas)
  const colorOf = (name: string): string => style.getPropertyValue(name).trim()
  const scales = scalesOf(picture, width, height)
  drawAxes(to, picture, scales, colorOf)
  // a stack is drawn from its top: each lies before what is above it
  const isStack = picture.as === "bars"
  for (const series of isStack ? [...picture.series].reverse() : picture.series) {
    to.fillStyle = colorOf(variable(series.color))
    to.strokeStyle = to.fillStyle
    if (isStack) drawBars(to, picture, series, scales)
    else drawLine(to, picture, series, scales)
  }
}
