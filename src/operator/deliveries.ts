/** What an operator sees of deliveries, and what becomes of orders. */
import { Effect } from "effect"
import type { EventLog } from "../events/EventLog.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { isoTime } from "../protocol/session-answers.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { Deliveries, DeliveryFilter, Redelivered, Redelivery } from "./delivery-shapes.ts"

/** What the audit log says of a redelivery. */
export const targetOf = (of: Redelivery): string =>
  of.type === "one" ? `event ${of.seq}` : `failed events from ${isoTime(of.from)} to ${isoTime(of.to)}`

export const deliveriesOf = (
  log: EventLog["Service"],
  campaign: Campaign,
  filter: DeliveryFilter,
  before: number,
  count: number,
): Effect.Effect<Deliveries, StoreUnavailable> =>
  Effect.map(log.deliveries(campaign, { filter, before, count }), (page) => ({
    campaign: campaign.name,
    reports: campaign.Events !== undefined,
    sends: campaign.Events?.Url !== undefined,
    ...page,
  }))

export const redeliverOf = (
  log: EventLog["Service"],
  campaign: Campaign,
  of: Redelivery,
): Effect.Effect<Redelivered, StoreUnavailable> =>
  of.type === "one"
    ? Effect.map(log.redeliver(campaign, of.seq), (result) => ({ queued: result === "queued" ? 1 : 0, result }))
    : Effect.map(log.redeliverFailed(campaign, of.from, of.to), (queued) => ({
        queued,
        result: queued === 0 ? ("gone" as const) : ("queued" as const),
      }))
