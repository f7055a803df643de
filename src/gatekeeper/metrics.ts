/** What the gate counts, in the names of Prometheus. */
import { Metric } from "effect"

/** How a session request came out. */
export type RequestOutcome =
  | "started"
  | "queued"
  | "invalid"
  | "blocked"
  | "rate_limited"
  | "queue_full"
  | "platform_unavailable"
  | "store_unavailable"

const requestsTotal = Metric.counter("voicegate_requests_total", {
  description: "Session requests by outcome",
  incremental: true,
})

/** One counter an outcome, made once: updating it on the path of a request then costs no look-up. */
export const requests: Readonly<Record<RequestOutcome, Metric.Counter<number>>> = {
  started: Metric.withAttributes(requestsTotal, { outcome: "started" }),
  queued: Metric.withAttributes(requestsTotal, { outcome: "queued" }),
  invalid: Metric.withAttributes(requestsTotal, { outcome: "invalid" }),
  blocked: Metric.withAttributes(requestsTotal, { outcome: "blocked" }),
  rate_limited: Metric.withAttributes(requestsTotal, { outcome: "rate_limited" }),
  queue_full: Metric.withAttributes(requestsTotal, { outcome: "queue_full" }),
  platform_unavailable: Metric.withAttributes(requestsTotal, { outcome: "platform_unavailable" }),
  store_unavailable: Metric.withAttributes(requestsTotal, { outcome: "store_unavailable" }),
}

/** Tickets that were called, by this instance's steps. */
export const called = Metric.counter("voicegate_called_total", {
  description: "Tickets called to a free slot",
  incremental: true,
})

/** Tickets that are over, by their last state, by this instance's steps. */
export const over = (state: string): Metric.Counter<number> =>
  Metric.withAttributes(
    Metric.counter("voicegate_over_total", {
      description: "Tickets that are over, by how they ended",
      incremental: true,
    }),
    { state },
  )

export const webhooks = (result: string): Metric.Counter<number> =>
  Metric.withAttributes(
    Metric.counter("voicegate_webhooks_total", { description: "session-ended webhooks by result", incremental: true }),
    { result },
  )

const gauge = (name: string, description: string) => (campaign: string) =>
  Metric.withAttributes(Metric.gauge(name, { description }), { campaign })

export const waiting = gauge("voicegate_waiting", "Tickets waiting")
export const leases = gauge("voicegate_leases", "Slots held")
export const slots = gauge("voicegate_slots", "Slots there are")
