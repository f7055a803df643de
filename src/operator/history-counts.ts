/**
 * What this process adds to the history of each campaign: the differences of the metrics in `/metrics` since its last report, and how many
 * waited and held slots meanwhile.
 */
import { Effect, Metric } from "effect"
import * as metrics from "../gatekeeper/metrics.ts"
import { CAMPAIGNS_PER_STEP, type CampaignCounts, type HistoryPart } from "./history.ts"
import { MAXIMUM } from "./rules/history.ts"

/** How often a report is made (ms). A campaign in which nothing happens is reported once a minute. */
const HISTORY_REPORT_MILLIS = 10_000
const IDLE_MILLIS = 60_000
/** The most campaigns with a history. Those that are counted together (`lib/campaign-series.ts`) have none. */
const CAMPAIGNS_MAX = 200
/** The most parts that wait for a store that is away; beyond, the oldest are dropped. */
const PARTS_MAX = 360

type Totals = ReadonlyMap<string, ReadonlyMap<string, number>>

const totalsOf = Effect.gen(function* () {
  const all = new Map<string, Map<string, number>>()
  const set = (campaign: string, name: string, total: number): void => {
    const known = all.get(campaign) ?? new Map<string, number>()
    all.set(campaign, known)
    known.set(name, total)
  }
  for (const [state, series] of metrics.overSeries()) {
    for (const [campaign, counter] of series.byCampaign()) {
      set(campaign, `over.${state}`, (yield* Metric.value(counter)).count)
    }
  }
  for (const [, { campaign, counter, reason }] of metrics.refusedSeries()) {
    set(campaign, `refused.${reason}`, (yield* Metric.value(counter)).count)
  }
  for (const [campaign, histogram] of metrics.waited.byCampaign()) {
    let below = 0
    const { buckets, count } = yield* Metric.value(histogram)
    // the metric's buckets are cumulative
    for (const [boundary, upTo] of buckets) {
      if (Number.isFinite(boundary)) set(campaign, `wait.${boundary}`, upTo - below)
      below = Number.isFinite(boundary) ? upTo : below
    }
    set(campaign, "wait.more", count - below)
  }
  return all as Totals
})

interface Sampled {
  samples: number
  waiting: number
  held: number
  maxWaiting: number
  maxHeld: number
  slots: number
}

export interface HistoryCounting {
  /** Notes how many wait and hold slots now, in these campaigns. */
  readonly sample: (campaigns: ReadonlyArray<string>) => Effect.Effect<void>
  /** Makes a report where one is due. `ahead`: how far the time of day is ahead of `now` (ms). */
  readonly close: (now: number, ahead: number, campaigns: ReadonlyArray<string>) => Effect.Effect<void>
  /** The parts that the store has not accepted yet, oldest first. */
  readonly parts: () => ReadonlyArray<HistoryPart>
  readonly accepted: (part: HistoryPart) => void
}

/** Counts from now on, starting at 0. */
export const makeHistoryCounting: Effect.Effect<HistoryCounting> = Effect.map(totalsOf, (begun) => {
  let before: Totals = begun
  let sampled = new Map<string, Sampled>()
  let number = 0
  let reportedAt = 0
  const idleSince = new Map<string, number>()
  let waiting: Array<HistoryPart> = []

  const countsOf = (name: string, now: Totals): Record<string, number> => {
    const counts: Record<string, number> = {}
    for (const [count, total] of now.get(name) ?? []) {
      const added = total - (before.get(name)?.get(count) ?? 0)
      if (added > 0) counts[count] = added
    }
    const found = sampled.get(name)
    if (found !== undefined) {
      const { held, maxHeld, maxWaiting, samples, slots, waiting: sum } = found
      counts.samples = samples
      if (sum > 0) counts.waiting = sum
      if (held > 0) counts.held = held
      if (maxWaiting > 0) counts[`${MAXIMUM}waiting`] = maxWaiting
      if (maxHeld > 0) counts[`${MAXIMUM}held`] = maxHeld
      if (slots > 0) counts[`${MAXIMUM}slots`] = slots
    }
    return counts
  }
  /** Whether anything happened; nothing else is worth a write. */
  const isIdle = (counts: Readonly<Record<string, number>>): boolean =>
    Object.keys(counts).every((name) => name === "samples" || name === `${MAXIMUM}slots`)

  return {
    sample: (campaigns) =>
      Effect.forEach(
        campaigns.slice(0, CAMPAIGNS_MAX),
        (name) =>
          Effect.gen(function* () {
            const value = (gauge: Metric.Gauge<number>) => Effect.map(Metric.value(gauge), (state) => state.value)
            const waits = yield* value(metrics.gauges.waiting(name))
            const holds = yield* value(metrics.gauges.leases(name))
            const slots = yield* value(metrics.gauges.slots(name))
            const last = sampled.get(name)
            sampled.set(name, {
              samples: (last?.samples ?? 0) + 1,
              waiting: (last?.waiting ?? 0) + waits,
              held: (last?.held ?? 0) + holds,
              maxWaiting: Math.max(last?.maxWaiting ?? 0, waits),
              maxHeld: Math.max(last?.maxHeld ?? 0, holds),
              slots,
            })
          }),
        { discard: true },
      ),
    close: (now, ahead, campaigns) =>
      now - reportedAt < HISTORY_REPORT_MILLIS
        ? Effect.void
        : Effect.map(totalsOf, (totals) => {
            reportedAt = now
            const reported: Array<CampaignCounts> = []
            for (const campaign of campaigns.slice(0, CAMPAIGNS_MAX)) {
              const counts = countsOf(campaign, totals)
              const idle = idleSince.get(campaign)
              if (Object.keys(counts).length === 0) continue
              if (isIdle(counts) && idle !== undefined && now - idle < IDLE_MILLIS) continue
              if (isIdle(counts)) idleSince.set(campaign, now)
              else idleSince.delete(campaign)
              reported.push({ campaign, counts })
            }
            before = totals
            sampled = new Map()
            for (let from = 0; from < reported.length; from += CAMPAIGNS_PER_STEP) {
              number++
              waiting.push({ number, at: now + ahead, campaigns: reported.slice(from, from + CAMPAIGNS_PER_STEP) })
            }
            waiting = waiting.slice(-PARTS_MAX)
          }),
    parts: () => waiting,
    accepted: (part) => {
      waiting = waiting.filter((each) => each !== part)
    },
  }
})
