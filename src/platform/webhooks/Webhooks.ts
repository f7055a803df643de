/**
 * The outbox for session-ended webhooks. A message is written in the transaction that ends its session, so none is lost in a crash.
 * Delivery is at least once, so receivers must be idempotent: every attempt has the same `webhook-id`. Failed attempts are retried
 * with backoff for a day; then the message is given up. `webhooks/deliver.ts` delivers.
 */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Latch, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Page, type PageRequest, page } from "../data/page.ts"
import type { Refused } from "../model.ts"
import { type Attempt, MAX_ATTEMPTS_KEPT } from "./attempts.ts"

export const RETRY_PERIOD_MILLIS = 24 * 60 * 60_000
/** The delay before the second attempt, in milliseconds; doubled each time, up to `MAX_RETRY_MILLIS`. */
export const FIRST_RETRY_MILLIS = 1_000
export const MAX_RETRY_MILLIS = 60 * 60_000
/** How long a claim lasts, in milliseconds: longer than an attempt. */
export const CLAIM_MILLIS = 30_000

export type DeliveryState = "pending" | "delivered" | "given_up"

export interface Delivery {
  /** the `webhook-id` of every attempt */
  readonly id: string
  readonly businessId: string
  readonly webCampaignId: string
  readonly webSessionId: string
  /** JSON */
  readonly body: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly nextAttemptAt: number
  /** `HTTP 503`, `no response`; null before the first attempt */
  readonly lastOutcome: string | null
  readonly createdAt: number
  readonly settledAt: number | null
}

export interface ClaimedDelivery extends Delivery {
  readonly userId: string
}

/** What a receiver says about further attempts. */
export interface ReceiverWish {
  /** it wants none for so many milliseconds (`Retry-After`); the longest pause between attempts bounds it */
  readonly waitMillis?: number
  /** it wants none at all (410) */
  readonly gone?: boolean
}

export interface NewDelivery {
  readonly userId: string
  readonly businessId: string
  readonly webCampaignId: string
  readonly webSessionId: string
  readonly body: string
}

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Adds a message, within the transaction of the event. */
    readonly enqueue: (message: NewDelivery) => Effect.Effect<void, SqlError.SqlError>
    /**
     * Claims up to `limit` due messages; each counts as attempted.
     *
     * @param busyUsers users whose messages are not claimed now
     */
    readonly claim: (
      limit: number,
      busyUsers?: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<ClaimedDelivery>, DatabaseUnavailable>
    /**
     * Records the outcome of an attempt; a failed one is scheduled again or given up. Returns the new state.
     *
     * @param attempt what was sent and answered; absent when nothing was sent
     * @param wish what the receiver asked for about a failed attempt
     */
    readonly settle: (
      delivery: Delivery,
      delivered: boolean,
      outcome: string,
      attempt?: Attempt,
      wish?: ReceiverWish,
    ) => Effect.Effect<DeliveryState, DatabaseUnavailable>
    /** Newest first. */
    readonly list: (
      businessId: string,
      request: PageRequest,
    ) => Effect.Effect<Page<Delivery>, Refused | DatabaseUnavailable>
    /** Opened when this process adds a message, so that delivery starts at once; polling finds messages anyway. */
    readonly hint: Latch.Latch
  }
>()("voicegate/platform/Webhooks") {}

interface Row {
  readonly id: string
  readonly user_id: string
  readonly business_id: string
  readonly web_campaign_id: string
  readonly web_session_id: string
  readonly body: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly next_attempt_at: number
  readonly last_outcome: string | null
  readonly created_at: number
  readonly settled_at: number | null
}

const show = (row: Row): Delivery => ({
  id: row.id,
  businessId: row.business_id,
  webCampaignId: row.web_campaign_id,
  webSessionId: row.web_session_id,
  body: row.body,
  state: row.state,
  attempts: row.attempts,
  nextAttemptAt: row.next_attempt_at,
  lastOutcome: row.last_outcome,
  createdAt: row.created_at,
  settledAt: row.settled_at,
})

/** In milliseconds. */
export const pauseAfter = (attempts: number): number =>
  Math.min(FIRST_RETRY_MILLIS * 2 ** Math.min(attempts - 1, 30), MAX_RETRY_MILLIS)

export const layer: Layer.Layer<Webhooks, never, SqlClient.SqlClient> = Layer.effect(
  Webhooks,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const hint = yield* Latch.make()
    const skipLocked = sql.onDialectOrElse({ pg: () => sql`FOR UPDATE SKIP LOCKED`, orElse: () => sql.literal("") })

    /** Stores the attempt, and deletes all but the last `MAX_ATTEMPTS_KEPT` attempts of the message. */
    const keep = Effect.fnUntraced(function* ({ attempts, id }: Delivery, attempt: Attempt) {
      const { durationMillis, headers, truncated, ...same } = attempt
      const row = {
        ...same,
        delivery_id: id,
        number: attempts,
        duration_millis: durationMillis,
        headers: JSON.stringify(headers),
        truncated: truncated ? 1 : 0,
      }
      yield* sql`INSERT INTO webhook_attempts ${sql.insert(row)} ON CONFLICT (delivery_id, number) DO NOTHING`
      yield* sql`DELETE FROM webhook_attempts WHERE delivery_id = ${id} AND number <= ${attempts - MAX_ATTEMPTS_KEPT}`
    })

    return Webhooks.of({
      hint,

      enqueue: Effect.fnUntraced(function* (message) {
        const now = yield* Clock.currentTimeMillis
        const row: Row = {
          id: `msg_${randomUUID()}`,
          user_id: message.userId,
          business_id: message.businessId,
          web_campaign_id: message.webCampaignId,
          web_session_id: message.webSessionId,
          body: message.body,
          state: "pending",
          attempts: 0,
          next_attempt_at: now,
          last_outcome: null,
          created_at: now,
          settled_at: null,
        }
        yield* sql`INSERT INTO webhook_deliveries ${sql.insert({ ...row })}`
        yield* sql.afterCommit(Effect.asVoid(hint.open))
      }),

      claim: Effect.fnUntraced(function* (limit, busyUsers = []) {
        const now = yield* Clock.currentTimeMillis
        const ofOthers = busyUsers.length === 0 ? sql`` : sql`AND user_id NOT IN ${sql.in(busyUsers)}`
        const rows = yield* sql<Row>`
          UPDATE webhook_deliveries SET attempts = attempts + 1, next_attempt_at = ${now + CLAIM_MILLIS}
          WHERE id IN (
            SELECT id FROM webhook_deliveries WHERE state = 'pending' AND next_attempt_at <= ${now} ${ofOthers}
            ORDER BY next_attempt_at LIMIT ${limit} ${skipLocked})
          RETURNING *`
        return rows.map((row) => ({ ...show(row), userId: row.user_id }))
      }, orUnavailable),

      settle: Effect.fnUntraced(
        function* (delivery, delivered, outcome, attempt, { gone = false, waitMillis = 0 } = {}) {
          const now = yield* Clock.currentTimeMillis
          const next = now + Math.max(pauseAfter(delivery.attempts), Math.min(waitMillis, MAX_RETRY_MILLIS))
          const expired = gone || next > delivery.createdAt + RETRY_PERIOD_MILLIS
          const state: DeliveryState = delivered ? "delivered" : expired ? "given_up" : "pending"
          const change = {
            state,
            last_outcome: outcome,
            next_attempt_at: next,
            settled_at: state === "pending" ? null : now,
          }
          // An attempt that ends after its claim expired does not overwrite the outcome of another one.
          yield* sql`UPDATE webhook_deliveries SET ${sql.update(change)}
          WHERE id = ${delivery.id} AND state = 'pending' AND (attempts = ${delivery.attempts} OR ${delivered ? 1 : 0} = 1)`
          if (attempt !== undefined) yield* keep(delivery, attempt)
          return state
        },
        sql.withTransaction,
        orUnavailable,
      ),

      list: Effect.fnUntraced(function* (businessId, request) {
        return yield* page(sql, request, {
          at: "created_at",
          where: [sql`business_id = ${businessId}`],
          rowsOf: ({ order, where }) => sql<Row>`SELECT * FROM webhook_deliveries WHERE ${where} ${order}`,
          positionOf: ({ created_at, id }) => ({ at: created_at, id }),
          show,
        })
      }, orUnavailable),
    })
  }),
)
