/**
 * The account's limit of calls that run at once, web sessions and telephone calls together. Exact, also when several processes
 * start at the same instant on one database: whoever starts holds the user's row until the start is written down.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ConcurrencyLimitReached, refuse } from "./model.ts"

/**
 * Waits until nobody else starts, ends or deletes for this user in a transaction that took this lock, and gives the user's limit.
 * Only within a transaction; on SQLite that holds the write lock anyway.
 */
export const lockUser = Effect.fnUntraced(function* (userId: string) {
  const sql = yield* SqlClient.SqlClient
  // Against each other, but not against those who only refer to the user (foreign keys take KEY SHARE).
  const lock = sql.onDialectOrElse({ pg: () => sql`FOR NO KEY UPDATE`, orElse: () => sql.literal("") })
  const [user] = yield* sql<{ call_concurrency: number }>`
    SELECT call_concurrency FROM users WHERE id = ${userId} ${lock}`
  if (user === undefined) return yield* refuse("not_found", "USER_NOT_FOUND", "no such user")
  return user.call_concurrency
})

/** How many calls of a user run. A session that nobody opened in time, or that nobody is heard of, does not. */
export const runningOf = Effect.fnUntraced(function* (userId: string) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const [row] = yield* sql<{ running: number }>`
    SELECT (SELECT count(*) FROM web_sessions
            WHERE user_id = ${userId} AND ended_at IS NULL AND open_until > ${now})
         + (SELECT count(*) FROM calls WHERE user_id = ${userId} AND completes_at > ${now}) AS running`
  return row?.running ?? 0
})

/** Fails when the user has no call left; else the caller may write one more down, in the same transaction. */
export const claimCall = Effect.fnUntraced(function* (userId: string) {
  const limit = yield* lockUser(userId)
  if ((yield* runningOf(userId)) >= limit) return yield* new ConcurrencyLimitReached({ limit })
})
