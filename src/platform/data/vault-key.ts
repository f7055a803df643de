/**
 * Loads the vault's key: as given, or from a file that only its owner can read, which is created at the first start. All processes
 * on one database need the same key; a wrong one makes the start fail.
 */
import { randomUUID } from "node:crypto"
import { link, readFile, unlink, writeFile } from "node:fs/promises"
import { Effect, Redacted } from "effect"
import { makeVaultKey, VaultKeyInvalid } from "./Vault.ts"

/** The file beside a SQLite database; undefined for any other. */
const fileBeside = (database: Redacted.Redacted<string>): string | undefined => {
  const file = /^sqlite:(?!:memory:)(.+)$/.exec(Redacted.value(database))?.[1]
  return file === undefined ? undefined : `${file}.key`
}

/** The key of a database: the given one, else from the given file, else from the file beside a SQLite database. */
export const vaultKeyOf = Effect.fn("vaultKeyOf")(function* (from: {
  readonly database: Redacted.Redacted<string>
  readonly key: Redacted.Redacted<string> | undefined
  readonly file: string | undefined
}) {
  if (from.key !== undefined) return from.key
  // A database in memory is never opened again, so a new key suffices.
  if (Redacted.value(from.database) === "sqlite::memory:") return makeVaultKey()
  const file = from.file ?? fileBeside(from.database)
  if (file !== undefined) return yield* vaultKeyIn(file)
  const message =
    "the vault's key: expected it in VOICEGATE_PLATFORM_VAULT_KEY, or a file for it with --vault-key-file, which is created when it does not " +
    "exist. All processes on one database need the same key."
  return yield* new VaultKeyInvalid({ message })
})

/** The key in a file, which is created when it does not exist. */
const vaultKeyIn = (file: string): Effect.Effect<Redacted.Redacted<string>, VaultKeyInvalid> => {
  const read = Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: (cause) => {
      const why = cause instanceof Error ? cause.message : "it cannot be read"
      return new VaultKeyInvalid({ message: `the vault's key in ${file}: ${why}` })
    },
  })
  // Written to a temporary file and then linked: of two concurrent first starts one wins, and a partial file is never read.
  const make = Effect.ignore(
    Effect.tryPromise(async () => {
      const draft = `${file}.${randomUUID()}`
      await writeFile(draft, `${Redacted.value(makeVaultKey())}\n`, { mode: 0o600, flag: "wx" })
      await link(draft, file).finally(() => unlink(draft))
    }),
  )
  return read.pipe(
    Effect.catch(() => Effect.andThen(make, read)),
    Effect.map((text) => Redacted.make(text.trim())),
  )
}
