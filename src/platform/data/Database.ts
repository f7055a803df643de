/**
 * The platform's database: SQLite in a file (or in memory), or PostgreSQL, according to the connection string. Tables are migrated
 * before anything uses them. Helpers for queries beyond `effect/sql` are here too.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { type Migrator, type SqlClient, SqlError } from "effect/sql"
import { bounded } from "./bounded.ts"
import { migrate } from "./migrations.ts"
import { type PostgresTarget, parsePostgresUrl } from "./postgres-url.ts"

/** The connection string is invalid; the message says what is expected. */
export class DatabaseInvalid extends Schema.TaggedError<DatabaseInvalid>()("DatabaseInvalid", {
  message: Schema.String,
}) {}

/** The longest wait of one use of the database, in milliseconds: for a connection, a lock, statements and commit together. */
export const DATABASE_MILLIS = 8_000

/**
 * The database failed a query. Nothing was changed, unless it did not answer in time: then a change may have been made. The reason is
 * in the log.
 */
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

const invalid = (message: string) => new DatabaseInvalid({ message: `the database: ${message}.` })

/** What a connection string names; undefined for SQLite. */
const targetOf = (url: Redacted.Redacted<string>): Effect.Effect<PostgresTarget | undefined, DatabaseInvalid> => {
  const text = Redacted.value(url)
  if (SQLITE.test(text)) return Effect.undefined
  if (POSTGRES.test(text) && URL.canParse(text))
    return Effect.mapError(Effect.fromResult(parsePostgresUrl(url)), invalid)
  return Effect.fail(invalid("Expected sqlite:<file>, sqlite::memory:, or postgres://user:password@host:port/database"))
}

/** Fails for a connection string of an unknown engine or with wrong parameters; does not connect. */
export const checkUrl = (url: Redacted.Redacted<string>): Effect.Effect<void, DatabaseInvalid> =>
  Effect.asVoid(targetOf(url))

/** Loads only the engine in use. */
const client = (url: Redacted.Redacted<string>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const target = yield* targetOf(url)
      if (target !== undefined) return (yield* Effect.promise(() => import("./postgres.ts"))).layer(target)
      const sqlite = yield* Effect.promise(() => import("./sqlite.ts"))
      return sqlite.layer(Redacted.value(url).replace(SQLITE, ""))
    }),
  )

/** The client of a connection string: `sqlite:<file>`, `sqlite::memory:`, or `postgres://…`. */
export const layer = (
  url: Redacted.Redacted<string>,
): Layer.Layer<SqlClient.SqlClient, DatabaseInvalid | Migrator.MigrationError | SqlError.SqlError> =>
  Layer.effectDiscard(
    Effect.mapError(migrate, (error) => (SqlError.isSqlError(error) ? withCause(error) : error)),
  ).pipe(Layer.provideMerge(client(url)))

/** The deepest cause of a failure, such as `self-signed certificate` below `connection failed`. */
const causeOf = (cause: unknown): string | undefined => {
  if (!(cause instanceof Error)) return undefined
  const code = "code" in cause && typeof cause.code === "string" ? ` (${cause.code})` : ""
  return causeOf(cause.cause) ?? `${cause.message}${code}`
}

/** Names the cause in the message, since the operator who starts the platform reads only that. */
const withCause = (error: SqlError.SqlError): SqlError.SqlError => {
  const cause = causeOf(error.reason.cause)
  if (cause === undefined) return error
  const message = `the database cannot be used: ${cause}`
  return new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: error.reason.cause, message, operation: "connect" }),
  })
}

const tooSlow = (): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.StatementTimeoutError({
      cause: undefined,
      message: `no answer within ${DATABASE_MILLIS / 1000} s`,
      operation: "run a statement",
    }),
  })

/**
 * Logs a failure of SQL and turns it into `DatabaseUnavailable`, after `DATABASE_MILLIS` at the latest. Every method that queries ends
 * with it.
 */
export const orUnavailable = <A, E, R>(
  self: Effect.Effect<A, E, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | DatabaseUnavailable, R> =>
  self.pipe(
    bounded(DATABASE_MILLIS, () => Effect.fail(tooSlow())),
    // a rollback that fails as well is a defect of the client's
    Effect.catchDefect((defect) => (SqlError.isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
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
  const cause = causeOf(reason.cause)
  return `The database failed (${reason._tag}): ${message}${cause === undefined ? "" : `: ${cause}`}`
}
