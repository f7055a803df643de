/** Passwords and the vault. */
import { mkdtemp, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as Database from "../../../src/platform/data/Database.ts"
import { makeVaultKey, Vault, layer as vaultLayer } from "../../../src/platform/data/Vault.ts"
import { vaultKeyOf } from "../../../src/platform/data/vault-key.ts"
import { hashPassword, PasswordCost, verifyPassword } from "../../../src/platform/users/Passwords.ts"

/** Password digests are slow by design, and the machine may be busy. */
const SLOW_MILLIS = 60_000

describe("a password", () => {
  it.live(
    "is verified by its digest, which differs each time and does not contain it",
    () =>
      Effect.gen(function* () {
        const password = Redacted.make("correct horse battery")
        const cost = yield* PasswordCost
        const [first, second] = yield* Effect.all([hashPassword(password, cost), hashPassword(password, cost)])
        assert.notStrictEqual(first, second)
        assert.match(first, /^scrypt\$32768\$8\$3\$/)
        assert.notInclude(first, "correct")
        assert.isTrue(yield* verifyPassword(password, first, cost))
        assert.isFalse(yield* verifyPassword(Redacted.make("correct horse batterY"), first, cost))
      }),
    SLOW_MILLIS,
  )

  it.live(
    "is never right without a digest, or with an invalid one",
    () =>
      Effect.gen(function* () {
        const cost = yield* PasswordCost
        for (const hash of [null, "scrypt$1$1$1$$"]) {
          assert.isFalse(yield* verifyPassword(Redacted.make(""), hash, cost))
        }
      }),
    SLOW_MILLIS,
  )
})

describe("the vault", () => {
  const withVault = <A>(use: (vault: Vault["Service"]) => A) =>
    Effect.map(Vault, use).pipe(
      Effect.provide(vaultLayer(makeVaultKey()).pipe(Layer.provide(Database.layer(Redacted.make("sqlite::memory:"))))),
    )

  it.effect("decrypts what it encrypted, with another ciphertext each time, and refuses what was changed", () =>
    withVault((vault) => {
      const sealed = vault.seal("wörd")
      assert.strictEqual(vault.open(sealed), "wörd")
      assert.notStrictEqual(sealed, vault.seal("wörd"))
      const bytes = Buffer.from(sealed, "base64")
      for (let i = 0; i < bytes.length; i++) {
        const touched = Buffer.from(bytes)
        touched[i] = (touched[i] ?? 0) ^ 1
        assert.throws(() => vault.open(touched.toString("base64")))
      }
      assert.throws(() => vault.open(""))
    }),
  )

  it.live("keeps its key in a file that only its owner can read, created once", () =>
    Effect.gen(function* () {
      const dir = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "voicegate-vault-"))),
        (made) => Effect.promise(() => rm(made, { recursive: true })),
      )
      const from = { database: Redacted.make(`sqlite:${join(dir, "p.db")}`), key: undefined, file: undefined }
      const keys = yield* Effect.all([vaultKeyOf(from), vaultKeyOf(from), vaultKeyOf(from)], { concurrency: 3 })
      assert.strictEqual(new Set(keys.map(Redacted.value)).size, 1)
      assert.strictEqual(Buffer.from(Redacted.value(keys[0]), "base64").length, 32)
      const { mode } = yield* Effect.promise(() => stat(join(dir, "p.db.key")))
      assert.strictEqual(mode & 0o777, 0o600)
      const postgres = { ...from, database: Redacted.make("postgres://h/d") }
      assert.strictEqual((yield* Effect.flip(vaultKeyOf(postgres)))._tag, "VaultKeyInvalid")
    }),
  )
})
