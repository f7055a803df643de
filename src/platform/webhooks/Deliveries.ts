/** A user's webhook deliveries in all businesses with what was sent and answered, and resending. The outbox itself is `Webhooks.ts`. */
import { Clock, Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../Audit.ts"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Page, type PageRequest, page } from "../data/page.ts"
import { type Refused, refuse } from "../model.ts"
import type { Attempt } from "./attempts.ts"
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
  /** `HTTP 503`, `no response`; null before the first attempt */
  readonly lastOutcome: string | null
  readonly createdAt: number
  readonly settledAt: number | null
}

export interface DeliveryDetail extends ShownDelivery {
  /** the message, JSON */
  readonly body: string
  /** the newest first; of those before `MAX_ATTEMPTS_KEPT` only the number is known */
  readonly log: ReadonlyArray<Attempt & { readonly number: number }>
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
    /** The newest message, how many of those created at or after `since` (ms since 1970) were given up, and how many wait for another attempt. */
    readonly summary: (
      userId: string,
      since: number,
    ) => Effect.Effect<
      { readonly last: ShownDelivery | null; readonly failed: number; readonly retrying: number },
      DatabaseUnavailable
    >
    readonly find: (userId: string, id: string) => Effect.Effect<DeliveryDetail, Refused | DatabaseUnavailable>
    /**
     * Makes all messages due now that were created at or after `since` (ms since 1970) and have failed: those that were given
     * up, and those that wait for another attempt. Returns how many.
     */
    readonly sendFailedAgain: (
      userId: string,
      since: number,
      businessId?: string,
    ) => Effect.Effect<number, DatabaseUnavailable>
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

interface AttemptRow {
  readonly number: number
  readonly at: number
  readonly duration_millis: number
  readonly url: string
  /** JSON */
  readonly headers: string
  readonly status: number | null
  readonly error: string | null
  readonly answer: string | null
  readonly truncated: number
}

const showAttempt = (row: AttemptRow): Attempt & { readonly number: number } => {
  const headers: Attempt["headers"] = JSON.parse(row.headers)
  return {
    number: row.number,
    at: row.at,
    durationMillis: row.duration_millis,
    url: row.url,
    headers,
    status: row.status,
    error: row.error,
    answer: row.answer,
    truncated: row.truncated !== 0,
  }
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

export const layer: Layer.Layer<Deliveries, never, SqlClient.SqlClient | Audit | Webhooks> = Layer.effect(
  Deliveries,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* Audit
    const { hint } = yield* Webhooks
    const noSuchDelivery = () => refuse("not_found", "DELIVERY_NOT_FOUND", "no such delivery")
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

      summary: Effect.fnUntraced(function* (userId, since) {
        const [last] = yield* sql<Row>`
          SELECT * FROM webhook_deliveries WHERE user_id = ${userId} ORDER BY created_at DESC, id DESC LIMIT 1`
        const [failed] = yield* sql<{ n: number }>`
          SELECT count(*) AS n FROM webhook_deliveries
          WHERE user_id = ${userId} AND created_at >= ${since} AND state = 'given_up'`
        const [retrying] = yield* sql<{ n: number }>`
          SELECT count(*) AS n FROM webhook_deliveries
          WHERE user_id = ${userId} AND state = 'pending' AND last_outcome IS NOT NULL`
        return {
          last: last === undefined ? null : show(last),
          failed: failed?.n ?? 0,
          retrying: retrying?.n ?? 0,
        }
      }, orUnavailable),

      find: Effect.fnUntraced(function* (userId, id) {
        const [row] = yield* sql<Row & { readonly body: string }>`
          SELECT * FROM webhook_deliveries WHERE id = ${id} AND user_id = ${userId}`
        if (row === undefined) return yield* noSuchDelivery()
        const attempts = yield* sql<AttemptRow>`
          SELECT * FROM webhook_attempts WHERE delivery_id = ${id} ORDER BY number DESC`
        return { ...show(row), body: row.body, log: attempts.map(showAttempt) }
      }, orUnavailable),

      sendFailedAgain: Effect.fnUntraced(
        function* (userId, since, businessId) {
          const now = yield* Clock.currentTimeMillis
          const business = businessId === undefined ? [] : [sql`business_id = ${businessId}`]
          const where = sql.and([sql`user_id = ${userId}`, sql`created_at >= ${since}`, ...business])
          const rows = yield* sql`
            UPDATE webhook_deliveries SET state = 'pending', next_attempt_at = ${now}, settled_at = NULL
            WHERE ${where} AND (state = 'given_up' OR (state = 'pending' AND last_outcome IS NOT NULL)) RETURNING id`
          if (rows.length > 0) {
            // `since` may be negative
            const from = DateTime.formatIso(DateTime.makeUnsafe(Math.max(0, since)))
            yield* audit.record(userId, "webhooks.resent", businessId ?? "all", `${rows.length} failed since ${from}`)
            yield* sql.afterCommit(Effect.asVoid(hint.open))
          }
          return rows.length
        },
        sql.withTransaction,
        orUnavailable,
      ),

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
          ? noSuchDelivery()
          : refuse("conflict", "DELIVERED_ALREADY", "this message has already been delivered")
      }, orUnavailable),
    })
  }),
)
