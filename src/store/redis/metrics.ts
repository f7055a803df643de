/**
 * How long commands of the shared store take, in seconds, by command; shown by `/metrics`.
 *
 * `Metric.update` looks the series up for each update, and merges its attributes; with a label that was 13 % of a session request.
 * Here a series counts in an array, and the registry asks it when the metrics are read.
 */
import { type Clock, Context, Metric } from "effect"
import type { Done } from "./batch.ts"

/** Upper bounds of the buckets. A command fails after two seconds. */
const BOUNDARIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

const histogram = Metric.histogram("voicegate_store_command_seconds", {
  description: "How long commands of the shared store took, by command",
  boundaries: BOUNDARIES,
})

class Series {
  /** exact to 2^53 */
  private readonly counts = new Float64Array(BOUNDARIES.length + 1)
  private sum = 0
  private min = Number.MAX_VALUE
  private max = -Number.MAX_VALUE

  record(seconds: number): void {
    // most commands are in the first buckets
    let bucket = 0
    while (seconds > (BOUNDARIES[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.sum += seconds
    if (seconds < this.min) this.min = seconds
    if (seconds > this.max) this.max = seconds
  }

  state(): Metric.HistogramState {
    let count = 0
    const buckets = BOUNDARIES.map((bound, i): [number, number] => {
      count += this.counts[i] ?? 0
      return [bound, count]
    })
    count += this.counts[BOUNDARIES.length] ?? 0
    return { buckets, count, min: this.min, max: this.max, sum: this.sum }
  }
}

/** The series of each registry, by command: several stores of a process share a registry, which cannot be asked for what is registered. */
const seriesOf = new WeakMap<object, Map<string, Series>>()

/** Makes a wrapper that records how long a command takes: from now until `done` is called. */
export const makeTimer = (
  context: Context.Context<never>,
  clock: Clock.Clock,
): ((command: string, done: Done) => Done) => {
  const registry = Context.get(context, Metric.MetricRegistry)
  const all = seriesOf.get(registry) ?? new Map<string, Series>()
  seriesOf.set(registry, all)

  const register = (command: string): Series => {
    const series = new Series()
    all.set(command, series)
    const nothing = (): void => {}
    Metric.registerUnsafe(Metric.withAttributes(histogram, { command }), context, {
      get: () => series.state(),
      update: nothing,
      modify: nothing,
    })
    return series
  }
  return (command, done) => {
    const series = all.get(command) ?? register(command)
    const startedAt = clock.monotonicTimeNanosUnsafe()
    return (error, answer) => {
      series.record(Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e9)
      done(error, answer)
    }
  }
}
