/**
 * The platform's database: SQLite in a file (or in memory), or PostgreSQL, according to the connection string. Tables are migrated
 * before anything uses them. Helpers for queries beyond `effect/sql` are here too.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { type Migrator, type SqlClient, SqlError } from "effect/sql"
import { migrate } from "./migrations.ts"

/** The connection string is invalid; the message says what is expected. */
export class DatabaseInvalid extends Schema.TaggedError<DatabaseInvalid>()("DatabaseInvalid", {
  message: Schema.String,
}) {}

/** The database failed a query, and nothing was changed. The reason is in the log. */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  /**
   * `value`: the database does not accept a value of this request (a data exception or a violated constraint), now or later: 400.
   * `unavailable`: it cannot be used at the moment: 503.
   */
  why: Schema.Literals(["value", "unavailable"]),
}) {
  override get message(): string {
    return this.why === "value"
      ? "the database does not accept a value of this request"
      : "the database cannot be used at the moment"
  }
}

const SQLITE = /^sqlite:(?=.)/
const POSTGRES = /^postgres(ql)?:\/\//

/** Fails for a connection string of an unknown engine; does not connect. */
export const checkUrl = (url: Redacted.Redacted<string>): Effect.Effect<void, DatabaseInvalid> => {
  const text = Redacted.value(url)
  if (SQLITE.test(text) || (POSTGRES.test(text) && URL.canParse(text))) return Effect.void
  const expected = "sqlite:<file>, sqlite::memory:, or postgres://user:password@host:port/database"
  return Effect.fail(new DatabaseInvalid({ message: `the database: Expected ${expected}.` }))
}

/** Loads only the engine in use. */
const client = (url: Redacted.Redacted<string>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      yield* checkUrl(url)
      const text = Redacted.value(url)
      if (POSTGRES.test(text)) return (yield* Effect.promise(() => import("./postgres.ts"))).layer(url)
      const sqlite = yield* Effect.promise(() => import("./sqlite.ts"))
      return sqlite.layer(text.replace(SQLITE, ""))
    }),
  )

/** The client of a connection string: `sqlite:<file>`, `sqlite::memory:`, or `postgres://…`. */
export const layer = (
  url: Redacted.Redacted<string>,
): Layer.Layer<SqlClient.SqlClient, DatabaseInvalid | Migrator.MigrationError | SqlError.SqlError> =>
  Layer.effectDiscard(migrate).pipe(Layer.provideMerge(client(url)))

/** Logs a failure of SQL and turns it into `DatabaseUnavailable`. Every method that queries ends with it. */
export const orUnavailable = <A, E, R>(
  self: Effect.Effect<A, E, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | DatabaseUnavailable, R> =>
  self.pipe(
    Effect.tapError((error) => {
      if (!SqlError.isSqlError(error)) return Effect.void
      return refusesValue(error) ? Effect.logWarning(describe(error)) : Effect.logError(describe(error))
    }),
    Effect.mapError((error) => {
      if (isOther(error)) return error
      return new DatabaseUnavailable({
        why: SqlError.isSqlError(error) && refusesValue(error) ? "value" : "unavailable",
      })
    }),
  )

/** SQLSTATE 22, data exception, and 23, integrity constraint violation. */
const SQLSTATE_VALUE = /^2[23][0-9A-Z]{3}$/
/** SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH: the low byte of a result code. */
const SQLITE_VALUE: ReadonlySet<number> = new Set([18, 19, 20])

/** Whether the failure is caused by a value of the statement, not by the state of the database. */
const refusesValue = ({ reason: { cause } }: SqlError.SqlError): boolean => {
  if (typeof cause !== "object" || cause === null) return false
  if ("errcode" in cause && typeof cause.errcode === "number") return SQLITE_VALUE.has(cause.errcode & 0xff)
  return "code" in cause && typeof cause.code === "string" && SQLSTATE_VALUE.test(cause.code)
}

const isOther = <E>(error: E): error is Exclude<E, SqlError.SqlError> => !SqlError.isSqlError(error)

/** Describes a failure without the statement's values. */
const describe = ({ message, reason }: SqlError.SqlError): string => {
  const cause = reason.cause instanceof Error ? `: ${reason.cause.message}` : ""
  return `The database failed (${reason._tag}): ${message}${cause}`
}
