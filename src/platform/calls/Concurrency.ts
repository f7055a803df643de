/**
 * The account's limit of concurrent calls, web sessions and telephone calls together. Exact even when several processes start
 * calls on one database at the same time: a start locks the user's row until its transaction ends.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ConcurrencyLimitReached, refuse } from "../model.ts"

/**
 * Waits for other transactions of this user that hold this lock (starts, ends, deletions), takes it, and returns the user's limit.
 * Only within a transaction; on SQLite that already holds the write lock.
 */
export const lockUser = Effect.fnUntraced(function* (userId: string) {
  const sql = yield* SqlClient.SqlClient
  // Conflicts with itself, but not with rows that reference the user (foreign keys take KEY SHARE).
  const lock = sql.onDialectOrElse({ pg: () => sql`FOR NO KEY UPDATE`, orElse: () => sql.literal("") })
  const [user] = yield* sql<{ call_concurrency: number }>`
    SELECT call_concurrency FROM users WHERE id = ${userId} ${lock}`
  if (user === undefined) return yield* refuse("not_found", "USER_NOT_FOUND", "no such user")
  return user.call_concurrency
})

/** The number of running calls of a user, without sessions that were not opened in time or whose process has died. */
export const countRunning = Effect.fnUntraced(function* (userId: string) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const [row] = yield* sql<{ running: number }>`
    SELECT (SELECT count(*) FROM web_sessions
            WHERE user_id = ${userId} AND ended_at IS NULL AND open_until > ${now})
         + (SELECT count(*) FROM calls WHERE user_id = ${userId} AND completes_at > ${now}) AS running`
  return row?.running ?? 0
})

/** Fails when the user is at the limit; otherwise the caller may insert one more call in the same transaction. */
export const claimCall = Effect.fnUntraced(function* (userId: string) {
  const limit = yield* lockUser(userId)
  if ((yield* countRunning(userId)) >= limit) return yield* new ConcurrencyLimitReached({ limit })
})
