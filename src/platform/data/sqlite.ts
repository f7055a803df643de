/**
 * SQLite through Node's own `node:sqlite`, as a client of `effect/sql`: one connection that writes, with sequential statements and
 * transactions that take the write lock at their start, so that what they read stays valid until they commit; and one that only reads,
 * so that reads outside transactions do not queue behind a write that waits for another process. SQLite itself never waits for a lock:
 * it would stop everything else that this process does, calls in progress included. Loaded only for a platform on SQLite. A published
 * client for this release of effect could replace this file.
 */
import { chmodSync, existsSync } from "node:fs"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { Effect, Layer, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { pause } from "./bounded.ts"

/** How long a statement, or the opening of the file, waits for the lock of another process, in milliseconds. */
const BUSY_MILLIS = 5_000
/** How often it tries meanwhile, in milliseconds. */
const BUSY_RETRY_MILLIS = 20
/** SQLITE_BUSY: the low byte of a result code. */
const SQLITE_BUSY = 5
/** A database without a file: each connection has its own. */
const IN_MEMORY = ":memory:"
/** Limit of cached prepared statements. */
const MAX_STATEMENTS = 256

const sqlErrorOf = (operation: string) => (cause: unknown) =>
  new SqlError.SqlError({
    reason: SqlError.classifySqliteError(cause, { message: `SQLite could not ${operation}`, operation }),
  })

const isBusy = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  typeof cause === "object" &&
  cause !== null &&
  "errcode" in cause &&
  typeof cause.errcode === "number" &&
  (cause.errcode & 0xff) === SQLITE_BUSY

/** Tries again, with pauses, while another process holds the lock. */
const untilFree = <A>(once: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> =>
  Effect.suspend(() => {
    const until = performance.now() + BUSY_MILLIS
    const run: Effect.Effect<A, SqlError.SqlError> = Effect.catch(once, (error) =>
      isBusy(error) && performance.now() < until ? Effect.andThen(pause(BUSY_RETRY_MILLIS), run) : Effect.fail(error),
    )
    return run
  })

/** Opens a connection, which closes with the scope. */
const open = Effect.fnUntraced(function* (file: string, readOnly: boolean) {
  const isNew = file !== IN_MEMORY && !existsSync(file)
  const failed = sqlErrorOf(`open ${file}`)
  const database = yield* Effect.acquireRelease(
    Effect.try({
      try: () => new DatabaseSync(file, { timeout: 0, readOnly, enableForeignKeyConstraints: true }),
      catch: failed,
    }),
    (opened) => Effect.sync(() => opened.close()),
  )
  // Only the owner may read digests and transcripts; the write-ahead log inherits the file's mode.
  if (isNew) yield* Effect.try({ try: () => chmodSync(file, 0o600), catch: failed })
  if (!readOnly) yield* untilFree(Effect.try({ try: () => database.exec("PRAGMA journal_mode = WAL"), catch: failed }))
  return database
})

const isInput = (value: unknown): value is SQLInputValue =>
  value === null || typeof value === "number" || typeof value === "string" || value instanceof Uint8Array

const connect = (database: DatabaseSync): SqlConnection.Connection => {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const [oldest] = statements.keys()
    if (statements.size >= MAX_STATEMENTS && oldest !== undefined) statements.delete(oldest)
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const bind = (params: ReadonlyArray<unknown>): Array<SQLInputValue> =>
    params.map((value) => {
      if (!isInput(value)) throw new TypeError(`SQLite does not support a ${typeof value}`)
      return value
    })
  const once = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.try({ try: () => prepare(sql).all(...bind(params)), catch: sqlErrorOf("run a statement") })
  const all = (sql: string, params: ReadonlyArray<unknown>) => untilFree(once(sql, params))
  const values = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.map(all(sql, params), (rows) => rows.map((row) => Object.values(row)))
  const rows: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    transform === undefined ? all(sql, params) : Effect.map(all(sql, params), transform)
  return {
    execute: rows,
    executeUnprepared: rows,
    executeRaw: all,
    executeValues: values,
    executeValuesUnprepared: values,
    executeStream: (sql, params, transform) =>
      Stream.unwrap(Effect.map(rows(sql, params, transform), (found) => Stream.fromIterable(found))),
  }
}

/** A statement that only reads. `UPDATE … RETURNING` and `WITH` go to the connection that writes. */
const READS = /^\s*SELECT\b/i

/** Runs single statements: those that read on `reader`, others on the one connection that writes, when it is free. */
const divide = (
  reader: SqlConnection.Connection,
  { borrower }: { readonly borrower: SqlConnection.Borrower },
): SqlConnection.Connection => {
  type Use = <A>(
    f: (connection: SqlConnection.Connection) => Effect.Effect<A, SqlError.SqlError>,
  ) => Effect.Effect<A, SqlError.SqlError>
  const on = (sql: string): Use => (READS.test(sql) ? (f) => f(reader) : borrower)
  return {
    execute: (sql, params, transform) => on(sql)((connection) => connection.execute(sql, params, transform)),
    executeUnprepared: (sql, params, transform) =>
      on(sql)((connection) => connection.executeUnprepared(sql, params, transform)),
    executeRaw: (sql, params) => on(sql)((connection) => connection.executeRaw(sql, params)),
    executeValues: (sql, params) => on(sql)((connection) => connection.executeValues(sql, params)),
    executeValuesUnprepared: (sql, params) => on(sql)((connection) => connection.executeValuesUnprepared(sql, params)),
    executeStream: (sql, params, transform) =>
      Stream.unwrap(on(sql)((connection) => Effect.succeed(connection.executeStream(sql, params, transform)))),
  }
}

/** The client of one file, or of `:memory:`, whose data is lost when the layer's scope closes. */
export const layer = (file: string): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function* () {
      const database = yield* open(file, false)
      const writer = SqlClient.makeSqliteAcquirers({
        connection: Effect.succeed(connect(database)),
        semaphore: yield* Semaphore.make(1),
        isTransaction: () => database.isTransaction,
      })
      const single = file === IN_MEMORY ? undefined : divide(connect(yield* open(file, true)), writer)
      return yield* SqlClient.make({
        ...writer,
        borrower: single === undefined ? writer.borrower : (use) => use(single),
        beginTransaction: "BEGIN IMMEDIATE",
        releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
        compiler: Statement.makeCompilerSqlite(),
        driver: "node-sqlite",
        spanAttributes: [["db.system.name", "sqlite"]],
      })
    }),
  ).pipe(Layer.provide(Reactivity.layer))
