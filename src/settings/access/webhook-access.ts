/**
 * The settings with which `webhook test` reaches a running gate as its platform does. They are read without the others, because the machine
 * where the command runs may have only the secrets.
 */
import { Effect, type FileSystem, type Redacted, Schema } from "effect"
import { SecuritySettings } from "../groups/security.ts"
import { ServerSettings } from "../groups/server.ts"
import { readSources, type SettingsSource } from "../load.ts"
import { type SettingProblem, SettingsInvalid } from "../problems.ts"
import { makeReader } from "../reading/make-reader.ts"
import { flatten } from "../sources/flat.ts"

const { WebhookApiToken, WebhookSigningSecret } = SecuritySettings.fields

const Access = Schema.Struct({
  Security: Schema.Struct({ WebhookApiToken, WebhookSigningSecret }),
  Server: Schema.Struct({
    BasePath: ServerSettings.fields.BasePath,
    Host: ServerSettings.fields.Host,
    Port: ServerSettings.fields.Port,
  }),
})

const ANY_HOST = ["0.0.0.0", "::"]

export interface WebhookAccess {
  readonly tokens: ReadonlyArray<Redacted.Redacted<string>>
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  /** where a gate with these settings listens, with a slash at the end */
  readonly url: string
}

/** Reads the secrets and the address; both lists may be empty. */
export const loadWebhookAccess = Effect.fnUntraced(function* (
  source: SettingsSource,
): Effect.fn.Return<WebhookAccess, SettingsInvalid, FileSystem.FileSystem> {
  const { json, problems: inFiles, variables } = yield* readSources(source)
  const problems: Array<SettingProblem> = [...inFiles]
  const read = makeReader(flatten(json, variables, problems), problems)
  const { valid } = read.group({ base: "", schema: Access, draft: Access })
  if (valid === undefined || problems.length > 0) return yield* new SettingsInvalid({ problems })
  const { BasePath, Host, Port } = valid.Server
  const name = ANY_HOST.includes(Host) ? "127.0.0.1" : Host.includes(":") ? `[${Host}]` : Host
  return {
    tokens: valid.Security.WebhookApiToken,
    secrets: valid.Security.WebhookSigningSecret,
    url: `http://${name}:${Port}${BasePath}/`,
  }
})
