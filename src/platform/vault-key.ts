/**
 * Where the vault's key comes from: given, or kept in a file that only its owner reads, which is made at the first start. All
 * processes on one database need the same key; a wrong one is noticed at the start.
 */
import { readFile, writeFile } from "node:fs/promises"
import { Effect, Redacted } from "effect"
import { makeVaultKey, VaultKeyInvalid } from "./Vault.ts"

/** The file beside a SQLite database; undefined for any other. */
export const vaultKeyFileOf = (database: Redacted.Redacted<string>): string | undefined => {
  const file = /^sqlite:(?!:memory:)(.+)$/.exec(Redacted.value(database))?.[1]
  return file === undefined ? undefined : `${file}.key`
}

/** The key in a file; made when there is none. */
export const vaultKeyIn = (file: string): Effect.Effect<Redacted.Redacted<string>, VaultKeyInvalid> => {
  const read = Effect.tryPromise({ try: () => readFile(file, "utf8"), catch: (cause) => cause })
  // Of two first starts one makes the file; the other reads it.
  const make = Effect.suspend(() => {
    const text = `${Redacted.value(makeVaultKey())}\n`
    return Effect.ignore(Effect.tryPromise(() => writeFile(file, text, { mode: 0o600, flag: "wx" })))
  })
  return read.pipe(
    Effect.catch(() => Effect.andThen(make, read)),
    Effect.map((text) => Redacted.make(text.trim())),
    Effect.mapError((cause) => {
      const why = cause instanceof Error ? cause.message : "it cannot be read"
      return new VaultKeyInvalid({ message: `the vault's key in ${file}: ${why}` })
    }),
  )
}
