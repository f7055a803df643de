/**
 * The settings with which a command reaches the console of a running gate. They are read without the others, because an operator's own
 * machine has only the token.
 */
import { Effect, type FileSystem, type Redacted, Schema } from "effect"
import { SecuritySettings } from "../groups/security.ts"
import { ServerSettings } from "../groups/server.ts"
import { readSources, type SettingsSource } from "../load.ts"
import { type SettingProblem, SettingsInvalid } from "../problems.ts"
import { makeReader } from "../reading/make-reader.ts"
import { flatten } from "../sources/flat.ts"

const Access = Schema.Struct({
  Security: Schema.Struct({ ConsoleToken: SecuritySettings.fields.ConsoleToken }),
  Server: Schema.Struct({
    BasePath: ServerSettings.fields.BasePath,
    Host: ServerSettings.fields.Host,
    Port: ServerSettings.fields.Port,
  }),
})

const ANY_HOST = ["0.0.0.0", "::"]

export interface ConsoleAccess {
  /** the first of them */
  readonly token: Redacted.Redacted<string>
  /** where a gate with these settings listens, with a slash at the end */
  readonly url: string
}

/** Reads the token and the address. Fails when there is no token, with the setting's name. */
export const loadConsoleAccess = Effect.fnUntraced(function* (
  source: SettingsSource,
): Effect.fn.Return<ConsoleAccess, SettingsInvalid, FileSystem.FileSystem> {
  const { json, problems: inFiles, variables } = yield* readSources(source)
  const problems: Array<SettingProblem> = [...inFiles]
  const read = makeReader(flatten(json, variables, problems), problems)
  const { valid } = read.group({ base: "", schema: Access, draft: Access })
  const token = valid?.Security.ConsoleToken[0]
  if (token === undefined && problems.length === 0) {
    read.reportMissing(
      "Security.ConsoleToken",
      "the token of the gate's console, in the settings file or as the environment variable Security__ConsoleToken",
    )
  }
  if (valid === undefined || token === undefined || problems.length > 0) return yield* new SettingsInvalid({ problems })
  const { BasePath, Host, Port } = valid.Server
  const name = ANY_HOST.includes(Host) ? "127.0.0.1" : Host.includes(":") ? `[${Host}]` : Host
  return { token, url: `http://${name}:${Port}${BasePath}/` }
})
