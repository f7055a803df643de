/**
 * How many web sessions and calls each API key started, by day (UTC). A key has a row for each of the last `USAGE_DAYS` days on which
 * it was used, and no more.
 */
import { Array as Arr, Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, orUnavailable } from "../data/Database.ts"
import { type Refused, refuse } from "../model.ts"

/** The number of days that are kept and shown, today included. */
export const USAGE_DAYS = 30
const DAY_MILLIS = 86_400_000

export interface DayOfUsage {
  /** the start of the day in UTC, in milliseconds since 1970 */
  readonly day: number
  readonly sessions: number
  readonly calls: number
}

export class KeyUsage extends Context.Service<
  KeyUsage,
  {
    /** The last `USAGE_DAYS` days of a key of a user, the oldest first; also days without a start. Revoked keys have them too. */
    readonly lastDays: (
      userId: string,
      keyId: string,
    ) => Effect.Effect<ReadonlyArray<DayOfUsage>, Refused | DatabaseUnavailable>
  }
>()("voicegate/platform/KeyUsage") {}

interface Row {
  readonly day: number
  readonly sessions: number
  readonly calls: number
}

/** Days since 1970. */
const today = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / DAY_MILLIS))

/** In the transaction that starts it: a start is counted exactly if it happens. */
export const countStart = Effect.fnUntraced(function* (keyId: string, what: "sessions" | "calls") {
  const sql = yield* SqlClient.SqlClient
  const day = yield* today
  const first = { key_id: keyId, day, sessions: 0, calls: 0, [what]: 1 }
  const column = sql(what)
  const [row] = yield* sql<{ starts: number }>`
    INSERT INTO api_key_usage ${sql.insert(first)}
    ON CONFLICT (key_id, day) DO UPDATE SET ${column} = api_key_usage.${column} + 1
    RETURNING sessions + calls AS starts`
  // once a day, so that the rows of a key are bounded
  if (row?.starts === 1) yield* sql`DELETE FROM api_key_usage WHERE key_id = ${keyId} AND day <= ${day - USAGE_DAYS}`
})

export const layer: Layer.Layer<KeyUsage, never, SqlClient.SqlClient> = Layer.effect(
  KeyUsage,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return KeyUsage.of({
      lastDays: Effect.fnUntraced(function* (userId, keyId) {
        const first = (yield* today) - USAGE_DAYS + 1
        const [key] = yield* sql`SELECT 1 AS found FROM api_keys WHERE id = ${keyId} AND user_id = ${userId}`
        if (key === undefined) return yield* refuse("not_found", "KEY_NOT_FOUND", "no such key")
        const rows = yield* sql<Row>`
          SELECT day, sessions, calls FROM api_key_usage WHERE key_id = ${keyId} AND day >= ${first}`
        const byDay = new Map(rows.map((row) => [row.day, row]))
        return Arr.makeBy(USAGE_DAYS, (index) => {
          const { calls = 0, sessions = 0 } = byDay.get(first + index) ?? {}
          return { day: (first + index) * DAY_MILLIS, sessions, calls }
        })
      }, orUnavailable),
    })
  }),
)
