/** Composes the platform's services over one database. */
import { Effect, Layer, type Redacted, Schedule } from "effect"
import type { Migrator, SqlClient, SqlError } from "effect/sql"
import * as Audit from "./Audit.ts"
import * as Businesses from "./businesses/Businesses.ts"
import * as WebCampaigns from "./businesses/WebCampaigns.ts"
import * as Calls from "./calls/Calls.ts"
import * as Conversations from "./calls/Conversations.ts"
import * as WebSessions from "./calls/WebSessions.ts"
import * as Database from "./data/Database.ts"
import * as Vault from "./data/Vault.ts"
import * as ApiKeys from "./keys/ApiKeys.ts"
import * as KeyCache from "./keys/KeyCache.ts"
import * as KeyUsage from "./keys/KeyUsage.ts"
import * as Users from "./users/Users.ts"
import * as WebhookRules from "./webhooks/rules.ts"
import * as Webhooks from "./webhooks/Webhooks.ts"

export type Services =
  | SqlClient.SqlClient
  | ApiKeys.ApiKeys
  | Audit.Audit
  | Businesses.Businesses
  | Calls.Calls
  | Conversations.Conversations
  | KeyCache.KeyCache
  | KeyUsage.KeyUsage
  | Users.Users
  | Vault.Vault
  | WebCampaigns.WebCampaigns
  | WebhookRules.WebhookRules
  | Webhooks.Webhooks
  | WebSessions.WebSessions

/** The services of a database; migrates its tables first. */
export const layer = (options: {
  readonly database: Redacted.Redacted<string>
  readonly vaultKey: Redacted.Redacted<string>
  readonly privateWebhooks: boolean
}): Layer.Layer<
  Services,
  Database.DatabaseInvalid | Migrator.MigrationError | SqlError.SqlError | Vault.VaultKeyInvalid
> =>
  Layer.mergeAll(ApiKeys.layer, Businesses.layer, Calls.layer, Users.layer, WebCampaigns.layer, WebSessions.layer).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Audit.layer,
        Conversations.layer,
        KeyCache.layer,
        KeyUsage.layer,
        Vault.layer(options.vaultKey),
        WebhookRules.layer(options.privateWebhooks),
        Webhooks.layer,
      ),
    ),
    Layer.provideMerge(Database.layer(options.database)),
  )

/** How often sessions that were not opened or renewed in time are ended, in milliseconds. */
export const SWEEP_MILLIS = 1_000

/** Ends sessions that were not opened or renewed in time, until the scope closes. */
export const sweeping: Layer.Layer<never, never, WebSessions.WebSessions> = Layer.effectDiscard(
  Effect.flatMap(WebSessions.WebSessions, ({ sweep }) =>
    // Tries again when the database is unavailable.
    sweep.pipe(Effect.ignore, Effect.schedule(Schedule.spaced(SWEEP_MILLIS)), Effect.forkScoped),
  ),
)
