/** Draws the last hour with uPlot: axes, and stacked bars or lines in the page's colours. */
import type { JSX } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import { count } from "../words.ts"

/** One series of the chart. */
export interface Series {
  /** the number of its colour among the series colours of the page */
  readonly color: number
  /** a value for each minute, null for none; for stacked bars, the top of each bar */
  readonly values: ReadonlyArray<number | null>
}

export interface Picture {
  /** the start of each minute, in seconds since 1970 */
  readonly x: ReadonlyArray<number>
  /** stacked series from bottom to top; the same number in every drawing */
  readonly series: ReadonlyArray<Series>
  readonly as: "bars" | "lines"
}

const MINUTE = 60
/** The smallest maximum of the scale. */
const LEAST_MAX = 4
/** The distances between labels on the value axis: 1, 2, 5, 10, 20, 50 … */
const STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((factor) => factor * 10 ** power)).flat()

export const variable = (color: number): string => `--series-${color}`

/** The value of one of the page's CSS variables, which differs between light and dark. */
const resolved = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const dataOf = ({ series, x }: Picture): uPlot.AlignedData => [[...x], ...series.map(({ values }) => [...values])]

/** Each bar starts at the top of the bar below it. Overlapping bars would be visible at the blurred edges. */
const stackedBars = (): uPlot.Series.PathBuilder | undefined => {
  const valuesOf = (plot: uPlot, index: number) => (index === 0 ? [] : Array.from(plot.data[index] ?? []))
  return uPlot.paths.bars?.({
    size: [0.7, 12],
    align: 1,
    disp: {
      y0: { unit: 1, values: (plot, index) => valuesOf(plot, index - 1) },
      y1: { unit: 1, values: valuesOf },
    },
  })
}

const seriesOf = ({ color }: Series, bars: uPlot.Series.PathBuilder | undefined): uPlot.Series => {
  const stroke = () => resolved(variable(color))
  return bars
    ? { stroke, fill: stroke, width: 0, paths: bars, points: { show: false } }
    : { stroke, width: 2, spanGaps: true, points: { show: true, size: 5, fill: stroke } }
}

const optionsOf = (picture: Picture): Omit<uPlot.Options, "height" | "width"> => {
  const axis: uPlot.Axis = {
    stroke: () => resolved("--soft"),
    grid: { stroke: () => resolved("--rule"), width: 1 },
    ticks: { show: false },
    font: `12px ${resolved("--sans")}`,
  }
  const bars = picture.as === "bars" ? stackedBars() : undefined
  return {
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 20, 0, 0],
    scales: {
      x: { range: (_, min, max) => [min, max + MINUTE] },
      // max is null when there is no value, although its type excludes null
      y: { range: (_, __, max) => [0, Math.max(LEAST_MAX, (max ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 26, gap: 7, space: 56, values: "{HH}:{mm}" },
      { ...axis, size: 40, space: 34, incrs: STEPS, values: (_, splits) => splits.map(count) },
    ],
    series: [{}, ...picture.series.map((series) => seriesOf(series, bars))],
  }
}

/** Redraws when the data, the size or the colour scheme changes. */
export const Canvas = (picture: Picture): JSX.Element => {
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  useLayoutEffect(() => {
    const element = container.current
    if (element === null) return
    const size = () => ({ width: element.clientWidth, height: element.clientHeight })
    const created = new uPlot({ ...optionsOf(picture), ...size() }, dataOf(picture), element)
    plot.current = created
    const sized = new ResizeObserver(() => created.setSize(size()))
    sized.observe(element)
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    const redraw = (): void => created.redraw()
    scheme.addEventListener("change", redraw)
    return () => {
      sized.disconnect()
      scheme.removeEventListener("change", redraw)
      created.destroy()
    }
  }, [])
  useLayoutEffect(() => plot.current?.setData(dataOf(picture)), [picture.series])
  return <div ref={container} class="canvas" />
}
