/** The three charts of the last hour: admissions and refusals as stacked bars, times of start calls as lines. */
import type { JSX } from "preact"
import { useMemo } from "preact/hooks"
import type { CountName } from "../../../operator/shapes.ts"
import type { Minutes } from "../history.ts"
import { type Entry, Plot } from "../parts/Plot.tsx"
import { count } from "../words.ts"

type Part = readonly [name: CountName, label: string, color: number]

const ADMISSIONS: ReadonlyArray<Part> = [
  ["started", "Started at once", 1],
  ["queued", "Queued", 2],
  ["pickedUp", "Started from the queue", 3],
]
export const REFUSALS: ReadonlyArray<Part> = [
  ["rateLimited", "Limit reached", 2],
  ["queueFull", "Queue full", 3],
  ["draining", "Draining", 4],
  ["vpn", "VPN", 5],
  ["proxy", "Proxy", 6],
  ["tor", "Tor", 7],
  ["datacenter", "Datacenter", 8],
  ["ipCheckFailed", "Address unchecked", 11],
  ["platform", "Platform away", 9],
  ["store", "Store away", 10],
  ["invalid", "Invalid request", 1],
]
const TIMES: ReadonlyArray<readonly [millis: CountName, number: CountName, label: string, color: number]> = [
  ["waitedMillis", "waited", "Wait until called", 1],
  ["pickedUpMillis", "pickedUp", "From call to start", 3],
]

/** Each on top of those before it; `all` says that the legend names those too that are nothing. */
const stackOf = (parts: ReadonlyArray<Part>, minutes: Minutes, all: boolean): ReadonlyArray<Entry> => {
  let height: ReadonlyArray<number> = minutes.x.map(() => 0)
  return parts.map(([name, label, color]) => {
    const sums = minutes.sum(name)
    const total = minutes.total(name)
    height = height.map((below, i) => below + (sums[i] ?? 0))
    return { label, color, values: height, total: all || total > 0 ? count(total) : undefined }
  })
}

const isAny = (parts: ReadonlyArray<Part>, minutes: Minutes): boolean => parts.some(([name]) => minutes.total(name) > 0)

const meanSeconds = (millis: number, number: number): number | null => (number === 0 ? null : millis / number / 1000)

const timesOf = (minutes: Minutes): ReadonlyArray<Entry> =>
  TIMES.map(([millis, number, label, color]) => {
    const numbers = minutes.sum(number)
    const mean = meanSeconds(minutes.total(millis), minutes.total(number))
    return {
      label,
      color,
      values: minutes.sum(millis).map((sum, i) => meanSeconds(sum, numbers[i] ?? 0)),
      total: mean === null ? "none" : `${mean.toFixed(1)} s`,
    }
  })

/** Drawn anew only with other minutes. */
export const Charts = ({ minutes }: { readonly minutes: Minutes }): JSX.Element =>
  useMemo(() => <Drawn minutes={minutes} />, [minutes])

const Drawn = ({ minutes }: { readonly minutes: Minutes }): JSX.Element => {
  const times = timesOf(minutes)
  return (
    <div class="charts">
      <Plot
        name="admissions"
        title="Admissions"
        unit="a minute"
        hour="Admissions in the last hour"
        x={minutes.x}
        series={stackOf(ADMISSIONS, minutes, true)}
        as="bars"
        nothing={isAny(ADMISSIONS, minutes) ? "" : "No requests in the last hour"}
      />
      <Plot
        name="refusals"
        title="Refusals"
        unit="a minute, by reason"
        hour="Refusals in the last hour"
        x={minutes.x}
        series={stackOf(REFUSALS, minutes, false)}
        as="bars"
        nothing={isAny(REFUSALS, minutes) ? "" : "No refusals in the last hour"}
      />
      <Plot
        name="times"
        title="Start calls"
        unit="mean seconds"
        hour="Mean times in the last hour"
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
