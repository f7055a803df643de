/**
 * Simulated telephone calls for building clients; no telephone rings. Each is queued, rings, is answered and completes at times
 * that are fixed when it starts, so its state follows from the clock alone: no process runs it, and a restart changes nothing.
 * It counts against the account's limit until it completes.
 */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Page, type PageRequest, page } from "../data/page.ts"
import { countStart } from "../keys/KeyUsage.ts"
import { type Business, type ConcurrencyLimitReached, type Refused, refuse } from "../model.ts"
import { claimCall } from "./Concurrency.ts"
import { Conversations, type Turn } from "./Conversations.ts"

/** How long after its start a call rings, is answered, and completes, in milliseconds. */
export const RINGS_MILLIS = 1_000
export const ANSWERS_MILLIS = 4_000
export const COMPLETES_MILLIS = 24_000

export type CallStatus = "queued" | "ringing" | "active" | "completed"

export interface Call {
  readonly callId: string
  readonly conversationSessionId: string
  readonly businessId: string
  readonly regionId: string
  /** E.164 */
  readonly toNumber: string
  readonly status: CallStatus
  readonly createdAt: number
  readonly answeredAt: number | null
  readonly endedAt: number | null
}

export interface NewCall {
  /** the API key that starts it */
  readonly keyId: string
  readonly business: Business
  readonly regionId: string
  readonly toNumber: string
}

export class Calls extends Context.Service<
  Calls,
  {
    readonly initiate: (wanted: NewCall) => Effect.Effect<Call, ConcurrencyLimitReached | Refused | DatabaseUnavailable>
    readonly find: (businessId: string, callId: string) => Effect.Effect<Call, Refused | DatabaseUnavailable>
    /** Of a business, newest first. */
    readonly list: (
      businessId: string,
      request: PageRequest,
    ) => Effect.Effect<Page<Call>, Refused | DatabaseUnavailable>
  }
>()("voicegate/platform/Calls") {}

interface Row {
  readonly id: string
  readonly conversation_id: string
  readonly user_id: string
  readonly business_id: string
  readonly region_id: string
  readonly to_number: string
  readonly created_at: number
  readonly rings_at: number
  readonly answers_at: number
  readonly completes_at: number
}

const statusAt = (row: Row, now: number): CallStatus => {
  if (now < row.rings_at) return "queued"
  if (now < row.answers_at) return "ringing"
  return now < row.completes_at ? "active" : "completed"
}

const showAt =
  (now: number) =>
  (row: Row): Call => ({
    callId: row.id,
    conversationSessionId: row.conversation_id,
    businessId: row.business_id,
    regionId: row.region_id,
    toNumber: row.to_number,
    status: statusAt(row, now),
    createdAt: row.created_at,
    answeredAt: now < row.answers_at ? null : row.answers_at,
    endedAt: now < row.completes_at ? null : row.completes_at,
  })

/** The script of a call; times are relative to the answer, in milliseconds. */
const SCRIPT: ReadonlyArray<Turn> = [
  { at: 0, role: "agent", text: "Hello. This is a simulated call." },
  { at: 5_000, role: "caller", text: "Hello. Who is speaking?" },
  { at: 9_000, role: "agent", text: "The platform's built-in agent. No telephone rang." },
  { at: 15_000, role: "caller", text: "Good to know. Goodbye." },
  { at: 18_000, role: "agent", text: "Goodbye." },
]

export const layer: Layer.Layer<Calls, never, SqlClient.SqlClient | Conversations> = Layer.effect(
  Calls,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const conversations = yield* Conversations

    const initiate = Effect.fnUntraced(function* (wanted: NewCall) {
      const { business } = wanted
      yield* claimCall(business.userId)
      const now = yield* Clock.currentTimeMillis
      const row: Row = {
        id: randomUUID(),
        conversation_id: randomUUID(),
        user_id: business.userId,
        business_id: business.id,
        region_id: wanted.regionId,
        to_number: wanted.toNumber,
        created_at: now,
        rings_at: now + RINGS_MILLIS,
        answers_at: now + ANSWERS_MILLIS,
        completes_at: now + COMPLETES_MILLIS,
      }
      yield* sql`INSERT INTO calls ${sql.insert({ ...row })}`
      yield* countStart(wanted.keyId, "calls")
      const conversation = {
        id: row.conversation_id,
        businessId: row.business_id,
        kind: "call" as const,
        sourceId: row.id,
        clientIdentifier: row.to_number,
        startedAt: row.answers_at,
        endedAt: row.completes_at,
      }
      const turns = SCRIPT.map((turn) => ({ ...turn, at: row.answers_at + turn.at }))
      yield* conversations.begin(row.user_id, conversation, turns)
      return showAt(now)(row)
    })

    return Calls.of({
      initiate: (wanted) =>
        initiate(wanted).pipe(Effect.provideService(SqlClient.SqlClient, sql), sql.withTransaction, orUnavailable),

      find: Effect.fnUntraced(function* (businessId, callId) {
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* sql<Row>`SELECT * FROM calls WHERE id = ${callId} AND business_id = ${businessId}`
        return row === undefined ? yield* refuse("not_found", "CALL_NOT_FOUND", "no such call") : showAt(now)(row)
      }, orUnavailable),

      list: Effect.fnUntraced(function* (businessId, request) {
        const now = yield* Clock.currentTimeMillis
        return yield* page(sql, request, {
          at: "created_at",
          where: [sql`business_id = ${businessId}`],
          rowsOf: ({ order, where }) => sql<Row>`SELECT * FROM calls WHERE ${where} ${order}`,
          positionOf: ({ created_at, id }) => ({ at: created_at, id }),
          show: showAt(now),
        })
      }, orUnavailable),
    })
  }),
)
