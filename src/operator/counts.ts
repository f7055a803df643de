/** Reads what this instance has counted, for the charts of the console. The numbers are those of the metrics in `/metrics`. */
import { Effect, Metric } from "effect"
import * as metrics from "../gatekeeper/metrics.ts"
import type { CampaignSeries } from "../lib/campaign-series.ts"
import type { CountName } from "./shapes.ts"

/** Counts by name; a name that is absent counts 0. */
export type CountsByName = Readonly<Record<string, number>>

const count = (counter: Metric.Counter<number>): Effect.Effect<number> =>
  Effect.map(Metric.value(counter), (state) => state.count)
const sumOf = <M>(of: ReadonlyArray<M>, read: (each: M) => Effect.Effect<number>): Effect.Effect<number> =>
  Effect.map(Effect.forEach(of, read), (numbers) => numbers.reduce((sum, number) => sum + number, 0))

type Histograms = CampaignSeries<Metric.Histogram<number>>

const observations = ({ all }: Histograms): Effect.Effect<number> =>
  Effect.suspend(() => sumOf(all(), (each) => Effect.map(Metric.value(each), (state) => state.count)))
const totalMillis = ({ all }: Histograms): Effect.Effect<number> =>
  Effect.suspend(() =>
    Effect.map(
      sumOf(all(), (each) => Effect.map(Metric.value(each), (state) => state.sum)),
      (seconds) => Math.round(seconds * 1000),
    ),
  )

const { blocked: _, queued, started, ...refusals } = metrics.requests

const refused = (counters: Readonly<Record<string, Metric.Counter<number>>>) =>
  Object.entries(counters).map(([name, counter]) => [`refused.${name}` as const, count(counter)] as const)

/** The total of each count since the process started. Blocked requests are counted by their reason. */
const totals: ReadonlyArray<readonly [name: CountName, total: Effect.Effect<number>]> = [
  ["started", count(started)],
  ["queued", count(queued)],
  ...refused(refusals),
  ...refused(metrics.blocked),
  ["waited", observations(metrics.waited)],
  ["waitedMillis", totalMillis(metrics.waited)],
  ["pickedUp", observations(metrics.pickedUp)],
  ["pickedUpMillis", totalMillis(metrics.pickedUp)],
  ["offered", Effect.suspend(() => sumOf(metrics.allOffered(), count))],
  ["offersTaken", Effect.suspend(() => sumOf(metrics.allOffersTaken(), count))],
  ["letThroughUnchecked", sumOf(Object.values(metrics.unchecked.let_through), count)],
]

/** Refusals by `<reason> <campaign>`, and refusals that shadow mode only counted by `shadow.<reason> <campaign>`. */
const refusalTotals = Effect.suspend(() =>
  Effect.forEach(
    [
      ...[...metrics.refusedSeries()].map(([name, { counter }]) => [name, counter] as const),
      ...metrics.shadowRefusedSeries(),
    ],
    ([name, counter]) => Effect.map(count(counter), (number) => [name, number] as const),
  ),
)

const readTotals: Effect.Effect<ReadonlyMap<string, number>> = Effect.gen(function* () {
  const read = yield* Effect.forEach(totals, ([name, total]) => Effect.map(total, (number) => [name, number] as const))
  return new Map<string, number>([...read, ...(yield* refusalTotals)])
})

/** Separates the refusals of campaigns, whose names contain a space, from the other counts. */
export const splitCounts = (
  counts: CountsByName,
): { readonly counts: CountsByName; readonly refusals: CountsByName } => {
  const isOfCampaign = ([name]: readonly [string, number]): boolean => name.includes(" ")
  const all = Object.entries(counts)
  return {
    counts: Object.fromEntries(all.filter((each) => !isOfCampaign(each))),
    refusals: Object.fromEntries(all.filter(isOfCampaign)),
  }
}

export interface Counts {
  /** what was counted since the last `acknowledge` */
  readonly pending: Effect.Effect<CountsByName>
  /** Removes counts that the store has accepted from those pending. */
  readonly acknowledge: (counts: CountsByName) => void
}

/** Counts from now on, starting at 0. */
export const makeCounts: Effect.Effect<Counts> = Effect.map(readTotals, (begun) => {
  const acknowledged = new Map(begun)
  return {
    pending: Effect.map(readTotals, (now) => {
      const counts: Record<string, number> = {}
      for (const [name, total] of now) {
        const added = total - (acknowledged.get(name) ?? 0)
        if (added > 0) counts[name] = added
      }
      return counts
    }),
    acknowledge: (counts) => {
      for (const [name, number] of Object.entries(counts)) {
        acknowledged.set(name, (acknowledged.get(name) ?? 0) + number)
      }
    },
  }
})
