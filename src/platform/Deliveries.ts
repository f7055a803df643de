/** A user's webhook deliveries in all businesses, and resending one. The outbox itself is `Webhooks.ts`. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "./data/Database.ts"
import { type Page, type PageRequest, page } from "./data/page.ts"
import { type Refused, refuse } from "./model.ts"
import { type DeliveryState, Webhooks } from "./Webhooks.ts"

export interface ShownDelivery {
  readonly id: string
  readonly businessId: string
  readonly webCampaignId: string
  readonly webSessionId: string
  readonly state: DeliveryState
  readonly attempts: number
  /** null when no attempt is scheduled */
  readonly nextAttemptAt: number | null
  /** `HTTP 503`, `no answer`; null before the first attempt */
  readonly lastOutcome: string | null
  readonly createdAt: number
  readonly settledAt: number | null
}

export interface DeliveryFilter {
  readonly businessId?: string | undefined
  readonly state?: DeliveryState | undefined
}

export class Deliveries extends Context.Service<
  Deliveries,
  {
    /** Newest first. */
    readonly list: (
      userId: string,
      request: PageRequest,
      filter: DeliveryFilter,
    ) => Effect.Effect<Page<ShownDelivery>, Refused | DatabaseUnavailable>
    /**
     * Makes a message due now. One that was given up gets one more attempt; a delivered one is refused. An attempt in flight may
     * be duplicated: receivers must be idempotent.
     */
    readonly sendAgain: (userId: string, id: string) => Effect.Effect<ShownDelivery, Refused | DatabaseUnavailable>
  }
>()("voicegate/platform/Deliveries") {}

interface Row {
  readonly id: string
  readonly business_id: string
  readonly web_campaign_id: string
  readonly web_session_id: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly next_attempt_at: number
  readonly last_outcome: string | null
  readonly created_at: number
  readonly settled_at: number | null
}

const show = (row: Row): ShownDelivery => ({
  id: row.id,
  businessId: row.business_id,
  webCampaignId: row.web_campaign_id,
  webSessionId: row.web_session_id,
  state: row.state,
  attempts: row.attempts,
  nextAttemptAt: row.state === "pending" ? row.next_attempt_at : null,
  lastOutcome: row.last_outcome,
  createdAt: row.created_at,
  settledAt: row.settled_at,
})

export const layer: Layer.Layer<Deliveries, never, SqlClient.SqlClient | Webhooks> = Layer.effect(
  Deliveries,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { hint } = yield* Webhooks
    return Deliveries.of({
      list: Effect.fnUntraced(function* (userId, request, filter) {
        return yield* page(sql, request, {
          at: "created_at",
          where: [
            sql`user_id = ${userId}`,
            ...(filter.businessId === undefined ? [] : [sql`business_id = ${filter.businessId}`]),
            ...(filter.state === undefined ? [] : [sql`state = ${filter.state}`]),
          ],
          rowsOf: ({ order, where }) => sql<Row>`SELECT * FROM webhook_deliveries WHERE ${where} ${order}`,
          positionOf: ({ created_at, id }) => ({ at: created_at, id }),
          show,
        })
      }, orUnavailable),

      sendAgain: Effect.fnUntraced(function* (userId, id) {
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* sql<Row>`
          UPDATE webhook_deliveries SET state = 'pending', next_attempt_at = ${now}, settled_at = NULL
          WHERE id = ${id} AND user_id = ${userId} AND state <> 'delivered' RETURNING *`
        if (row !== undefined) {
          yield* hint.open
          return show(row)
        }
        const found = yield* sql`SELECT 1 AS found FROM webhook_deliveries WHERE id = ${id} AND user_id = ${userId}`
        return yield* found.length === 0
          ? refuse("not_found", "DELIVERY_NOT_FOUND", "no such delivery")
          : refuse("conflict", "DELIVERED_ALREADY", "this message has already been delivered")
      }, orUnavailable),
    })
  }),
)
