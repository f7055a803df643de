/** The metrics of requests to other services: how long those to platforms and to the provider of IP intelligence take, in seconds. */
import { Duration, Effect, Metric } from "effect"
import { campaignSeries } from "./campaign-series.ts"

/** The upper bounds of their buckets. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

/** Records how long an effect takes, however it ends. */
export const recorded =
  (histogram: Metric.Histogram<number>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.trackDuration(effect, histogram, Duration.toSeconds)

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
