/** The smallest settings that are valid, and what becomes of settings: their tree, or their problems. */
import { NodeFileSystem } from "@effect/platform-node"
import { Effect, FileSystem, Redacted, Result } from "effect"
import type { SettingProblem } from "../../src/settings/problems.ts"
import { type LoadedSettings, resolveSettings } from "../../src/settings/reading/resolve.ts"
import { variablesOf } from "../../src/settings/sources/variables.ts"

export const KEY = "key-of-the-platform-5f2c"
export const TOKEN = "token-of-the-webhook-91"
export const SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

export const platform = {
  ApiSecretToken: KEY,
  BaseUrl: "https://platform.example/api/v1",
  BusinessId: "business-1",
  WebCampaignId: "campaign-1",
  DefaultRegionId: "eu",
}
export const minimal = { VoiceAiPlatform: platform, Security: { WebhookApiToken: TOKEN } }

export type Json = Readonly<Record<string, unknown>>
type Env = Readonly<Record<string, string>>

export const valid = (json: Json, env: Env = {}): LoadedSettings => {
  const result = resolveSettings(json, variablesOf(env))
  if (Result.isFailure(result)) throw result.failure
  return result.success
}
export const treeOf = (json: Json, env: Env = {}) => valid(json, env).tree
export const problemsOf = (json: Json, env: Env = {}): ReadonlyArray<SettingProblem> => {
  const result = resolveSettings(json, variablesOf(env))
  return Result.isFailure(result) ? result.failure.problems : []
}
export const pathsOf = (json: Json, env: Env = {}) => problemsOf(json, env).map(({ path }) => path)

/** Runs with a directory of its own that has these files. */
export const inDirectory = <A, E>(
  files: Readonly<Record<string, string>>,
  use: (cwd: string) => Effect.Effect<A, E, FileSystem.FileSystem>,
) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const cwd = yield* fs.makeTempDirectoryScoped()
    for (const [name, text] of Object.entries(files)) yield* fs.writeFileString(`${cwd}/${name}`, text)
    return yield* use(cwd)
  }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

export const withSecurity = (more: Json): Json => ({ ...minimal, Security: { WebhookApiToken: TOKEN, ...more } })
export const values = (secrets: ReadonlyArray<Redacted.Redacted<string>>) =>
  secrets.map((secret) => Redacted.value(secret))
