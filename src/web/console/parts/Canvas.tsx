/** Draws series over time with uPlot: axes, and stacked bars or lines in the page's colours, and the time that is looked at. */
import type { JSX } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import type { Series } from "../series.ts"
import { count } from "../words.ts"

export interface Picture {
  /** when each bucket begins, in seconds since 1970 */
  readonly x: ReadonlyArray<number>
  readonly stepSeconds: number
  /** stacked series from bottom to top */
  readonly series: ReadonlyArray<Series>
  readonly as: "bars" | "lines" | "steps"
  /** a value on the axis; a count when absent */
  readonly unit?: (value: number) => string
}

/** The smallest maximum of the scale. */
const LEAST_MAX = 4
/** The distances between labels on the value axis: 1, 2, 5, 10, 20, 50 …, and of times those that people count in. */
const COUNTS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((factor) => factor * 10 ** power)).flat()
const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 36_000]

export const variable = (color: number): string => `--series-${color}`

/** The value of one of the page's CSS variables, which differs between light and dark. */
const resolved = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** For stacked bars, the top of each bar. */
const heights = ({ as, series }: Picture): ReadonlyArray<ReadonlyArray<number | null>> => {
  if (as !== "bars") return series.map(({ values }) => values)
  const sums: Array<number> = []
  return series.map(({ values }) =>
    values.map((value, i) => {
      sums[i] = (sums[i] ?? 0) + (value ?? 0)
      return sums[i]
    }),
  )
}

const dataOf = (picture: Picture): uPlot.AlignedData => [
  [...picture.x],
  ...heights(picture).map((values) => [...values]),
]

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

const seriesOf = (
  { color, dashed = false }: Series,
  as: Picture["as"],
  paths: uPlot.Series.PathBuilder | undefined,
): uPlot.Series => {
  const stroke = () => resolved(variable(color))
  if (as === "bars") return { stroke, fill: stroke, width: 0, ...(paths && { paths }), points: { show: false } }
  const line = { stroke, width: dashed ? 1.5 : 2, ...(dashed && { dash: [5, 4] }), ...(paths && { paths }) }
  // a value between two gaps would otherwise not be drawn
  return as === "steps"
    ? { ...line, points: { show: false } }
    : { ...line, spanGaps: true, points: { show: true, size: 5, fill: stroke } }
}

const pathsOf = (as: Picture["as"]): uPlot.Series.PathBuilder | undefined => {
  if (as === "bars") return stackedBars()
  return as === "steps" ? uPlot.paths.stepped?.({ align: 1 }) : undefined
}

const optionsOf = (picture: Picture): Omit<uPlot.Options, "height" | "width"> => {
  const axis: uPlot.Axis = {
    stroke: () => resolved("--soft"),
    grid: { stroke: () => resolved("--rule"), width: 1 },
    ticks: { show: false },
    font: `12px ${resolved("--sans")}`,
  }
  const paths = pathsOf(picture.as)
  const { stepSeconds, unit } = picture
  const isWeek = stepSeconds >= 3600
  return {
    legend: { show: false },
    cursor: { show: true, x: true, y: false, points: { show: false }, drag: { x: false, y: false } },
    padding: [8, 20, 0, 0],
    scales: {
      x: { range: (_, min, max) => [min, max + stepSeconds] },
      // max is null when there is no value, although its type excludes null
      y: { range: (_, __, max) => [0, Math.max(LEAST_MAX, (max ?? 0) * 1.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        gap: 7,
        space: isWeek ? 64 : 56,
        values: isWeek ? "{WWW} {D}" : "{HH}:{mm}",
        ...(isWeek && { incrs: [86_400] }),
      },
      {
        ...axis,
        size: unit === undefined ? 40 : 52,
        space: 34,
        incrs: unit === undefined ? COUNTS : TIMES,
        values: (_, splits) => splits.map(unit ?? count),
      },
    ],
    series: [{}, ...picture.series.map((series) => seriesOf(series, picture.as, paths))],
  }
}

/**
 * Redraws when the data, the size or the colour scheme changes.
 * @param at the bucket that is looked at; undefined for none
 */
export const Canvas = ({
  at,
  onPoint,
  ...picture
}: Picture & { readonly at: number | undefined; readonly onPoint: (at: number | undefined) => void }): JSX.Element => {
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const latest = useRef(onPoint)
  latest.current = onPoint
  const shape = `${picture.as} ${picture.stepSeconds} ${picture.series.map(({ color, label }) => `${label} ${color}`).join()}`
  useLayoutEffect(() => {
    const element = container.current
    if (element === null) return
    const size = () => ({ width: element.clientWidth, height: element.clientHeight })
    const created = new uPlot({ ...optionsOf(picture), ...size() }, dataOf(picture), element)
    plot.current = created
    const point = ({ clientX }: PointerEvent): void => {
      const { left, width } = created.over.getBoundingClientRect()
      if (width > 0) latest.current(Math.min(created.data[0].length - 1, bucketAt(created, clientX - left)))
    }
    const leave = (): void => latest.current(undefined)
    created.over.addEventListener("pointermove", point)
    created.over.addEventListener("pointerdown", point)
    created.over.addEventListener("pointerleave", leave)
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
  }, [shape])
  useLayoutEffect(() => plot.current?.setData(dataOf(picture)), [picture.series])
  useLayoutEffect(() => {
    const drawn = plot.current
    const from = at === undefined ? undefined : drawn?.data[0][at]
    const left = from === undefined ? -10 : (drawn?.valToPos(from + picture.stepSeconds / 2, "x") ?? -10)
    drawn?.setCursor({ left, top: left < 0 ? -10 : 0 }, false)
  }, [at, shape])
  return <div ref={container} class="canvas" />
}

/** The bucket that begins at or before a place of the plot. */
const bucketAt = (plot: uPlot, left: number): number => {
  const time = plot.posToVal(left, "x")
  const starts = plot.data[0]
  let at = 0
  while (at + 1 < starts.length && (starts[at + 1] ?? 0) <= time) at++
  return at
}
