/** Runs a suite on each database that the platform supports: a SQLite file, and a PostgreSQL server for the suite. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Effect, type Layer, Redacted } from "effect"
import { makeVaultKey } from "../../src/platform/data/Vault.ts"
import * as Services from "../../src/platform/services.ts"
import { type PostgresServer, startPostgres } from "../support/postgres.ts"

export interface Engine {
  readonly name: "SQLite" | "PostgreSQL"
  /** the connection string of a new, empty database */
  readonly database: Effect.Effect<Redacted.Redacted<string>>
  /** the whole content of a database, as bytes or SQL text */
  readonly dump: (database: Redacted.Redacted<string>) => Promise<string>
}

export const vaultKey = makeVaultKey()

/** The services of one database. Built twice, they behave like two processes on one database. */
export const servicesOf = (
  database: Redacted.Redacted<string>,
): Layer.Layer<Services.Services, Layer.Error<ReturnType<typeof Services.layer>>> =>
  Services.layer({ database, vaultKey, privateWebhooks: true })

/** `concurrent` runs the tests concurrently, for suites that mostly wait. */
export const onEachEngine = (
  what: string,
  suite: (engine: Engine) => void,
  options: { readonly concurrent?: boolean } = {},
): void => {
  describe(`${what}, on SQLite`, options, () => {
    let dir: string
    let files = 0
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), "voicegate-sqlite-"))
    })
    afterAll(() => rm(dir, { recursive: true, force: true }))
    suite({
      name: "SQLite",
      database: Effect.sync(() => Redacted.make(`sqlite:${join(dir, `${++files}.db`)}`)),
      dump: async (database) => {
        const { DatabaseSync } = await import("node:sqlite")
        const source = new DatabaseSync(Redacted.value(database).slice("sqlite:".length), { readOnly: true })
        const tables = source.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
        const rows = tables.flatMap(({ name }) => source.prepare(`SELECT * FROM ${String(name)}`).all())
        source.close()
        return JSON.stringify(rows)
      },
    })
  })

  describe(`${what}, on PostgreSQL`, options, () => {
    let server: PostgresServer
    beforeAll(async () => {
      server = await startPostgres()
    })
    afterAll(() => server.dispose())
    suite({
      name: "PostgreSQL",
      database: Effect.promise(async () => Redacted.make(await server.database())),
      dump: (database) => server.dump(Redacted.value(database)),
    })
  })
}
