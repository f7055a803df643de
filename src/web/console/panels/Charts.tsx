/** The three charts of the last hour: admissions and refusals as stacked bars, times of start calls as lines. */
import type { JSX } from "preact"
import { useMemo } from "preact/hooks"
import type { CountName } from "../../../operator/shapes.ts"
import type { Minutes } from "../minutes.ts"
import { type Entry, Plot } from "../parts/Plot.tsx"
import { count } from "../words.ts"

interface Part {
  readonly name: CountName
  readonly label: string
  /** the number of its series colour */
  readonly color: number
}

const SERIES_COLORS = 11

/** The outcomes of a request. A call that starts from the queue is not one: its caller was counted when they were queued. */
const ADMISSIONS: ReadonlyArray<Part> = [
  { name: "started", label: "Started at once", color: 1 },
  { name: "queued", label: "Queued", color: 2 },
]
const REFUSALS: ReadonlyArray<Part> = [
  { name: "refused.rate_limited", label: "Rate limited", color: 2 },
  { name: "refused.queue_full", label: "Queue full", color: 3 },
  { name: "refused.closed", label: "Closed", color: 5 },
  { name: "refused.draining", label: "Draining", color: 4 },
  { name: "refused.vpn", label: "VPN", color: 5 },
  { name: "refused.proxy", label: "Proxy", color: 6 },
  { name: "refused.tor", label: "Tor", color: 7 },
  { name: "refused.datacenter", label: "Datacenter", color: 8 },
  { name: "refused.ip_check_failed", label: "Address not checked", color: 11 },
  { name: "refused.platform_unavailable", label: "Platform unavailable", color: 9 },
  { name: "refused.store_unavailable", label: "Store unavailable", color: 10 },
  { name: "refused.invalid", label: "Invalid request", color: 1 },
  { name: "refused.identity_required", label: "No identity", color: 4 },
  { name: "refused.identity_refused", label: "Identity refused", color: 5 },
  { name: "refused.identity_unavailable", label: "Identity not checked", color: 6 },
]

/** The reason of a refusal as text: `queue_full` is "Queue full". */
export const reasonText = (reason: string): string =>
  REFUSALS.find(({ name }) => name === `refused.${reason}`)?.label ?? labelOf(`refused.${reason}`)

/** The reasons of these refusals, in the order of the chart. */
export const inChartOrder = (reasons: ReadonlyArray<string>): ReadonlyArray<string> => {
  const place = (reason: string): number => {
    const at = REFUSALS.findIndex(({ name }) => name === `refused.${reason}`)
    return at === -1 ? REFUSALS.length : at
  }
  return reasons.toSorted((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
}

const isRefusal = (name: string): name is `refused.${string}` => name.startsWith("refused.")

/** The name of a refusal as text: `refused.queue_full` is "Queue full". */
const labelOf = (name: `refused.${string}`): string => {
  const words = name.slice("refused.".length).replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** All refusals: those above, and any other that the gate has counted. */
export const refusalsOf = ({ names }: Minutes): ReadonlyArray<Part> => {
  const others = names.filter(isRefusal).filter((name) => !REFUSALS.some((part) => part.name === name))
  return [
    ...REFUSALS,
    ...others.toSorted().map((name, i) => ({ name, label: labelOf(name), color: 1 + (i % SERIES_COLORS) })),
  ]
}

const TIMES: ReadonlyArray<readonly [millis: CountName, number: CountName, label: string, color: number]> = [
  ["waitedMillis", "waited", "Wait before call", 1],
  ["pickedUpMillis", "pickedUp", "Call to start", 3],
]

/** Stacks the parts. The legend leaves out a part without any count, unless `all`. */
const stackOf = (parts: ReadonlyArray<Part>, minutes: Minutes, all: boolean): ReadonlyArray<Entry> => {
  let height: ReadonlyArray<number> = minutes.x.map(() => 0)
  return parts.map(({ color, label, name }) => {
    const sums = minutes.perMinute(name)
    const total = minutes.total(name)
    height = height.map((below, i) => below + (sums[i] ?? 0))
    return { label, color, values: height, total: all || total > 0 ? count(total) : undefined }
  })
}

const isAny = (parts: ReadonlyArray<Part>, minutes: Minutes): boolean =>
  parts.some(({ name }) => minutes.total(name) > 0)

const calls = (number: number): string => `${count(number)} ${number === 1 ? "call" : "calls"}`

const meanSeconds = (millis: number, number: number): number | null => (number === 0 ? null : millis / number / 1000)

const timesOf = (minutes: Minutes): ReadonlyArray<Entry> =>
  TIMES.map(([millis, number, label, color]) => {
    const numbers = minutes.perMinute(number)
    const mean = meanSeconds(minutes.total(millis), minutes.total(number))
    return {
      label,
      color,
      values: minutes.perMinute(millis).map((sum, i) => meanSeconds(sum, numbers[i] ?? 0)),
      total: mean === null ? "none" : `${mean.toFixed(1)} s, ${calls(minutes.total(number))}`,
    }
  })

export interface ChartsProps {
  readonly minutes: Minutes
  /** whether the gate has several campaigns: the counts are of all of them, and say so */
  readonly several: boolean
}

/** Redraws only when the minutes change. */
export const Charts = ({ minutes, several }: ChartsProps): JSX.Element =>
  useMemo(() => <Drawn minutes={minutes} several={several} />, [minutes, several])

const Drawn = ({ minutes, several }: ChartsProps): JSX.Element => {
  const all = several ? ", all campaigns" : ""
  const times = timesOf(minutes)
  const refusals = refusalsOf(minutes)
  return (
    <div class="charts">
      <Plot
        name="admissions"
        title="Admissions"
        unit={`per minute${all}`}
        hour="Admissions in the last hour"
        x={minutes.x}
        series={stackOf(ADMISSIONS, minutes, true)}
        as="bars"
        nothing={isAny(ADMISSIONS, minutes) ? "" : "No requests in the last hour"}
      />
      <Plot
        name="refusals"
        title="Refusals"
        unit={`per minute, by reason${all}`}
        hour="Refusals in the last hour"
        x={minutes.x}
        series={stackOf(refusals, minutes, false)}
        as="bars"
        nothing={isAny(refusals, minutes) ? "" : "No refusals in the last hour"}
      />
      <Plot
        name="times"
        title="Start calls"
        unit={`average seconds${all}`}
        hour="Average times in the last hour"
        x={minutes.x}
        series={times}
        as="lines"
        nothing={
          times.some(({ values }) => values.some((value) => value !== null)) ? "" : "No start calls in the last hour"
        }
      />
    </div>
  )
}
