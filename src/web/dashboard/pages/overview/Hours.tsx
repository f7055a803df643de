/** A chart of how many calls began in each hour of a day. */
import type { JSX } from "preact"
import * as words from "../../words.ts"

const HOUR_MILLIS = 3_600_000
/** The units of the drawing: an hour's width, the bar in it, and the height of the highest bar. */
const [STEP, BAR, HEIGHT] = [10, 7, 100] as const

const time = new Intl.DateTimeFormat("en", { hour: "numeric", minute: "2-digit" })
const calls = (count: number): string => `${words.number(count)} ${count === 1 ? "call" : "calls"}`

/** @param until when the last of these hours ends (ms since 1970) */
export const Hours = ({
  of: counts,
  until,
}: {
  readonly of: ReadonlyArray<number>
  readonly until: number
}): JSX.Element => {
  const most = Math.max(1, ...counts)
  const startOf = (hour: number): number => until - (counts.length - hour) * HOUR_MILLIS
  const from = (hour: number): string => `${time.format(startOf(hour))} to ${time.format(startOf(hour + 1))}`
  const busiest = counts.indexOf(most)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const said = `${calls(total)}${busiest < 0 ? "" : `, most from ${from(busiest)}: ${calls(most)}`}.`
  return (
    <figure class="usage">
      <p class="total small" aria-hidden="true">
        {said}
      </p>
      <span class="most" aria-hidden="true">
        {words.number(most)}
      </span>
      <svg
        viewBox={`0 0 ${counts.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Calls by hour: ${said}`}
      >
        {counts.map((count, hour) => {
          const height = (count / most) * HEIGHT
          return (
            <g key={hour}>
              <rect class="day" x={hour * STEP} y={0} width={STEP} height={HEIGHT}>
                <title>{`${from(hour)}: ${calls(count)}`}</title>
              </rect>
              <rect
                class="sessions"
                x={hour * STEP + (STEP - BAR) / 2}
                y={HEIGHT - height}
                width={BAR}
                height={height}
              />
            </g>
          )
        })}
      </svg>
      <p class="ends small" aria-hidden="true">
        <span>{time.format(startOf(0))} yesterday</span>
        <span>{time.format(startOf(counts.length / 2))}</span>
        <span>now</span>
      </p>
    </figure>
  )
}
