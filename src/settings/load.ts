/** Loads the settings of a process from a JSON file and the environment. All problems are reported at once. */
import { resolve } from "node:path"
import { Effect, FileSystem, Layer, Result } from "effect"
import stripJsonComments from "strip-json-comments"
import { Settings } from "../Settings.ts"
import { flatten } from "./flat.ts"
import { logWarnings } from "./given.ts"
import { type ListedSetting, listSettings } from "./listing.ts"
import { SettingsInvalid } from "./problems.ts"
import { type LoadedSettings, resolveSettings } from "./resolve.ts"
import { type Variables, variablesOf, withEnvFile, withSecretFiles } from "./variables.ts"

export interface SettingsSource {
  /** the file, relative to `cwd`; by default `settings.json` in `cwd`, if it exists */
  readonly file?: string | undefined
  /** a file of environment variables in the format of `.env`, relative to `cwd`; the variables of `env` win */
  readonly envFile?: string | undefined
  /** environment variables; they win over the settings file. A variable `NAME__File` names a file with the value of `NAME`. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

const invalidFile = (path: string, expected: string): SettingsInvalid =>
  new SettingsInvalid({ problems: [{ path, expected }] })

/** Parses JSON. An error gives the position without repeating any of the text, which the parser's own message would quote. */
const parseJson = (path: string, text: string): Result.Result<unknown, SettingsInvalid> =>
  Result.try({
    // .NET's tools write a byte order mark, and comments; the positions of errors stay as they are
    try: (): unknown => JSON.parse(stripJsonComments(text.replace(/^\uFEFF/, ""), { trailingCommas: true })),
    catch: (error) => {
      const place = /line \d+ column \d+/.exec(String(error))?.[0]
      return invalidFile(path, `valid JSON${place === undefined ? "" : `; the error is at ${place}`}`)
    },
  })

const readFile = Effect.fnUntraced(function* ({ file, cwd }: SettingsSource) {
  const fs = yield* FileSystem.FileSystem
  const name = file ?? "settings.json"
  const text = yield* fs
    .readFileString(resolve(cwd, name))
    .pipe(
      Effect.catch((error) =>
        file === undefined && error.reason._tag === "NotFound"
          ? Effect.succeed("{}")
          : Effect.fail(invalidFile(name, `a settings file that can be read (${error.reason._tag})`)),
      ),
    )
  const json = yield* Effect.fromResult(parseJson(name, text))
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return yield* invalidFile(name, "an object of settings, in braces")
  }
  return json
})

/** The file's JSON, and the environment with its secret files, as given: nothing is checked yet. */
export const readSources = Effect.fnUntraced(function* (
  source: SettingsSource,
): Effect.fn.Return<{ json: object; variables: Variables }, SettingsInvalid, FileSystem.FileSystem> {
  const given = variablesOf(source.env)
  const all = source.envFile === undefined ? given : yield* withEnvFile(given, source.envFile, source.cwd)
  return { json: yield* readFile(source), variables: yield* withSecretFiles(all, source.cwd) }
})

/** Reads the settings of a process from the file and the environment, which wins. */
export const loadSettings = Effect.fn("loadSettings")(function* (
  source: SettingsSource,
): Effect.fn.Return<LoadedSettings, SettingsInvalid, FileSystem.FileSystem> {
  const { json, variables } = yield* readSources(source)
  return yield* Effect.fromResult(resolveSettings(json, variables))
})

/** Lists the settings of a process, valid or not, with where each value is from. Fails only when a source cannot be read. */
export const listLoaded = Effect.fnUntraced(function* (
  source: SettingsSource,
): Effect.fn.Return<ReadonlyArray<ListedSetting>, SettingsInvalid, FileSystem.FileSystem> {
  const { json, variables } = yield* readSources(source)
  return listSettings(flatten(json, variables, []))
})

/** The settings of a process; logs warnings. */
export const layer = (source: SettingsSource): Layer.Layer<Settings, SettingsInvalid, FileSystem.FileSystem> =>
  Layer.effect(Settings, Effect.flatMap(loadSettings(source), logWarnings))
