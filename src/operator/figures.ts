/** What an instance has counted since it was last asked: its metrics, the same that `/metrics` shows. */
import { Effect, Metric } from "effect"
import * as metrics from "../gatekeeper/metrics.ts"
import { COUNTS, type CountName } from "./shapes.ts"

const count = (counter: Metric.Counter<number>): Effect.Effect<number> =>
  Effect.map(Metric.value(counter), (state) => state.count)
const times = (histogram: Metric.Histogram<number>) => ({
  number: Effect.map(Metric.value(histogram), (state) => state.count),
  millis: Effect.map(Metric.value(histogram), (state) => Math.round(state.sum * 1000)),
})
const waited = times(metrics.waited)
const pickedUp = times(metrics.pickedUp)

/** Where the total of each stands. */
const totals: Readonly<Record<CountName, Effect.Effect<number>>> = {
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

const now = Effect.forEach(COUNTS, (name) => totals[name])

export interface Figures {
  /** What was counted since the last `keep`, in the order of `COUNTS`. */
  readonly since: Effect.Effect<ReadonlyArray<number>>
  /** These were handed over: they are not counted again. */
  readonly keep: (counts: ReadonlyArray<number>) => void
}

/** Counts from now on. */
export const makeFigures: Effect.Effect<Figures> = Effect.map(now, (from) => {
  let kept: ReadonlyArray<number> = from
  return {
    since: Effect.map(now, (all) => all.map((total, i) => Math.max(0, total - (kept[i] ?? 0)))),
    keep: (counts) => {
      kept = kept.map((total, i) => total + (counts[i] ?? 0))
    },
  }
})
