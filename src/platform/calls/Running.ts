/** The running sessions and calls of a user in all businesses: exactly those that count against the account's limit. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Refused, refuse } from "../model.ts"

export interface RunningSession {
  readonly id: string
  readonly kind: "web" | "call"
  readonly conversationId: string
  readonly businessId: string
  /** null for a telephone call */
  readonly webCampaignId: string | null
  readonly regionId: string
  /** for a call the number that was called */
  readonly clientIdentifier: string | null
  /** a web session waits until its WebSocket is opened; the last three are states of a call */
  readonly state: "waiting" | "talking" | "queued" | "ringing" | "active"
  readonly createdAt: number
  /** when it was joined or answered */
  readonly joinedAt: number | null
}

export class Running extends Context.Service<
  Running,
  {
    /** Newest first; `limit` is the account's concurrency. */
    readonly of: (
      userId: string,
    ) => Effect.Effect<
      { readonly asOf: number; readonly limit: number; readonly sessions: ReadonlyArray<RunningSession> },
      Refused | DatabaseUnavailable
    >
  }
>()("voicegate/platform/Running") {}

interface SessionRow {
  readonly id: string
  readonly conversation_id: string
  readonly business_id: string
  readonly web_campaign_id: string
  readonly region_id: string
  readonly client_identifier: string | null
  readonly created_at: number
  readonly joined_at: number | null
}

interface CallRow {
  readonly id: string
  readonly conversation_id: string
  readonly business_id: string
  readonly region_id: string
  readonly to_number: string
  readonly created_at: number
  readonly rings_at: number
  readonly answers_at: number
}

const showSession = (row: SessionRow): RunningSession => ({
  id: row.id,
  kind: "web",
  conversationId: row.conversation_id,
  businessId: row.business_id,
  webCampaignId: row.web_campaign_id,
  regionId: row.region_id,
  clientIdentifier: row.client_identifier,
  state: row.joined_at === null ? "waiting" : "talking",
  createdAt: row.created_at,
  joinedAt: row.joined_at,
})

const showCall =
  (now: number) =>
  (row: CallRow): RunningSession => ({
    id: row.id,
    kind: "call",
    conversationId: row.conversation_id,
    businessId: row.business_id,
    webCampaignId: null,
    regionId: row.region_id,
    clientIdentifier: row.to_number,
    state: now < row.rings_at ? "queued" : now < row.answers_at ? "ringing" : "active",
    createdAt: row.created_at,
    joinedAt: now < row.answers_at ? null : row.answers_at,
  })

export const layer: Layer.Layer<Running, never, SqlClient.SqlClient> = Layer.effect(
  Running,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return Running.of({
      of: Effect.fnUntraced(function* (userId) {
        const now = yield* Clock.currentTimeMillis
        const [user] = yield* sql<{ call_concurrency: number }>`SELECT call_concurrency FROM users WHERE id = ${userId}`
        if (user === undefined) return yield* refuse("not_found", "USER_NOT_FOUND", "no such user")
        const sessions = yield* sql<SessionRow>`
          SELECT * FROM web_sessions WHERE user_id = ${userId} AND ended_at IS NULL AND open_until > ${now}`
        const calls = yield* sql<CallRow>`SELECT * FROM calls WHERE user_id = ${userId} AND completes_at > ${now}`
        const all = [...sessions.map(showSession), ...calls.map(showCall(now))]
        return { asOf: now, limit: user.call_concurrency, sessions: all.sort((a, b) => b.createdAt - a.createdAt) }
      }, orUnavailable),
    })
  }),
)
