/** How long requests to other services take: histograms in seconds, shown by `/metrics`. */
import { Duration, Effect, Metric } from "effect"
import { campaignSeries } from "./campaign-series.ts"

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

const platformRequestSeconds = Metric.histogram("voicegate_platform_request_seconds", {
  description: "How long requests to the platform took, by campaign and kind",
  boundaries: SECONDS,
})

const platformRequest = (kind: string) =>
  campaignSeries((campaign) => Metric.withAttributes(platformRequestSeconds, { campaign, kind }))

/** Requests to the platform that were sent, one for each try. */
export const platformRequests = { start: platformRequest("start"), read: platformRequest("read") } as const

/** Lookups that the provider of IP intelligence was asked for. Cached facts are not counted. */
export const addressLookup = Metric.histogram("voicegate_address_lookup_seconds", {
  description: "How long lookups at the provider of IP intelligence took",
  boundaries: SECONDS,
})

/** Records how long an effect takes, however it ends. */
export const recorded =
  (histogram: Metric.Histogram<number>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.trackDuration(effect, histogram, Duration.toSeconds)
