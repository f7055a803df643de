/**
 * Where the platform keeps everything: SQLite in a file (or in memory), or PostgreSQL, by the connection string. The tables are
 * up to date before anything uses them. What a query needs beyond `effect/sql` is here too.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { type Migrator, type SqlClient, SqlError } from "effect/sql"
import { migrate } from "./migrations.ts"

/** The connection string is none: what would be one. */
export class DatabaseInvalid extends Schema.TaggedError<DatabaseInvalid>()("DatabaseInvalid", {
  message: Schema.String,
}) {}

/** The database did not do what it was asked; nothing is half done. The reason is in the log, where it belongs. */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {}) {
  override get message(): string {
    return "the database cannot be used at the moment"
  }
}

const client = (
  url: Redacted.Redacted<string>,
): Layer.Layer<SqlClient.SqlClient, DatabaseInvalid | SqlError.SqlError> => {
  const text = Redacted.value(url)
  const engine = /^(sqlite|postgres|postgresql):/.exec(text)?.[1]
  // Only the engine in use is loaded.
  if (engine === "sqlite") {
    const file = text.slice("sqlite:".length)
    return Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./sqlite.ts")),
        (sqlite) => sqlite.layer(file),
      ),
    )
  }
  if (engine !== undefined && URL.canParse(text)) {
    return Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./postgres.ts")),
        (postgres) => postgres.layer(url),
      ),
    )
  }
  const expected = "sqlite:<file>, sqlite::memory:, or postgres://user:password@host:port/database"
  return Layer.effectContext(Effect.fail(new DatabaseInvalid({ message: `the database: Expected ${expected}.` })))
}

/** The client of a connection string: `sqlite:<file>`, `sqlite::memory:`, or `postgres://…`. */
export const layer = (
  url: Redacted.Redacted<string>,
): Layer.Layer<SqlClient.SqlClient, DatabaseInvalid | Migrator.MigrationError | SqlError.SqlError> =>
  Layer.effectDiscard(migrate).pipe(Layer.provideMerge(client(url)))

/** Turns a failure of SQL into the one that callers know, and logs it. For the end of every method that queries. */
export const orUnavailable = <A, E, R>(
  self: Effect.Effect<A, E, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | DatabaseUnavailable, R> =>
  self.pipe(
    Effect.tapError((error) => (SqlError.isSqlError(error) ? Effect.logError(describe(error)) : Effect.void)),
    Effect.mapError((error) => (isOther(error) ? error : new DatabaseUnavailable())),
  )

const isOther = <E>(error: E): error is Exclude<E, SqlError.SqlError> => !SqlError.isSqlError(error)

/** What happened, without the statement's values. */
const describe = ({ message, reason }: SqlError.SqlError): string => {
  const cause = reason.cause instanceof Error ? `: ${reason.cause.message}` : ""
  return `The database failed (${reason._tag}): ${message}${cause}`
}
