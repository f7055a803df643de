/** The history of a campaign as the series of the charts: queue and slots, waits, outcomes and refusals. */
import type { CampaignHistory } from "../../operator/shapes.ts"
import { reasonOrder, reasonText } from "./reasons.ts"

export interface Series {
  readonly label: string
  /** the number of its colour among the series colours of the page */
  readonly color: number
  /** a value for each bucket, null where nothing is known */
  readonly values: ReadonlyArray<number | null>
  readonly dashed?: boolean
}

export interface Charted {
  /** when each bucket begins, in seconds since 1970 */
  readonly x: ReadonlyArray<number>
  readonly stepSeconds: number
  readonly load: ReadonlyArray<Series>
  readonly waits: ReadonlyArray<Series>
  readonly outcomes: ReadonlyArray<Series>
  readonly refusals: ReadonlyArray<Series>
  /** of the whole range, in seconds; null when nobody waited */
  readonly median: number | null
  readonly p95: number | null
  /** whether any instance has reported anything */
  readonly any: boolean
}

type Counts = CampaignHistory["buckets"][number]["counts"]

const WAIT = "wait."
/** The upper bound of a count of waits in seconds; waits beyond the last bound are shown as that. */
const boundOf = (name: string): number => {
  const text = name.slice(WAIT.length)
  return text === "more" ? Number.POSITIVE_INFINITY : Number(text)
}

/**
 * The wait that so large a share of callers did not exceed, in seconds, from counts by upper bound: within the bucket that has it, waits are
 * taken as evenly spread. `null` without any wait.
 */
export const quantile = (counts: Counts, share: number): number | null => {
  const bounds = Object.entries(counts)
    .filter(([name, number]) => name.startsWith(WAIT) && number > 0)
    .map(([name, number]) => ({ bound: boundOf(name), number }))
    .toSorted((a, b) => a.bound - b.bound)
  const total = bounds.reduce((sum, { number }) => sum + number, 0)
  if (total === 0) return null
  let below = 0
  for (const { bound, number } of bounds) {
    if (below + number >= share * total) {
      const from = lowerBound(bound)
      return Number.isFinite(bound) ? from + ((bound - from) * (share * total - below)) / number : from
    }
    below += number
  }
  return null
}

/** The bounds of the gate's metric, in seconds: where each bucket begins. */
const BOUNDS = [0, 1, 2, 3, 5, 8, 12, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 2700, 3600]
const lowerBound = (bound: number): number => BOUNDS.findLast((each) => each < bound) ?? 0

const sumOf = (all: ReadonlyArray<Counts>): Counts => {
  const sums: Record<string, number> = {}
  for (const counts of all) {
    for (const [name, number] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + number
  }
  return sums
}

/** How a ticket ends, as an operator thinks of it. */
const OUTCOMES: ReadonlyArray<{
  readonly label: string
  readonly color: number
  readonly states: ReadonlyArray<string>
}> = [
  { label: "Completed", color: 1, states: ["ended", "too_long", "silent", "stopped", "reclaimed"] },
  { label: "Left the queue", color: 2, states: ["left", "abandoned"] },
  { label: "Missed their turn", color: 3, states: ["missed"] },
  { label: "Budget used up", color: 5, states: ["budget"] },
  { label: "Failed", color: 6, states: ["failed"] },
  { label: "Removed", color: 9, states: ["removed", "closed"] },
]

const REFUSED = "refused."

export const chart = ({ buckets, from, stepMillis, to }: CampaignHistory): Charted => {
  const length = Math.round((to - from) / stepMillis) + 1
  const x = Array.from({ length }, (_, i) => (from + i * stepMillis) / 1000)
  const at: Array<Counts | undefined> = x.map(() => undefined)
  for (const bucket of buckets) at[Math.round((bucket.at - from) / stepMillis)] = bucket.counts
  const each = (value: (counts: Counts) => number | null) =>
    at.map((counts) => (counts === undefined ? null : value(counts)))
  const sum = (names: ReadonlyArray<string>) =>
    each((counts) => names.reduce((all, name) => all + (counts[name] ?? 0), 0))
  const all = sumOf(buckets.map(({ counts }) => counts))
  const reasons = reasonOrder(
    Object.keys(all)
      .filter((name) => name.startsWith(REFUSED))
      .map((name) => name.slice(REFUSED.length)),
  )
  const refusals = reasons.map(({ color, reason }) => ({
    label: reasonText(reason),
    color,
    values: sum([`${REFUSED}${reason}`]),
  }))
  const refused = sum(reasons.map(({ reason }) => `${REFUSED}${reason}`))
  return {
    x,
    stepSeconds: stepMillis / 1000,
    load: [
      { label: "Waiting", color: 2, values: each((counts) => counts["max.waiting"] ?? 0) },
      { label: "Slots in use", color: 1, values: each((counts) => counts["max.held"] ?? 0) },
      { label: "Slots", color: 9, dashed: true, values: each((counts) => counts["max.slots"] ?? null) },
    ],
    waits: [
      { label: "Median", color: 1, values: each((counts) => quantile(counts, 0.5)) },
      { label: "95 % within", color: 3, values: each((counts) => quantile(counts, 0.95)) },
    ],
    outcomes: [
      ...OUTCOMES.map(({ color, label, states }) => ({
        label,
        color,
        values: sum(states.map((state) => `over.${state}`)),
      })),
      { label: "Refused", color: 10, values: refused },
    ],
    refusals,
    median: quantile(all, 0.5),
    p95: quantile(all, 0.95),
    any: buckets.length > 0,
  }
}

export const totalOf = (values: ReadonlyArray<number | null>): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0)

export const greatestOf = (values: ReadonlyArray<number | null>): number =>
  values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)
