/** Flags that several commands of the local platform have, and the environment variables that they read. */
import { Config, Redacted } from "effect"
import { Flag } from "effect/cli"

const DATABASE = "VOICEGATE_PLATFORM_DATABASE"
export const PASSWORD = "VOICEGATE_PLATFORM_PASSWORD"
export const VAULT_KEY = "VOICEGATE_PLATFORM_VAULT_KEY"

export const storage = {
  database: Flag.Redacted("database").pipe(
    Flag.withDescription(
      `sqlite:<file>, or postgres://…; also ${DATABASE}; by default sqlite:voicegate-platform.db in the working directory`,
    ),
    Flag.withFallbackConfig(Config.Redacted(DATABASE)),
    Flag.withDefault(Redacted.make("sqlite:voicegate-platform.db")),
  ),
  vaultKeyFile: Flag.File("vault-key-file").pipe(
    Flag.withDescription(
      `the file with the key that encrypts secrets in the database, created when it does not exist; by default beside a SQLite file; the key itself can be in ${VAULT_KEY}`,
    ),
    Flag.optional,
  ),
}

export const email = Flag.String("email").pipe(Flag.withDescription("the e-mail address that the user signs in with"))
