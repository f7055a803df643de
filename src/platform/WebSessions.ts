/**
 * Web sessions from their start to their end. The account's running calls never exceed its limit; a session is opened once, by
 * its token, within five minutes, or it expires; each ends exactly once, and session-ended is in the outbox then.
 *
 * A joined session is alive while the process that talks says so. When that process dies its sessions end by themselves
 * within `HEARD_MILLIS`, so no crash keeps a slot. However much is said, a session ends at the longest call of its campaign. Processes on one database must agree on the time to within seconds.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { claimCall, lockUser, runningOf } from "./Concurrency.ts"
import { Conversations } from "./Conversations.ts"
import { DEFAULT_MAX_CALL_MINUTES } from "./call-length.ts"
import { type DatabaseUnavailable, orUnavailable } from "./data/Database.ts"
import { type Page, type PageRequest, page } from "./data/page.ts"
import { type Business, type ConcurrencyLimitReached, type Refused, refuse, type WebCampaign } from "./model.ts"
import { Webhooks } from "./Webhooks.ts"

/** How long a session's token may be used, in milliseconds. */
export const TOKEN_LIFETIME_MILLIS = 5 * 60_000
/** A joined session that was not heard of for this long is over, in milliseconds. */
export const HEARD_MILLIS = 60_000
const RENEWED_AT_ONCE = 500
const MINUTE_MILLIS = 60_000

/** Statuses of the wire that this platform uses: handed to its server, and never opened. */
export const STATUS = { ProcessedBackend: 3, Expired: 6 } as const
type Status = (typeof STATUS)[keyof typeof STATUS]

/** One session. Times in milliseconds since 1970. */
export interface WebSession {
  readonly webSessionId: string
  readonly conversationSessionId: string
  readonly userId: string
  readonly businessId: string
  readonly webCampaignId: string
  readonly regionId: string
  readonly clientIdentifier: string | null
  readonly status: Status
  readonly createdAt: number
  readonly joinedAt: number | null
  readonly endedAt: number | null
  /** when it ends by itself, however much is said: its start and the longest call of its campaign */
  readonly endsBy: number
}

export interface NewSession {
  readonly business: Business
  readonly campaign: WebCampaign
  readonly regionId: string
  readonly clientIdentifier: string | null
  /** what else was asked for: transport, audio, variables, metadata */
  readonly configuration: Readonly<Record<string, unknown>>
}

export interface SessionFilter {
  readonly webCampaignId?: string | undefined
  readonly clientIdentifier?: string | undefined
  /** running: not over yet */
  readonly running?: boolean | undefined
  /** created at or after this */
  readonly from?: number | undefined
  /** created before this */
  readonly to?: number | undefined
}

export class WebSessions extends Context.Service<
  WebSessions,
  {
    /** A new session and the token that opens its WebSocket once. */
    readonly initiate: (
      wanted: NewSession,
    ) => Effect.Effect<
      { readonly session: WebSession; readonly token: Redacted.Redacted<string> },
      ConcurrencyLimitReached | Refused | DatabaseUnavailable
    >
    /** Uses up the token of a session; its conversation begins. Refused when wrong, used, or the session is over. */
    readonly join: (webSessionId: string, token: string) => Effect.Effect<WebSession, Refused | DatabaseUnavailable>
    /** Ends a session and tells its campaign; does nothing for one that ended already. */
    readonly end: (webSessionId: string) => Effect.Effect<void, DatabaseUnavailable>
    /** Says that these joined sessions still go on; gives those that do, for the others are over. */
    readonly renew: (webSessionIds: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, DatabaseUnavailable>
    /** Ends what was not opened in time or not heard of any more. */
    readonly sweep: Effect.Effect<void, DatabaseUnavailable>
    /** A session of a business, running or ended. */
    readonly find: (
      businessId: string,
      webSessionId: string,
    ) => Effect.Effect<WebSession, Refused | DatabaseUnavailable>
    /** Of a business, newest first. */
    readonly list: (
      businessId: string,
      request: PageRequest,
      filter: SessionFilter,
    ) => Effect.Effect<Page<WebSession>, Refused | DatabaseUnavailable>
    readonly count: (businessId: string, filter: SessionFilter) => Effect.Effect<number, DatabaseUnavailable>
    /** How many calls of a user run, web sessions and telephone calls. */
    readonly running: (userId: string) => Effect.Effect<number, DatabaseUnavailable>
  }
>()("voicegate/platform/WebSessions") {}

interface Row {
  readonly id: string
  readonly conversation_id: string
  readonly user_id: string
  readonly business_id: string
  readonly web_campaign_id: string
  readonly region_id: string
  readonly client_identifier: string | null
  readonly configuration: string
  readonly status: Status
  readonly token_digest: string | null
  readonly open_until: number
  readonly created_at: number
  readonly joined_at: number | null
  readonly ended_at: number | null
  /** null in rows from before there was a longest call */
  readonly ends_by: number | null
}

const show = (row: Row): WebSession => ({
  webSessionId: row.id,
  conversationSessionId: row.conversation_id,
  userId: row.user_id,
  businessId: row.business_id,
  webCampaignId: row.web_campaign_id,
  regionId: row.region_id,
  clientIdentifier: row.client_identifier,
  status: row.status,
  createdAt: row.created_at,
  joinedAt: row.joined_at,
  endedAt: row.ended_at,
  endsBy: row.ends_by ?? row.created_at + DEFAULT_MAX_CALL_MINUTES * MINUTE_MILLIS,
})

const digest = (token: string): string => createHash("sha256").update(token).digest("hex")

export const layer: Layer.Layer<WebSessions, never, SqlClient.SqlClient | Conversations | Webhooks> = Layer.effect(
  WebSessions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const conversations = yield* Conversations
    const webhooks = yield* Webhooks
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    /** A time, but never later than the session ends by itself. */
    const atMostEndsBy = (at: number) => sql`CASE WHEN ends_by < ${at} THEN ends_by ELSE ${at} END`

    const initiate = Effect.fnUntraced(function* (wanted: NewSession) {
      yield* claimCall(wanted.business.userId)
      const now = yield* Clock.currentTimeMillis
      const token = randomBytes(32).toString("base64url")
      const endsBy = now + wanted.campaign.maxCallMinutes * MINUTE_MILLIS
      const row: Row = {
        id: randomUUID(),
        conversation_id: randomUUID(),
        user_id: wanted.business.userId,
        business_id: wanted.business.id,
        web_campaign_id: wanted.campaign.id,
        region_id: wanted.regionId,
        client_identifier: wanted.clientIdentifier,
        configuration: JSON.stringify(wanted.configuration),
        status: STATUS.ProcessedBackend,
        token_digest: digest(token),
        open_until: Math.min(now + TOKEN_LIFETIME_MILLIS, endsBy),
        created_at: now,
        joined_at: null,
        ended_at: null,
        ends_by: endsBy,
      }
      yield* sql`INSERT INTO web_sessions ${sql.insert({ ...row })}`
      return { session: show(row), token: Redacted.make(token) }
    })

    const join = Effect.fnUntraced(function* (webSessionId: string, token: string) {
      const now = yield* Clock.currentTimeMillis
      // One statement: of two who hold the token one finds it unused. A digest tells nothing by how long it takes to differ.
      const [row] = yield* sql<Row>`
        UPDATE web_sessions
        SET token_digest = NULL, joined_at = ${now}, open_until = ${atMostEndsBy(now + HEARD_MILLIS)}
        WHERE id = ${webSessionId} AND token_digest = ${digest(token)} AND ended_at IS NULL AND open_until > ${now}
        RETURNING *`
      if (row === undefined) return yield* refuse("unauthenticated", "TOKEN_INVALID", "the token opens nothing")
      yield* conversations.begin(row.user_id, {
        id: row.conversation_id,
        businessId: row.business_id,
        kind: "web",
        sourceId: row.id,
        clientIdentifier: row.client_identifier,
        startedAt: now,
        endedAt: null,
      })
      return show(row)
    })

    /** What follows from the end of a session; in the transaction that ended it. */
    const ended = Effect.fnUntraced(function* (row: Row) {
      if (row.joined_at !== null && row.ended_at !== null) yield* conversations.end(row.conversation_id, row.ended_at)
      const [campaign] = yield* sql`
        SELECT 1 AS found FROM web_campaigns WHERE id = ${row.web_campaign_id} AND webhook_url IS NOT NULL`
      if (campaign === undefined) return
      yield* webhooks.enqueue({
        userId: row.user_id,
        businessId: row.business_id,
        webCampaignId: row.web_campaign_id,
        webSessionId: row.id,
        body: JSON.stringify({ ConversationSessionId: row.conversation_id, WebSessionId: row.id }),
      })
    })

    const end = Effect.fnUntraced(function* (webSessionId: string) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* sql<Row>`
        UPDATE web_sessions SET ended_at = ${now}, token_digest = NULL
        WHERE id = ${webSessionId} AND ended_at IS NULL RETURNING *`
      yield* Effect.forEach(rows, ended, { discard: true })
    })

    const sweep = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const due = yield* sql<{ user_id: string }>`
        SELECT DISTINCT user_id FROM web_sessions WHERE ended_at IS NULL AND open_until <= ${now}`
      // One user at a time, each in a transaction of its own; a session joined or ended meanwhile is left alone.
      for (const { user_id } of due) {
        yield* Effect.gen(function* () {
          yield* lockUser(user_id)
          const rows = yield* sql<Row>`
            UPDATE web_sessions SET ended_at = open_until, token_digest = NULL,
              status = CASE WHEN joined_at IS NULL THEN ${STATUS.Expired} ELSE status END
            WHERE user_id = ${user_id} AND ended_at IS NULL AND open_until <= ${now} RETURNING *`
          yield* Effect.forEach(rows, ended, { discard: true })
        }).pipe(
          withSql,
          sql.withTransaction,
          Effect.catchTag("Refused", () => Effect.void),
        )
      }
    })

    const conditions = (businessId: string, filter: SessionFilter, now: number) => [
      sql`business_id = ${businessId}`,
      ...(filter.webCampaignId === undefined ? [] : [sql`web_campaign_id = ${filter.webCampaignId}`]),
      ...(filter.clientIdentifier === undefined ? [] : [sql`client_identifier = ${filter.clientIdentifier}`]),
      ...(filter.running === undefined
        ? []
        : filter.running
          ? [sql`ended_at IS NULL AND open_until > ${now}`]
          : [sql`(ended_at IS NOT NULL OR open_until <= ${now})`]),
      ...(filter.from === undefined ? [] : [sql`created_at >= ${filter.from}`]),
      ...(filter.to === undefined ? [] : [sql`created_at < ${filter.to}`]),
    ]

    return WebSessions.of({
      initiate: (wanted) => initiate(wanted).pipe(withSql, sql.withTransaction, orUnavailable),
      join: (id, token) => join(id, token).pipe(sql.withTransaction, orUnavailable),
      end: (id) => end(id).pipe(sql.withTransaction, orUnavailable),
      sweep: orUnavailable(sweep),
      running: (userId) => runningOf(userId).pipe(withSql, orUnavailable),

      renew: Effect.fnUntraced(function* (ids) {
        const now = yield* Clock.currentTimeMillis
        const alive = new Set<string>()
        for (let from = 0; from < ids.length; from += RENEWED_AT_ONCE) {
          const rows = yield* sql<{ id: string }>`
            UPDATE web_sessions SET open_until = ${atMostEndsBy(now + HEARD_MILLIS)}
            WHERE ${sql.in("id", ids.slice(from, from + RENEWED_AT_ONCE))} AND ended_at IS NULL
              AND (ends_by IS NULL OR ends_by > ${now}) RETURNING id`
          for (const { id } of rows) alive.add(id)
        }
        return alive
      }, orUnavailable),

      find: Effect.fnUntraced(function* (businessId, id) {
        const [row] = yield* sql<Row>`SELECT * FROM web_sessions WHERE id = ${id} AND business_id = ${businessId}`
        return row === undefined
          ? yield* refuse("not_found", "WEB_SESSION_NOT_FOUND", "no such web session")
          : show(row)
      }, orUnavailable),

      list: Effect.fnUntraced(function* (businessId, request, filter) {
        const now = yield* Clock.currentTimeMillis
        return yield* page(sql, request, {
          at: "created_at",
          where: conditions(businessId, filter, now),
          rowsOf: ({ order, where }) => sql<Row>`SELECT * FROM web_sessions WHERE ${where} ${order}`,
          placeOf: ({ created_at, id }) => ({ at: created_at, id }),
          show,
        })
      }, orUnavailable),

      count: Effect.fnUntraced(function* (businessId, filter) {
        const where = sql.and(conditions(businessId, filter, yield* Clock.currentTimeMillis))
        const [row] = yield* sql<{ n: number }>`SELECT count(*) AS n FROM web_sessions WHERE ${where}`
        return row?.n ?? 0
      }, orUnavailable),
    })
  }),
)
