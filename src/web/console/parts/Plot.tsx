/** A chart of the last hour on a canvas, stacked bars or lines, and its legend, which says in numbers what the canvas shows. */
import type { JSX } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import { count } from "../words.ts"

/** What is drawn in one colour. */
export interface Series {
  readonly label: string
  /** which of the page's series colours */
  readonly color: number
  /** a value for each minute; null where there is none */
  readonly values: ReadonlyArray<number | null>
  /** of the whole hour, for the legend; absent where the legend need not name it */
  readonly total: string | undefined
}

const variable = ({ color }: Pick<Series, "color">): string => `--series-${color}`

const resolved = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const clock = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`
}

const optionsOf = (series: ReadonlyArray<Series>, as: "bars" | "lines"): Omit<uPlot.Options, "height" | "width"> => {
  const axis: uPlot.Axis = {
    stroke: () => resolved("--soft"),
    grid: { stroke: () => resolved("--rule"), width: 1 },
    ticks: { show: false },
    font: `12px ${resolved("--sans")}`,
  }
  const paths = uPlot.paths.bars?.({ size: [0.8, 12], align: 1 })
  return {
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 20, 0, 0],
    scales: {
      x: { range: (_, min, max) => [min, max + 60] },
      y: { range: (_, __, max) => [0, Math.max(4, (max ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 56, values: (_, ticks) => ticks.map(clock) },
      {
        ...axis,
        size: 40,
        space: 34,
        values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? count(tick) : "")),
      },
    ],
    series: [
      {},
      ...series.map((each): uPlot.Series => {
        const stroke = () => resolved(variable(each))
        return as === "bars" && paths
          ? { stroke, fill: stroke, width: 0, paths, points: { show: false } }
          : { stroke, width: 2, spanGaps: true, points: { show: true, size: 5, fill: stroke } }
      }),
    ],
  }
}

/** The plot on a container for as long as both are there; answers how it is given other data. */
const usePlot = (series: ReadonlyArray<Series>, as: "bars" | "lines", data: uPlot.AlignedData) => {
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  useLayoutEffect(() => {
    const element = container.current
    if (element === null) return
    const size = () => ({ width: Math.max(120, element.clientWidth), height: element.clientHeight })
    const made = new uPlot({ ...optionsOf(series, as), ...size() }, data, element)
    plot.current = made
    const sized = new ResizeObserver(() => made.setSize(size()))
    sized.observe(element)
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    const redraw = (): void => made.redraw()
    scheme.addEventListener("change", redraw)
    return () => {
      sized.disconnect()
      scheme.removeEventListener("change", redraw)
      made.destroy()
    }
  }, [])
  useLayoutEffect(() => plot.current?.setData(data), [data])
  return container
}

export const Plot = ({
  name,
  title,
  unit,
  hour,
  x,
  series,
  as,
  nothing,
}: {
  readonly name: string
  readonly title: string
  readonly unit: string
  /** names the legend */
  readonly hour: string
  /** the beginning of each minute, in seconds since 1970 */
  readonly x: ReadonlyArray<number>
  /** bottom first where they are stacked; as many in every drawing */
  readonly series: ReadonlyArray<Series>
  readonly as: "bars" | "lines"
  /** what is said instead when there is nothing to see; empty when there is */
  readonly nothing: string
}): JSX.Element => {
  // what is drawn first lies behind: of a stack its top
  const drawn = as === "bars" ? [...series].reverse() : series
  const data: uPlot.AlignedData = [[...x], ...drawn.map(({ values }) => [...values])]
  const container = usePlot(drawn, as, data)
  return (
    <section class="chart" aria-labelledby={`${name}-title`}>
      <h2 id={`${name}-title`}>
        {title} <span class="small">{unit}</span>
      </h2>
      <div class="plot" data-plot={name} aria-hidden="true">
        <div ref={container} class="canvas" />
        {nothing !== "" && <p class="none">{nothing}</p>}
      </div>
      <ul class="legend" aria-label={hour}>
        {series.map((each) =>
          each.total === undefined ? null : (
            <li key={each.label}>
              <i style={{ background: `var(${variable(each)})` }} />
              <span>{each.label}</span>
              <strong>{each.total}</strong>
            </li>
          ),
        )}
      </ul>
    </section>
  )
}
