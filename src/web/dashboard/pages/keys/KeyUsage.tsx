/** What a key started on each of the last days: a chart, and the same figures as a table. */
import type { JSX } from "preact"
import type { KeyUsage as Usage } from "../../../../platform/http/dashboard/shapes.ts"
import { type Column, Table } from "../../../shared/parts/Table.tsx"

type Day = Usage[number]

const date = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" })
const weekday = new Intl.DateTimeFormat("en", { weekday: "short", month: "short", day: "numeric", timeZone: "UTC" })
const number = new Intl.NumberFormat("en")

const counted = (count: number, one: string, many: string): string =>
  `${number.format(count)} ${count === 1 ? one : many}`

/** Such as `3 sessions, 1 call`. */
const starts = ({ calls, sessions }: Pick<Day, "calls" | "sessions">): string =>
  [counted(sessions, "session", "sessions"), ...(calls === 0 ? [] : [counted(calls, "call", "calls")])].join(", ")

const allOf = ({ calls, sessions }: Day): number => sessions + calls

export const KeyUsage = ({ of: days }: { readonly of: Usage }): JSX.Element => {
  const total = { sessions: 0, calls: 0 }
  for (const { calls, sessions } of days) {
    total.sessions += sessions
    total.calls += calls
  }
  const used = days.filter((day) => allOf(day) > 0)
  if (used.length === 0)
    return <p class="small">No sessions or calls were started with this key in the last 30 days.</p>
  return (
    <>
      <p>
        <strong>{starts(total)}</strong> in the last {days.length} days. <span class="phrase">Days are in UTC.</span>
      </p>
      <Chart of={days} total={starts(total)} />
      <details>
        <summary>Usage by day</summary>
        <Table caption="Usage by day" columns={columns} items={used.toReversed()} keyOf={({ day }) => day} />
        {used.length < days.length && <p class="small">Days without activity aren’t shown.</p>}
      </details>
    </>
  )
}

const columns: ReadonlyArray<Column<Day>> = [
  { title: "Day", card: "title", cell: ({ day }) => <span class="phrase">{weekday.format(day)}</span> },
  { title: "Web sessions", class: "number", cell: ({ sessions }) => number.format(sessions) },
  { title: "Calls", class: "number", cell: ({ calls }) => number.format(calls) },
]

/** The units of the drawing: a day's width, the bar in it, and the height of the highest bar. */
const [STEP, BAR, HEIGHT] = [10, 7, 100] as const

const Chart = ({ of: days, total }: { readonly of: Usage; readonly total: string }): JSX.Element => {
  const most = Math.max(...days.map(allOf))
  const busiest = days.find((day) => allOf(day) === most)
  const scale = (count: number): number => (count / most) * HEIGHT
  const [first, last] = [days[0], days.at(-1)]
  return (
    <figure class="usage">
      <figcaption class="legend">
        <span class="sessions">Web sessions</span>
        <span class="calls">Calls</span>
      </figcaption>
      <span class="most" aria-hidden="true">
        {number.format(most)}
      </span>
      <svg
        viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Starts by day: ${total}${busiest === undefined ? "" : `, most on ${date.format(busiest.day)}: ${starts(busiest)}`}. The table lists the exact numbers.`}
      >
        {days.map((day, index) => {
          const x = index * STEP + (STEP - BAR) / 2
          const [sessions, calls] = [scale(day.sessions), scale(day.calls)]
          return (
            <g key={day.day}>
              <rect class="day" x={index * STEP} y={0} width={STEP} height={HEIGHT}>
                <title>{`${weekday.format(day.day)}: ${starts(day)}`}</title>
              </rect>
              <rect class="sessions" x={x} y={HEIGHT - sessions} width={BAR} height={sessions} />
              <rect class="calls" x={x} y={HEIGHT - sessions - calls} width={BAR} height={calls} />
            </g>
          )
        })}
      </svg>
      <p class="ends small" aria-hidden="true">
        <span>{first === undefined ? "" : date.format(first.day)}</span>
        <span>{last === undefined ? "" : date.format(last.day)}</span>
      </p>
    </figure>
  )
}
