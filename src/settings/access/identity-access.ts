/** The settings with which `token identity` signs. They are read without the others, because a developer's machine may have only these. */
import { Effect, type FileSystem, Schema } from "effect"
import { IdentitySettings } from "../groups/identity.ts"
import { readSources, type SettingsSource } from "../load.ts"
import { type SettingProblem, SettingsInvalid } from "../problems.ts"
import { makeReader } from "../reading/make-reader.ts"
import { flatten } from "../sources/flat.ts"

const { Audience, Issuer, Secrets } = IdentitySettings.fields

const Access = Schema.Struct({ Identity: Schema.Struct({ Audience, Issuer, Secrets }) })
export type IdentityAccess = (typeof Access.Type)["Identity"]

/** Reads the secrets, which may be none, and what the gate expects of a token. */
export const loadIdentityAccess = Effect.fnUntraced(function* (
  source: SettingsSource,
): Effect.fn.Return<IdentityAccess, SettingsInvalid, FileSystem.FileSystem> {
  const { json, problems: inFiles, variables } = yield* readSources(source)
  const problems: Array<SettingProblem> = [...inFiles]
  const read = makeReader(flatten(json, variables, problems), problems)
  const { valid } = read.group({ base: "", schema: Access, draft: Access })
  return valid === undefined || problems.length > 0
    ? yield* Effect.fail(new SettingsInvalid({ problems }))
    : valid.Identity
})
