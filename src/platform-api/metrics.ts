/** The metric of requests to platforms. */
import { Metric } from "effect"
import { campaignSeries } from "../lib/campaign-series.ts"
import { SECONDS } from "../lib/duration-metric.ts"

const platformRequestSeconds = Metric.histogram("voicegate_platform_request_seconds", {
  description: "How long requests to the platform took, by campaign and kind",
  boundaries: SECONDS,
})

const platformRequest = (kind: string) =>
  campaignSeries((campaign) => Metric.withAttributes(platformRequestSeconds, { campaign, kind }))

/** Requests to the platform that were sent, one for each try. */
export const platformRequests = { start: platformRequest("start"), read: platformRequest("read") } as const
