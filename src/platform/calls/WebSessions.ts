/**
 * Web sessions from start to end. The account's running calls never exceed its limit. A session is opened once, with its token,
 * within five minutes, or it expires. Each ends exactly once, which puts session-ended into the outbox.
 *
 * A joined session is alive while its process renews it. When that process dies, its sessions end within
 * `LIVENESS_TIMEOUT_MILLIS`, so a crash does not leak a slot. A session also ends when its campaign's maximum length of a call
 * is reached. The clocks of processes on one database must agree to within seconds: what they share is a time of day, so a clock that is
 * set ahead by more than that ends the running sessions.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { oneForm } from "../../lib/visible-text.ts"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Page, type PageRequest, page } from "../data/page.ts"
import { DEFAULT_MAX_CALL_MINUTES } from "../defaults.ts"
import { countStart } from "../keys/KeyUsage.ts"
import { type Business, type ConcurrencyLimitReached, type Refused, refuse, type WebCampaign } from "../model.ts"
import { Webhooks } from "../webhooks/Webhooks.ts"
import { claimCall, countRunning, lockUser } from "./Concurrency.ts"
import { Conversations } from "./Conversations.ts"

export const TOKEN_LIFETIME_MILLIS = 60_000
/** A joined session that was not renewed for this long has ended, in milliseconds. */
export const LIVENESS_TIMEOUT_MILLIS = 60_000
const RENEW_BATCH = 500
const MINUTE_MILLIS = 60_000

/** Wire statuses that this platform uses: handed to its server, and never opened. */
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
  /** when it ends at the latest: its start plus its campaign's maximum length of a call */
  readonly endsBy: number
  readonly dynamicVariables: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
}

export interface NewSession {
  /** the API key that starts it */
  readonly keyId: string
  readonly business: Business
  readonly campaign: WebCampaign
  readonly regionId: string
  readonly clientIdentifier: string | null
  /** the other parameters of the request: transport, audio, variables, metadata */
  readonly configuration: Readonly<Record<string, unknown>>
}

export interface SessionFilter {
  readonly webCampaignId?: string | undefined
  readonly clientIdentifier?: string | undefined
  /** true: only sessions that have not ended; false: only ended ones */
  readonly running?: boolean | undefined
  /** of one of these; an empty list matches none, here and below */
  readonly webCampaignIds?: ReadonlyArray<string> | undefined
  readonly clientIdentifiers?: ReadonlyArray<string> | undefined
  readonly statuses?: ReadonlyArray<number> | undefined
  /** created at or after this */
  readonly from?: number | undefined
  /** created before this */
  readonly to?: number | undefined
  /** ended at or after this */
  readonly endedFrom?: number | undefined
  /** ended before this */
  readonly endedTo?: number | undefined
}

export class WebSessions extends Context.Service<
  WebSessions,
  {
    /** Creates a session and the token that opens its WebSocket once. */
    readonly initiate: (
      wanted: NewSession,
    ) => Effect.Effect<
      { readonly session: WebSession; readonly token: Redacted.Redacted<string> },
      ConcurrencyLimitReached | Refused | DatabaseUnavailable
    >
    /** Uses up the token of a session and starts its conversation. Refused when the token is wrong or used, or the session has ended. */
    readonly join: (webSessionId: string, token: string) => Effect.Effect<WebSession, Refused | DatabaseUnavailable>
    /** Ends a session and notifies its campaign's webhook. Idempotent. */
    readonly end: (webSessionId: string) => Effect.Effect<void, DatabaseUnavailable>
    /** Renews these joined sessions; returns those that are still running. */
    readonly renew: (webSessionIds: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, DatabaseUnavailable>
    /** Ends sessions that were not opened in time or not renewed. */
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
    /** The number of running calls of a user, web sessions and telephone calls. */
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
  /** null in rows from before this column existed */
  readonly ends_by: number | null
}

const Variables = Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.String)))
const decodeConfiguration = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ dynamicVariables: Variables, metadata: Variables })),
)

const variablesOf = ({ configuration }: Row): Pick<WebSession, "dynamicVariables" | "metadata"> => {
  const { dynamicVariables, metadata } = Option.getOrElse(decodeConfiguration(configuration), () => ({
    dynamicVariables: null,
    metadata: null,
  }))
  return { dynamicVariables: dynamicVariables ?? {}, metadata: metadata ?? {} }
}

const show = (row: Row): WebSession => ({
  ...variablesOf(row),
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

    /** A time, capped at `ends_by`. */
    const cappedAtEndsBy = (at: number) => sql`CASE WHEN ends_by < ${at} THEN ends_by ELSE ${at} END`

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
        client_identifier: wanted.clientIdentifier === null ? null : oneForm(wanted.clientIdentifier),
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
      yield* countStart(wanted.keyId, "sessions")
      return { session: show(row), token: Redacted.make(token) }
    })

    const join = Effect.fnUntraced(function* (webSessionId: string, token: string) {
      const now = yield* Clock.currentTimeMillis
      // One statement, so that only one of two clients with the token succeeds. Comparing digests leaks nothing by timing.
      const [row] = yield* sql<Row>`
        UPDATE web_sessions
        SET token_digest = NULL, joined_at = ${now}, open_until = ${cappedAtEndsBy(now + LIVENESS_TIMEOUT_MILLIS)}
        WHERE id = ${webSessionId} AND token_digest = ${digest(token)} AND ended_at IS NULL AND open_until > ${now}
        RETURNING *`
      if (row === undefined) return yield* refuse("unauthenticated", "TOKEN_INVALID", "the token is not valid")
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

    /** Ends the conversation and enqueues the webhook, in the transaction that ended the session. */
    const finish = Effect.fnUntraced(function* (row: Row) {
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
      yield* Effect.forEach(rows, finish, { discard: true })
    })

    const sweep = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const due = yield* sql<{ user_id: string }>`
        SELECT DISTINCT user_id FROM web_sessions WHERE ended_at IS NULL AND open_until <= ${now}`
      // One transaction per user; a session that was joined or ended in between is not affected.
      for (const { user_id } of due) {
        yield* Effect.gen(function* () {
          yield* lockUser(user_id)
          const rows = yield* sql<Row>`
            UPDATE web_sessions SET ended_at = open_until, token_digest = NULL,
              status = CASE WHEN joined_at IS NULL THEN ${STATUS.Expired} ELSE status END
            WHERE user_id = ${user_id} AND ended_at IS NULL AND open_until <= ${now} RETURNING *`
          yield* Effect.forEach(rows, finish, { discard: true })
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
      ...(filter.clientIdentifier === undefined ? [] : [sql`client_identifier = ${oneForm(filter.clientIdentifier)}`]),
      ...(filter.running === undefined
        ? []
        : filter.running
          ? [sql`ended_at IS NULL AND open_until > ${now}`]
          : [sql`(ended_at IS NOT NULL OR open_until <= ${now})`]),
      ...(filter.webCampaignIds === undefined ? [] : [sql.in("web_campaign_id", filter.webCampaignIds)]),
      ...(filter.clientIdentifiers === undefined
        ? []
        : [sql.in("client_identifier", filter.clientIdentifiers.map(oneForm))]),
      ...(filter.statuses === undefined ? [] : [sql.in("status", filter.statuses)]),
      ...(filter.from === undefined ? [] : [sql`created_at >= ${filter.from}`]),
      ...(filter.to === undefined ? [] : [sql`created_at < ${filter.to}`]),
      ...(filter.endedFrom === undefined ? [] : [sql`ended_at >= ${filter.endedFrom}`]),
      ...(filter.endedTo === undefined ? [] : [sql`ended_at < ${filter.endedTo}`]),
    ]

    return WebSessions.of({
      initiate: (wanted) => initiate(wanted).pipe(withSql, sql.withTransaction, orUnavailable),
      join: (id, token) => join(id, token).pipe(sql.withTransaction, orUnavailable),
      end: (id) => end(id).pipe(sql.withTransaction, orUnavailable),
      sweep: orUnavailable(sweep),
      running: (userId) => countRunning(userId).pipe(withSql, orUnavailable),

      renew: Effect.fnUntraced(function* (ids) {
        const now = yield* Clock.currentTimeMillis
        const alive = new Set<string>()
        for (let from = 0; from < ids.length; from += RENEW_BATCH) {
          const rows = yield* sql<{ id: string }>`
            UPDATE web_sessions SET open_until = ${cappedAtEndsBy(now + LIVENESS_TIMEOUT_MILLIS)}
            WHERE ${sql.in("id", ids.slice(from, from + RENEW_BATCH))} AND ended_at IS NULL
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
          positionOf: ({ created_at, id }) => ({ at: created_at, id }),
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
