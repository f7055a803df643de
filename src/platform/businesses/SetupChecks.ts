/**
 * What the platform has seen of a gate that is being set up: requests with its key, and session-ended webhooks of its campaign that it
 * accepted.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import type { DeliveryState } from "../webhooks/Webhooks.ts"

export interface SetupCheck {
  /** the platform's clock, in milliseconds since 1970, as all times here */
  readonly asOf: number
  /** the first request with the key; null before it. For a key from before this was recorded, when it was last used. */
  readonly firstRequestAt: number | null
  /** precise to a minute */
  readonly lastRequestAt: number | null
  /** when the campaign's first webhook was delivered; null before */
  readonly firstDeliveryAt: number | null
  /** the campaign's newest webhook message; null when there is none */
  readonly lastDelivery: {
    readonly state: DeliveryState
    /** `HTTP 401`, `no response`; null before the first attempt */
    readonly outcome: string | null
    readonly createdAt: number
  } | null
}

export class SetupChecks extends Context.Service<
  SetupChecks,
  {
    /** Nothing was seen of a key or a campaign that is not the user's. */
    readonly of: (
      userId: string,
      ids: { readonly keyId?: string | undefined; readonly campaignId?: string | undefined },
    ) => Effect.Effect<SetupCheck, DatabaseUnavailable>
  }
>()("voicegate/platform/SetupChecks") {}

export const layer: Layer.Layer<SetupChecks, never, SqlClient.SqlClient> = Layer.effect(
  SetupChecks,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return SetupChecks.of({
      of: Effect.fnUntraced(function* (userId, { campaignId = "", keyId = "" }) {
        const asOf = yield* Clock.currentTimeMillis
        const [key] = yield* sql<{ first: number | null; last: number | null }>`
          SELECT COALESCE(first_used_at, last_used_at) AS first, last_used_at AS last
          FROM api_keys WHERE id = ${keyId} AND user_id = ${userId}`
        // "no receiver" is a message that had nowhere to go; it counts as delivered in the outbox
        const [delivered] = yield* sql<{ first: number | null }>`
          SELECT MIN(settled_at) AS first FROM webhook_deliveries
          WHERE user_id = ${userId} AND web_campaign_id = ${campaignId} AND state = 'delivered'
            AND last_outcome <> 'no receiver'`
        const [last] = yield* sql<{ state: DeliveryState; last_outcome: string | null; created_at: number }>`
          SELECT state, last_outcome, created_at FROM webhook_deliveries
          WHERE user_id = ${userId} AND web_campaign_id = ${campaignId} ORDER BY created_at DESC, id DESC LIMIT 1`
        return {
          asOf,
          firstRequestAt: key?.first ?? null,
          lastRequestAt: key?.last ?? null,
          firstDeliveryAt: delivered?.first ?? null,
          lastDelivery:
            last === undefined ? null : { state: last.state, outcome: last.last_outcome, createdAt: last.created_at },
        }
      }, orUnavailable),
    })
  }),
)
