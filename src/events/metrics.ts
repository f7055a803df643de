/** The metrics of events, with their Prometheus names. Only campaigns that send events have them. */
import { Effect, Metric } from "effect"
import { campaignSeries } from "../lib/campaign-series.ts"

const total = Metric.counter("voicegate_events_total", {
  description: "Attempts to deliver events, by campaign and outcome",
  incremental: true,
})

/** `delivered`; `retried`: it is sent again later; `failed`: it was given up. */
export type AttemptOutcome = "delivered" | "retried" | "failed"

const counters = {
  delivered: campaignSeries((campaign) => Metric.withAttributes(total, { campaign, outcome: "delivered" })),
  retried: campaignSeries((campaign) => Metric.withAttributes(total, { campaign, outcome: "retried" })),
  failed: campaignSeries((campaign) => Metric.withAttributes(total, { campaign, outcome: "failed" })),
}

export const attempts = (campaign: string, outcome: AttemptOutcome): Metric.Counter<number> =>
  counters[outcome].of(campaign)

const gauge = (name: string, description: string) =>
  campaignSeries((campaign) => Metric.withAttributes(Metric.gauge(name, { description }), { campaign }))

const gauges = {
  pending: gauge("voicegate_events_pending", "Events that wait to be delivered"),
  failed: gauge("voicegate_events_failed", "Events that were given up and are still kept"),
  lost: gauge(
    "voicegate_events_lost",
    "Events dropped before they were delivered, or because there were too many, in total",
  ),
  oldestSeconds: gauge("voicegate_events_oldest_pending_seconds", "Age of the oldest event that waits to be delivered"),
}

export const setGauges = (
  campaign: string,
  figures: Readonly<Record<keyof typeof gauges, number>>,
): Effect.Effect<void> =>
  Effect.forEach(
    ["pending", "failed", "lost", "oldestSeconds"] as const,
    (name) => Metric.update(gauges[name].of(campaign), figures[name]),
    { discard: true },
  )
