/**
 * Encrypts secrets that must be read again, such as a webhook's signing secret: AES-256-GCM with a random nonce, so that the
 * database alone reveals nothing. The key is 32 bytes in base64, from the environment or from a file beside the database.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** encrypted at the first start; the right key decrypts it */
const CHECK = "voicegate"

/** The key is malformed, or not the one that the database was encrypted with. */
export class VaultKeyInvalid extends Schema.TaggedError<VaultKeyInvalid>()("VaultKeyInvalid", {
  message: Schema.String,
}) {}

export class Vault extends Context.Service<
  Vault,
  {
    readonly seal: (text: string) => string
    /** Throws when the text was not produced by `seal` with this key. */
    readonly open: (sealed: string) => string
  }
>()("voicegate/platform/Vault") {}

export const makeVaultKey = (): Redacted.Redacted<string> => Redacted.make(randomBytes(KEY_BYTES).toString("base64"))

const make = (key: Buffer): Vault["Service"] => ({
  seal: (text) => {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv("aes-256-gcm", key, nonce)
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64")
  },
  open: (sealed) => {
    const bytes = Buffer.from(sealed, "base64")
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const text = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]
    return Buffer.concat(text).toString("utf8")
  },
})

/** The vault of this database under this key. */
export const layer = (
  key: Redacted.Redacted<string>,
): Layer.Layer<Vault, VaultKeyInvalid | SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effect(
    Vault,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bytes = Buffer.from(Redacted.value(key), "base64")
      if (bytes.length !== KEY_BYTES) {
        return yield* new VaultKeyInvalid({ message: `the vault's key: Expected ${KEY_BYTES} bytes in base64.` })
      }
      const vault = make(bytes)
      // When several processes start for the first time, one insert wins and the others are checked against it.
      yield* sql`INSERT INTO installation (name, value) VALUES ('vault', ${vault.seal(CHECK)}) ON CONFLICT (name) DO NOTHING`
      const [check] = yield* sql<{ value: string }>`SELECT value FROM installation WHERE name = 'vault'`
      const opened = yield* Effect.exit(Effect.try(() => vault.open(check?.value ?? "")))
      if (opened._tag === "Failure" || opened.value !== CHECK) {
        const message = "the vault's key is not the one that this database was encrypted with"
        return yield* new VaultKeyInvalid({ message })
      }
      return Vault.of(vault)
    }),
  )
