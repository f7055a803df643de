/** Histograms of how long requests to other services take, in seconds. */
import { Duration, Effect, type Metric } from "effect"

/** The upper bounds of their buckets. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

/** Records how long an effect takes, however it ends. */
export const recorded =
  (histogram: Metric.Histogram<number>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.trackDuration(effect, histogram, Duration.toSeconds)
