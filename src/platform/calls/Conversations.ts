/** Conversations with their turns: of web sessions, written as they happen, and of simulated calls, written in advance. */
import { Array as Arr, Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { oneForm } from "../../lib/visible-text.ts"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Page, type PageRequest, page } from "../data/page.ts"
import { type Refused, type Role, refuse } from "../model.ts"
import { type Excerpt, excerptsOf } from "./excerpts.ts"
import { makeSearch, type ConversationRow as Row } from "./search.ts"

/** Limits of turns per conversation and of the length of a turn's text, since callers send them. */
export const MAX_TURNS = 1_000
export const MAX_TURN_TEXT = 4_000

/** How many hours `byHour` counts. */
export const HOURS = 24
const HOUR_MILLIS = 3_600_000

export type ConversationKind = Row["kind"]
export type { Role } from "../model.ts"

export interface Utterance {
  readonly role: Role
  readonly text: string
}

export interface Turn extends Utterance {
  readonly at: number
}

export interface Conversation {
  readonly id: string
  readonly businessId: string
  readonly kind: ConversationKind
  /** the web session's or the call's id */
  readonly sourceId: string
  readonly clientIdentifier: string | null
  readonly startedAt: number
  /** null while it runs */
  readonly endedAt: number | null
}

export interface ConversationFilter {
  readonly kind?: ConversationKind | undefined
  /** of one of these kinds; an empty list matches none */
  readonly kinds?: ReadonlyArray<ConversationKind> | undefined
  /** true: only those that have not ended; false: only ended ones */
  readonly running?: boolean | undefined
  readonly clientIdentifier?: string | undefined
  /**
   * of lists only: a part of the caller's identifier, of the id, or of what was said in its first turns, in the newest conversations that
   * the other fields leave (`search.ts` says how many); capitals do not matter in the letters a to z
   */
  readonly search?: string | undefined
  /** only of these businesses; an empty list matches none */
  readonly businessIds?: ReadonlyArray<string> | undefined
  /** started at or after this */
  readonly from?: number | undefined
  /** started before this */
  readonly to?: number | undefined
}

export class Conversations extends Context.Service<
  Conversations,
  {
    /** Starts a conversation, within the transaction that joins its session or starts its call. */
    readonly begin: (
      userId: string,
      conversation: Conversation,
      turns?: ReadonlyArray<Turn>,
    ) => Effect.Effect<void, SqlError.SqlError>
    /** Ends a conversation, within the transaction that ends its session. */
    readonly end: (id: string, at: number) => Effect.Effect<void, SqlError.SqlError>
    /** Adds turns, each cut to `MAX_TURN_TEXT`; drops those beyond `MAX_TURNS`. */
    readonly addTurns: (id: string, utterances: ReadonlyArray<Utterance>) => Effect.Effect<void, DatabaseUnavailable>
    /** Of a business, newest first. */
    readonly list: (
      businessId: string,
      request: PageRequest,
      filter: ConversationFilter,
    ) => Effect.Effect<Page<Conversation>, Refused | DatabaseUnavailable>
    /** Of conversations that a search has found: the first turn with what was searched for, around it, by the conversation's id. */
    readonly excerpts: (
      ids: ReadonlyArray<string>,
      search: string,
    ) => Effect.Effect<ReadonlyMap<string, Excerpt>, DatabaseUnavailable>
    readonly count: (businessId: string, filter: ConversationFilter) => Effect.Effect<number, DatabaseUnavailable>
    readonly find: (
      businessId: string,
      id: string,
    ) => Effect.Effect<Conversation & { readonly turns: ReadonlyArray<Turn> }, Refused | DatabaseUnavailable>
    /** Of all businesses of a user, newest first. */
    readonly usage: (
      userId: string,
      request: PageRequest,
      filter: ConversationFilter,
    ) => Effect.Effect<Page<Conversation>, Refused | DatabaseUnavailable>
    /** The number of conversations of a user and their total seconds; running ones count until now. */
    readonly usageCount: (
      userId: string,
      filter: ConversationFilter,
    ) => Effect.Effect<{ readonly count: number; readonly seconds: number }, DatabaseUnavailable>
    /** How many conversations of a user began in each of the `HOURS` hours before `now` (ms since 1970), the oldest hour first. */
    readonly byHour: (userId: string, now: number) => Effect.Effect<ReadonlyArray<number>, DatabaseUnavailable>
  }
>()("voicegate/platform/Conversations") {}

/** A simulated call is stored in advance; what lies in the future is not shown. */
const showAt =
  (now: number) =>
  (row: Row): Conversation => ({
    id: row.id,
    businessId: row.business_id,
    kind: row.kind,
    sourceId: row.source_id,
    clientIdentifier: row.client_identifier,
    startedAt: row.started_at,
    endedAt: row.ended_at !== null && row.ended_at <= now ? row.ended_at : null,
  })

export const layer: Layer.Layer<Conversations, never, SqlClient.SqlClient> = Layer.effect(
  Conversations,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const searchIn = makeSearch(sql)

    const conditions = (filter: ConversationFilter, now: number) => [
      sql`started_at <= ${now}`,
      ...(filter.kind === undefined ? [] : [sql`kind = ${filter.kind}`]),
      ...(filter.kinds === undefined ? [] : [sql.in("kind", filter.kinds)]),
      ...(filter.running === undefined
        ? []
        : filter.running
          ? [sql`(ended_at IS NULL OR ended_at > ${now})`]
          : [sql`ended_at <= ${now}`]),
      ...(filter.clientIdentifier === undefined ? [] : [sql`client_identifier = ${oneForm(filter.clientIdentifier)}`]),
      ...(filter.businessIds === undefined ? [] : [sql.in("business_id", filter.businessIds)]),
      ...(filter.from === undefined ? [] : [sql`started_at >= ${filter.from}`]),
      ...(filter.to === undefined ? [] : [sql`started_at < ${filter.to}`]),
    ]

    const listOf = Effect.fnUntraced(function* (
      column: "business_id" | "user_id",
      owner: string,
      request: PageRequest,
      filter: ConversationFilter,
    ) {
      const now = yield* Clock.currentTimeMillis
      const where = [sql`${sql(column)} = ${owner}`, ...conditions(filter, now)]
      const { search } = filter
      return yield* page(sql, request, {
        at: "started_at",
        where,
        rowsOf: ({ order, where: within, ...part }) =>
          search === undefined
            ? sql<Row>`SELECT * FROM conversations WHERE ${within} ${order}`
            : searchIn(sql.and(where), search, now, part),
        positionOf: ({ id, started_at }) => ({ at: started_at, id }),
        show: showAt(now),
      })
    }, orUnavailable)

    const addTurns = Effect.fnUntraced(function* (id: string, utterances: ReadonlyArray<Utterance>) {
      const now = yield* Clock.currentTimeMillis
      // Turns of one conversation come from one socket, sequentially: positions have no collision and no gap. The last one is
      // found by the primary key, so its cost does not depend on their number.
      const [last] = yield* sql<{ position: number }>`
        SELECT position FROM turns WHERE conversation_id = ${id} ORDER BY position DESC LIMIT 1`
      const next = last === undefined ? 0 : last.position + 1
      const rows = utterances.slice(0, Math.max(0, MAX_TURNS - next)).map(({ role, text }, i) => ({
        conversation_id: id,
        position: next + i,
        role,
        text: text.slice(0, MAX_TURN_TEXT).toWellFormed(),
        said_at: now,
      }))
      if (Arr.isArrayNonEmpty(rows)) yield* sql`INSERT INTO turns ${sql.insert(rows)}`
    }, orUnavailable)

    return Conversations.of({
      addTurns,

      begin: Effect.fnUntraced(function* (userId, conversation, turns = []) {
        const row: Row = {
          id: conversation.id,
          user_id: userId,
          business_id: conversation.businessId,
          kind: conversation.kind,
          source_id: conversation.sourceId,
          client_identifier: conversation.clientIdentifier,
          started_at: conversation.startedAt,
          ended_at: conversation.endedAt,
        }
        yield* sql`INSERT INTO conversations ${sql.insert({ ...row })}`
        for (const [position, { at, role, text }] of turns.entries()) {
          const turn = { conversation_id: row.id, position, role, text, said_at: at }
          yield* sql`INSERT INTO turns ${sql.insert(turn)}`
        }
      }),

      end: (id, at) =>
        Effect.asVoid(sql`UPDATE conversations SET ended_at = ${at} WHERE id = ${id} AND ended_at IS NULL`),

      list: (businessId, request, filter) => listOf("business_id", businessId, request, filter),
      usage: (userId, request, filter) => listOf("user_id", userId, request, filter),

      excerpts: Effect.fnUntraced(function* (ids, search) {
        return yield* excerptsOf(sql, ids, search, yield* Clock.currentTimeMillis)
      }, orUnavailable),

      count: Effect.fnUntraced(function* (businessId, filter) {
        const now = yield* Clock.currentTimeMillis
        const where = sql.and([sql`business_id = ${businessId}`, ...conditions(filter, now)])
        const [row] = yield* sql<{ n: number }>`SELECT count(*) AS n FROM conversations WHERE ${where}`
        return row?.n ?? 0
      }, orUnavailable),

      find: Effect.fnUntraced(function* (businessId, id) {
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* sql<Row>`
          SELECT * FROM conversations WHERE id = ${id} AND business_id = ${businessId} AND started_at <= ${now}`
        if (row === undefined) return yield* refuse("not_found", "CONVERSATION_NOT_FOUND", "no such conversation")
        const turns = yield* sql<{ role: Role; text: string; said_at: number }>`
          SELECT role, text, said_at FROM turns
          WHERE conversation_id = ${id} AND said_at <= ${now} ORDER BY position`
        return { ...showAt(now)(row), turns: turns.map(({ role, said_at, text }) => ({ role, text, at: said_at })) }
      }, orUnavailable),

      usageCount: Effect.fnUntraced(function* (userId, filter) {
        const now = yield* Clock.currentTimeMillis
        const where = sql.and([sql`user_id = ${userId}`, ...conditions(filter, now)])
        const [row] = yield* sql<{ n: number; millis: number | null }>`
          SELECT count(*) AS n,
            CAST(sum(CASE WHEN ended_at IS NULL OR ended_at > ${now} THEN ${now} ELSE ended_at END - started_at) AS BIGINT) AS millis
          FROM conversations WHERE ${where}`
        return { count: row?.n ?? 0, seconds: Math.round((row?.millis ?? 0) / 1000) }
      }, orUnavailable),

      byHour: Effect.fnUntraced(function* (userId, now) {
        const from = now - HOURS * HOUR_MILLIS
        const rows = yield* sql<{ hour: number; n: number }>`
          SELECT CAST((started_at - ${from}) / 3600000 AS BIGINT) AS hour, count(*) AS n FROM conversations
          WHERE user_id = ${userId} AND started_at >= ${from} AND started_at < ${now} GROUP BY 1`
        const counts = new Map(rows.map(({ hour, n }) => [hour, n]))
        return Array.from({ length: HOURS }, (_, hour) => counts.get(hour) ?? 0)
      }, orUnavailable),
    })
  }),
)
