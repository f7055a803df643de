/**
 * The three charts of the last hour: admissions and refusals as stacked bars, times of start calls as lines. What a chart
 * shows its legend says in numbers, since a canvas says nothing to those who do not see it.
 */
import uPlot from "uplot"
import { find, make, setText } from "./dom.ts"
import type { Minutes } from "./history.ts"
import { count } from "./words.ts"

const ADMISSIONS = [
  ["started", "Started at once", 1],
  ["queued", "Queued", 2],
  ["pickedUp", "Started from the queue", 3],
] as const
const REFUSALS = [
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
] as const
const TIMES = [
  ["waitedMillis", "waited", "Wait until called", 1],
  ["pickedUpMillis", "pickedUp", "From call to start", 3],
] as const

export const REFUSAL_NAMES: ReadonlyArray<string> = REFUSALS.map(([name]) => name)

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const series = (n: number): string => `--series-${n}`

interface Entry {
  readonly label: string
  readonly variable: string
  readonly value: string
}

/** Says in words what the plot shows. */
const legend = (name: string) => {
  const list = find(`[data-legend="${name}"]`)
  return (entries: ReadonlyArray<Entry>): void => {
    while (list.children.length > entries.length) list.lastElementChild?.remove()
    for (const [i, { label, value, variable }] of entries.entries()) {
      let item = list.children[i]
      if (item === undefined) {
        item = list.appendChild(make("li"))
        item.append(make("i"), make("span"), make("strong"))
      }
      const [swatch, words, figure] = item.children
      if (swatch instanceof HTMLElement) swatch.style.background = `var(${variable})`
      if (words) setText(words, label)
      if (figure) setText(figure, value)
    }
  }
}

interface Plot {
  readonly draw: (data: uPlot.AlignedData, nothing: string) => void
}

const createPlot = (
  name: string,
  kinds: ReadonlyArray<{ readonly variable: string; readonly bars: boolean }>,
): Plot => {
  const container = find(`[data-plot="${name}"]`)
  const none = container.appendChild(make("p", "", "none"))
  const axis: uPlot.Axis = {
    stroke: () => color("--soft"),
    grid: { stroke: () => color("--rule"), width: 1 },
    ticks: { show: false },
    font: `12px ${color("--sans")}`,
  }
  const bars = uPlot.paths.bars?.({ size: [0.8, 12], align: 1 })
  const size = () => ({ width: Math.max(120, container.clientWidth), height: container.clientHeight })
  const plot = new uPlot(
    {
      ...size(),
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
        ...kinds.map(({ bars: asBars, variable }): uPlot.Series => {
          const stroke = () => color(variable)
          return asBars && bars
            ? { stroke, fill: stroke, width: 0, paths: bars, points: { show: false } }
            : { stroke, width: 2, spanGaps: true, points: { show: true, size: 5, fill: stroke } }
        }),
      ],
    },
    [[], ...kinds.map(() => [])],
    container,
  )
  new ResizeObserver(() => plot.setSize(size())).observe(container)
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw())
  return {
    draw: (data, nothing) => {
      setText(none, nothing)
      none.hidden = nothing === ""
      plot.setData(data)
    },
  }
}

const clock = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`
}

/** Bars on top of one another: the topmost is drawn first, behind the others. */
const createStack = (
  name: string,
  parts: ReadonlyArray<readonly [string, string, number]>,
  all: boolean,
  nothing: string,
) => {
  const behindFirst = [...parts].reverse()
  const plot = createPlot(
    name,
    behindFirst.map(([, , n]) => ({ variable: series(n), bars: true })),
  )
  const say = legend(name)
  return (minutes: Minutes): void => {
    const sums = parts.map(([part]) => minutes.sum(part))
    let height = minutes.x.map(() => 0)
    const stacked = sums.map((sum) => {
      height = height.map((below, i) => below + (sum[i] ?? 0))
      return height
    })
    const totals = parts.map(([part]) => minutes.total(part))
    plot.draw([[...minutes.x], ...[...stacked].reverse()], totals.some((total) => total > 0) ? "" : nothing)
    say(
      parts.flatMap(([, label, n], i) =>
        all || (totals[i] ?? 0) > 0 ? [{ label, variable: series(n), value: count(totals[i] ?? 0) }] : [],
      ),
    )
  }
}

const mean = (millis: number, number: number): number | null => (number === 0 ? null : millis / number / 1000)

export const createCharts = (): ((minutes: Minutes) => void) => {
  const admissions = createStack("admissions", ADMISSIONS, true, "No requests in the last hour")
  const refusals = createStack("refusals", REFUSALS, false, "No refusals in the last hour")
  const times = createPlot(
    "times",
    TIMES.map(([, , , n]) => ({ variable: series(n), bars: false })),
  )
  const sayTimes = legend("times")
  return (minutes) => {
    admissions(minutes)
    refusals(minutes)
    const lines = TIMES.map(([millis, number]) => {
      const numbers = minutes.sum(number)
      return minutes.sum(millis).map((sum, i) => mean(sum, numbers[i] ?? 0))
    })
    const none = lines.every((line) => line.every((value) => value === null))
    times.draw([[...minutes.x], ...lines], none ? "No start calls in the last hour" : "")
    sayTimes(
      TIMES.map(([millis, number, label, n]) => {
        const value = mean(minutes.total(millis), minutes.total(number))
        return { label, variable: series(n), value: value === null ? "none" : `${value.toFixed(1)} s` }
      }),
    )
  }
}
