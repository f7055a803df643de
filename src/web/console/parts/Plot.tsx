/**
 * A chart with its legend, which has as text what the chart shows: of the whole range, or of the moment that is looked at with pointer or
 * keyboard.
 */
import type { JSX } from "preact"
import type { Series } from "../series.ts"
import { Canvas, type Picture, variable } from "./Canvas.tsx"

export interface Entry extends Series {
  /** what the legend says of the whole range; undefined to leave the series out of it */
  readonly summary: string | undefined
}

export const Plot = ({
  name,
  title,
  about,
  series,
  nothing,
  at,
  when,
  show,
  onPoint,
  ...picture
}: Omit<Picture, "series"> & {
  readonly series: ReadonlyArray<Entry>
  readonly name: string
  readonly title: string
  /** what the values are, beside the title */
  readonly about: string
  /** shown when the chart is empty; empty when it is not */
  readonly nothing: string
  /** the bucket that is looked at; undefined for none */
  readonly at: number | undefined
  /** a bucket's time as text */
  readonly when: (at: number) => string
  /** a value as text */
  readonly show: (value: number) => string
  readonly onPoint: (at: number | undefined) => void
}): JSX.Element => {
  const last = picture.x.length - 1
  const shown = series.filter(({ summary }) => summary !== undefined)
  const textAt = (index: number): string => {
    const values = shown.flatMap(({ label, values }) => {
      const value = values[index]
      return value === null || value === undefined ? [] : [`${label} ${show(value)}`]
    })
    return `${when(index)}: ${values.length === 0 ? "nothing" : values.join(", ")}`
  }
  const seen = at ?? last
  return (
    <section class="chart" aria-labelledby={`${name}-title`}>
      <h3 id={`${name}-title`}>
        {title} <span class="small">{at === undefined ? about : when(at)}</span>
      </h3>
      <div class="plot" data-plot={name}>
        <div class="drawing" aria-hidden="true">
          <Canvas {...picture} series={series} at={at} onPoint={onPoint} />
          {nothing !== "" && <p class="none">{nothing}</p>}
        </div>
        {nothing === "" && (
          // moved with the arrow keys; the pointer goes to the chart behind it
          <input
            type="range"
            class="moment"
            aria-label={`${title}: moment`}
            aria-valuetext={textAt(seen)}
            min={0}
            max={last}
            value={seen}
            onFocus={() => onPoint(seen)}
            onBlur={() => onPoint(undefined)}
            onInput={({ currentTarget }) => onPoint(Number(currentTarget.value))}
            onKeyDown={({ key }) => {
              if (key === "Escape") onPoint(undefined)
            }}
          />
        )}
      </div>
      <ul class="legend" aria-label={`${title}: values`}>
        {shown.map(({ color, dashed = false, label, summary, values }) => {
          const value = at === undefined ? undefined : values[at]
          return (
            <li key={label}>
              <i style={{ background: `var(${variable(color)})` }} data-dashed={dashed} />
              <span>{label}</span>
              <strong>{at === undefined ? summary : value === null || value === undefined ? "–" : show(value)}</strong>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
