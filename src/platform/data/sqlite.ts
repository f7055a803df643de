/**
 * SQLite through Node's own `node:sqlite`, as a client of `effect/sql`: one connection, sequential statements, and transactions that
 * take the write lock at their start, so that what they read stays valid until they commit. Loaded only for a platform on SQLite. A
 * published client for this release of effect could replace this file.
 */
import { chmodSync, existsSync } from "node:fs"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { Effect, Layer, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { pause } from "./bounded.ts"

/** How long a statement waits for the lock of another process, in milliseconds. Only at the start does this block the process. */
const BUSY_MILLIS = 5_000
/** How often it tries meanwhile, in milliseconds. */
const BUSY_RETRY_MILLIS = 20
/** SQLITE_BUSY: the low byte of a result code. */
const SQLITE_BUSY = 5
/** Limit of cached prepared statements. */
const MAX_STATEMENTS = 256

const sqlErrorOf = (operation: string) => (cause: unknown) =>
  new SqlError.SqlError({
    reason: SqlError.classifySqliteError(cause, { message: `SQLite could not ${operation}`, operation }),
  })

const open = (file: string): DatabaseSync => {
  const isNew = file !== ":memory:" && !existsSync(file)
  const database = new DatabaseSync(file, { timeout: BUSY_MILLIS, enableForeignKeyConstraints: true })
  // Only the owner may read digests and transcripts; the write-ahead log inherits the file's mode.
  if (isNew) chmodSync(file, 0o600)
  database.exec("PRAGMA journal_mode = WAL")
  // From now on SQLite itself does not wait: it would stop everything else that this process does, calls in progress included.
  database.exec("PRAGMA busy_timeout = 0")
  return database
}

const isBusy = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  typeof cause === "object" &&
  cause !== null &&
  "errcode" in cause &&
  typeof cause.errcode === "number" &&
  (cause.errcode & 0xff) === SQLITE_BUSY

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
  const all = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.suspend(() => {
      const until = performance.now() + BUSY_MILLIS
      const run: ReturnType<typeof once> = Effect.catch(once(sql, params), (error) =>
        isBusy(error) && performance.now() < until ? Effect.andThen(pause(BUSY_RETRY_MILLIS), run) : Effect.fail(error),
      )
      return run
    })
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

/** The client of one file, or of `:memory:`, whose data is lost when the layer's scope closes. */
export const layer = (file: string): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function* () {
      const database = yield* Effect.acquireRelease(
        Effect.try({ try: () => open(file), catch: sqlErrorOf(`open ${file}`) }),
        (opened) => Effect.sync(() => opened.close()),
      )
      const { acquirer, borrower, isTransaction, onCommitFailure, transactionAcquirer } = SqlClient.makeSqliteAcquirers(
        {
          connection: Effect.succeed(connect(database)),
          semaphore: yield* Semaphore.make(1),
          isTransaction: () => database.isTransaction,
        },
      )
      return yield* SqlClient.make({
        acquirer,
        borrower,
        transactionAcquirer,
        isTransaction,
        onCommitFailure,
        beginTransaction: "BEGIN IMMEDIATE",
        releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
        compiler: Statement.makeCompilerSqlite(),
        driver: "node-sqlite",
        spanAttributes: [["db.system.name", "sqlite"]],
      })
    }),
  ).pipe(Layer.provide(Reactivity.layer))
