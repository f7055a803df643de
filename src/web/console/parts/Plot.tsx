/** A chart of the last hour, and its legend, which says in numbers what the canvas shows. */
import type { JSX } from "preact"
import { Canvas, type Picture, type Series, variable } from "./Canvas.tsx"

export interface Entry extends Series {
  readonly label: string
  /** of the whole hour, for the legend; absent where the legend need not name it */
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
  /** names the legend */
  readonly hour: string
  /** what is said instead when there is nothing to see; empty when there is */
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
