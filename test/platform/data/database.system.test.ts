/** A database that stands still, is locked, or is reached over TLS. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../../src/platform/data/Database.ts"
import { ApiKeys } from "../../../src/platform/keys/ApiKeys.ts"
import { type PostgresServer, startPostgres } from "../../support/postgres.ts"
import { servicesOf } from "../engines.ts"
import { prepare, until } from "../support.ts"

/** Forwards to a port until it is told to stand still: then it takes what it is sent, and says nothing. */
const standstill = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const pairs = new Set<readonly [Socket, Socket]>()
      let still = false
      const server = createServer((client) => {
        const upstream = connect({ host: "127.0.0.1", port })
        pairs.add([client, upstream])
        client.on("data", (chunk) => still || upstream.write(chunk))
        upstream.on("data", (chunk) => still || client.write(chunk))
        for (const socket of [client, upstream]) socket.on("error", () => socket.destroy())
        client.on("close", () => upstream.destroy())
      })
      await new Promise<void>((resolve) => {
        server.listen(0, "127.0.0.1", resolve)
      })
      const address = server.address()
      return {
        port: typeof address === "object" && address !== null ? address.port : 0,
        set: (value: boolean) => {
          still = value
        },
        close: () => {
          for (const pair of pairs) for (const socket of pair) socket.destroy()
          server.close()
        },
      }
    }),
    ({ close }) => Effect.sync(close),
  )

describe("PostgreSQL that stands still", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.dispose())

  it.live(
    "lets every request end within a bound, also those that wait for a connection, and is used again later",
    () =>
      Effect.gen(function* () {
        const proxy = yield* standstill(server.port)
        const url = (yield* Effect.promise(() => server.database())).replace(`:${server.port}/`, `:${proxy.port}/`)
        const context = yield* Layer.build(servicesOf(Redacted.make(url)))
        yield* Effect.provideContext(prepare(), context)
        const apiKeys = Context.get(context, ApiKeys)
        proxy.set(true)
        // more than there are connections, reads and transactions
        const create = apiKeys.create("u1", { name: "k", scope: { type: "Unrestricted" } })
        const waiting = yield* Effect.forEach(
          Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? apiKeys.list("u1") : create)),
          (call) => Effect.forkScoped(Effect.exit(Effect.asVoid<unknown, unknown, never>(call))),
        )
        const exits = yield* Effect.forEach(waiting, (fiber) => Fiber.join(fiber))
        for (const exit of exits) {
          const error = Option.getOrUndefined(Exit.findErrorOption(exit))
          assert.instanceOf(error, Database.DatabaseUnavailable, String(exit))
          assert.strictEqual(error.why, "unavailable")
        }
        proxy.set(false)
        const listed = yield* apiKeys.list("u1").pipe(Effect.retry({ times: 20 }))
        assert.isAtLeast(listed.length, 5)
      }).pipe(Effect.timeout(Database.DATABASE_MILLIS * 6)),
    90_000,
  )
})

/** A process that takes a lock of the SQLite file with this statement, and gives it back when it is told to. */
const lockedByOther = (file: string, statement: "BEGIN IMMEDIATE" | "BEGIN EXCLUSIVE") =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const program = `
        const { DatabaseSync } = require("node:sqlite")
        const database = new DatabaseSync(process.argv[1])
        database.exec(process.argv[2])
        console.log("locked")
        process.stdin.once("end", () => database.exec("COMMIT")).resume()`
      const child = spawn(process.execPath, ["--no-warnings", "-e", program, file, statement], {
        stdio: ["pipe", "pipe", "inherit"],
      })
      const ended = once(child, "exit")
      await once(child.stdout, "data")
      return {
        release: async () => {
          child.stdin.end()
          await ended
        },
        kill: () => child.kill("SIGKILL"),
      }
    }),
    ({ kill }) => Effect.sync(kill),
  )

/** Turns of this process's event loop, which a blocking wait would stop. */
const turns = Effect.acquireRelease(
  Effect.sync(() => {
    const counted = { count: 0, timer: setInterval(() => counted.count++, 1) }
    return counted
  }),
  ({ timer }) => Effect.sync(() => clearInterval(timer)),
)

const newFile = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "voicegate-lock-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true })),
  ),
  (dir) => join(dir, "platform.db"),
)

describe("SQLite whose lock another process holds", () => {
  it.live(
    "is waited for without stopping anything else that this process does, reads of the database included",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const context = yield* Layer.build(servicesOf(Redacted.make(`sqlite:${file}`)))
        yield* Effect.provideContext(prepare(), context)
        const apiKeys = Context.get(context, ApiKeys)
        const other = yield* lockedByOther(file, "BEGIN IMMEDIATE")
        const loop = yield* turns
        const creating = yield* Effect.forkScoped(
          apiKeys.create("u1", { name: "late", scope: { type: "Unrestricted" } }),
        )
        yield* until(() => loop.count > 50)
        yield* apiKeys.list("u1")
        assert.isUndefined(creating.pollUnsafe())
        yield* Effect.promise(other.release)
        assert.strictEqual((yield* Fiber.join(creating)).key.name, "late")
        assert.isTrue((yield* apiKeys.list("u1")).some(({ name }) => name === "late"))
      }),
    30_000,
  )

  it.live(
    "is waited for in the same way when the file is opened",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        // a file that is not in the mode of the write-ahead log yet: to change that needs the lock
        const old = new DatabaseSync(file)
        old.exec("CREATE TABLE other (id INTEGER)")
        old.close()
        const other = yield* lockedByOther(file, "BEGIN EXCLUSIVE")
        const loop = yield* turns
        const opening = yield* Effect.forkScoped(Layer.build(servicesOf(Redacted.make(`sqlite:${file}`))))
        yield* until(() => loop.count > 50)
        assert.isUndefined(opening.pollUnsafe())
        yield* Effect.promise(other.release)
        const context = yield* Fiber.join(opening)
        assert.deepStrictEqual(yield* Context.get(context, ApiKeys).list("nobody"), [])
      }),
    30_000,
  )
})

describe("PostgreSQL with TLS", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ tls: true })
  })
  afterAll(() => server.dispose())

  const isEncrypted = (parameters: string) =>
    Effect.gen(function* () {
      const url = `${yield* Effect.promise(() => server.database())}${parameters}`
      const context = yield* Layer.build(Database.layer(Redacted.make(url)))
      const sql = Context.get(context, SqlClient.SqlClient)
      const [row] = yield* sql<{ ssl: boolean }>`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`
      return row?.ssl
    }).pipe(Effect.scoped)

  it.live("is used encrypted when nothing was asked for and when TLS was, and in clear only when that was asked", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* isEncrypted(""))
      assert.isTrue(yield* isEncrypted("?sslmode=prefer"))
      assert.isFalse(yield* isEncrypted("?sslmode=disable"))
      assert.isFalse(yield* isEncrypted("?ssl=false"))
      const ca = encodeURIComponent(server.certificate)
      assert.isTrue(yield* isEncrypted(`?sslmode=verify-full&sslrootcert=${ca}`))
      assert.isTrue(yield* isEncrypted(`?ssl=true&sslrootcert=${ca}`))
      assert.isTrue(yield* isEncrypted(`?sslrootcert=${ca}`))
    }),
  )

  it.live("is refused with the cause when its certificate is not trusted", () =>
    Effect.gen(function* () {
      for (const parameters of ["?ssl=true", "?sslmode=require", "?sslmode=verify-full"]) {
        const error = yield* Effect.flip(isEncrypted(parameters))
        assert.match(error.message, /self-signed certificate/, parameters)
      }
    }),
  )
})
