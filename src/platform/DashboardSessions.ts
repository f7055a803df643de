/**
 * Who is signed in to the dashboard. A session is a random token that only the browser holds: the database has its digest.
 * It ends when its user signs out or is disabled, and at the latest after `SESSION_LIFETIME_MILLIS`.
 */
import { createHash, randomBytes } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "./data/Database.ts"

/** A working day. */
export const SESSION_LIFETIME_MILLIS = 12 * 60 * 60_000
const TOKEN_BYTES = 32

/** Whose session it is. */
export interface SignedInUser {
  readonly id: string
  readonly name: string
  readonly email: string
}

export class DashboardSessions extends Context.Service<
  DashboardSessions,
  {
    /** A new session of a user who proved to be one: its token. */
    readonly begin: (userId: string) => Effect.Effect<Redacted.Redacted<string>, DatabaseUnavailable>
    /** Whose session this is; undefined when it is none, over, or its user disabled. */
    readonly find: (token: Redacted.Redacted<string>) => Effect.Effect<SignedInUser | undefined, DatabaseUnavailable>
    /** Ends a session; does nothing for one that is none. */
    readonly end: (token: Redacted.Redacted<string>) => Effect.Effect<void, DatabaseUnavailable>
  }
>()("voicegate/platform/DashboardSessions") {}

interface Row {
  readonly id: string
  readonly name: string
  readonly email: string | null
}

/** As with keys: 256 random bits need no slow hash, and a digest tells nothing by how long it takes to differ. */
const digest = (token: Redacted.Redacted<string>): string =>
  createHash("sha256").update(Redacted.value(token)).digest("hex")

export const layer: Layer.Layer<DashboardSessions, never, SqlClient.SqlClient> = Layer.effect(
  DashboardSessions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return DashboardSessions.of({
      begin: Effect.fnUntraced(
        function* (userId) {
          const now = yield* Clock.currentTimeMillis
          const token = Redacted.make(randomBytes(TOKEN_BYTES).toString("base64url"))
          // What is over is tidied by whoever comes next.
          yield* sql`DELETE FROM dashboard_sessions WHERE expires_at <= ${now}`
          const row = {
            digest: digest(token),
            user_id: userId,
            created_at: now,
            expires_at: now + SESSION_LIFETIME_MILLIS,
          }
          yield* sql`INSERT INTO dashboard_sessions ${sql.insert(row)}`
          return token
        },
        sql.withTransaction,
        orUnavailable,
      ),

      find: Effect.fnUntraced(function* (token) {
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* sql<Row>`
          SELECT u.id, u.name, u.email FROM dashboard_sessions s JOIN users u ON u.id = s.user_id
          WHERE s.digest = ${digest(token)} AND s.expires_at > ${now} AND u.disabled = 0`
        return row && { id: row.id, name: row.name, email: row.email ?? "" }
      }, orUnavailable),

      end: Effect.fnUntraced(function* (token) {
        yield* sql`DELETE FROM dashboard_sessions WHERE digest = ${digest(token)}`
      }, orUnavailable),
    })
  }),
)
