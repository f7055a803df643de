/** What an instance has counted since it was last asked, in the order that all instances share (`COUNTS`). */
import { Effect, Metric } from "effect"
import * as metrics from "./metrics.ts"

const count = (counter: Metric.Counter<number>): Effect.Effect<number> =>
  Effect.map(Metric.value(counter), (state) => state.count)
const times = (histogram: Metric.Histogram<number>) => ({
  number: Effect.map(Metric.value(histogram), (state) => state.count),
  millis: Effect.map(Metric.value(histogram), (state) => Math.round(state.sum * 1000)),
})
const waited = times(metrics.waited)
const pickedUp = times(metrics.pickedUp)

/** Each name with where its total stands. New ones go to the end: what older instances wrote stays readable. */
const totals = {
  started: count(metrics.requests.started),
  queued: count(metrics.requests.queued),
  pickedUp: pickedUp.number,
  invalid: count(metrics.requests.invalid),
  vpn: count(metrics.blocked.vpn),
  proxy: count(metrics.blocked.proxy),
  tor: count(metrics.blocked.tor),
  datacenter: count(metrics.blocked.datacenter),
  ipCheckFailed: count(metrics.blocked.ip_check_failed),
  rateLimited: count(metrics.requests.rate_limited),
  queueFull: count(metrics.requests.queue_full),
  draining: count(metrics.requests.draining),
  platform: count(metrics.requests.platform_unavailable),
  store: count(metrics.requests.store_unavailable),
  waited: waited.number,
  waitedMillis: waited.millis,
  pickedUpMillis: pickedUp.millis,
  letThroughUnchecked: Effect.map(Effect.all(Object.values(metrics.unchecked.let_through).map(count)), (all) =>
    all.reduce((sum, number) => sum + number, 0),
  ),
}

export type CountName = keyof typeof totals
export const COUNTS: ReadonlyArray<string> = Object.keys(totals)

export interface Counter {
  /** What was counted since the last `keep`. */
  readonly since: Effect.Effect<ReadonlyArray<number>>
  /** These were handed over: they are not counted again. */
  readonly keep: (counts: ReadonlyArray<number>) => void
}

/** Counts from now on. */
export const makeCounter: Effect.Effect<Counter> = Effect.gen(function* () {
  const now = Effect.all(Object.values(totals))
  let kept = yield* now
  return {
    since: Effect.map(now, (all) => all.map((total, i) => Math.max(0, total - (kept[i] ?? 0)))),
    keep: (counts) => {
      kept = kept.map((total, i) => total + (counts[i] ?? 0))
    },
  }
})
