/** A chart of the last hour with its legend, which has the totals as text. */
import type { JSX } from "preact"
import { Canvas, type Picture, type Series, variable } from "./Canvas.tsx"

export interface Entry extends Series {
  readonly label: string
  /** the total of the hour; undefined to leave the series out of the legend */
  readonly total: string | undefined
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
}: Omit<Picture, "series"> & {
  readonly series: ReadonlyArray<Entry>
  readonly name: string
  readonly title: string
  readonly unit: string
  /** the name of the legend */
  readonly hour: string
  /** shown when the chart is empty; empty when it is not */
  readonly nothing: string
}): JSX.Element => (
  <section class="chart" aria-labelledby={`${name}-title`}>
    <h2 id={`${name}-title`}>
      {title} <span class="small">{unit}</span>
    </h2>
    <div class="plot" data-plot={name} aria-hidden="true">
      <Canvas x={x} series={series} as={as} />
      {nothing !== "" && <p class="none">{nothing}</p>}
    </div>
    <ul class="legend" aria-label={hour}>
      {series.map(({ color, label, total }) =>
        total === undefined ? null : (
          <li key={label}>
            <i style={{ background: `var(${variable(color)})` }} />
            <span>{label}</span>
            <strong>{total}</strong>
          </li>
        ),
      )}
    </ul>
  </section>
)
