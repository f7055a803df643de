/** Loads the settings of a process from a JSON file and the environment. All problems are reported at once. */
import { resolve } from "node:path"
import { Effect, type FileSystem, Layer, Result } from "effect"
import { logWarnings } from "./given.ts"
import { type SettingProblem, SettingsInvalid } from "./problems.ts"
import { type LoadedSettings, resolveSettings } from "./reading/resolve.ts"
import { Settings } from "./Settings.ts"
import { type ListedSetting, listSettings } from "./showing/listing.ts"
import { flatten } from "./sources/flat.ts"
import { parseSettingsText, repeatedNames } from "./sources/json-text.ts"
import { readableFile, readText } from "./sources/text-file.ts"
import { type Variables, variablesOf, withEnvFile, withSecretFiles } from "./sources/variables.ts"

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

interface ReadFile {
  readonly json: object
  /** what the file's JSON alone does not show */
  readonly problems: ReadonlyArray<SettingProblem>
  /** the absolute path of the default file, when no file is named and there is none */
  readonly absent?: string
}

const readFile = Effect.fnUntraced(function* ({
  file,
  cwd,
}: SettingsSource): Effect.fn.Return<ReadFile, SettingsInvalid, FileSystem.FileSystem> {
  const name = file ?? "settings.json"
  const text = yield* readText(resolve(cwd, name)).pipe(
    Effect.catch((error) =>
      file === undefined && error.reason._tag === "NotFound"
        ? Effect.succeed(undefined)
        : Effect.fail(invalidFile(name, readableFile(resolve(cwd, name), error))),
    ),
  )
  if (text === undefined) return { json: {}, problems: [], absent: resolve(cwd, name) }
  const json = Result.flatMap(text, parseSettingsText)
  if (Result.isFailure(json)) return yield* invalidFile(name, json.failure)
  return { json: json.success, problems: Result.isSuccess(text) ? repeatedNames(text.success) : [] }
})

/** What the settings are read from, as given: their values are not checked yet. */
export interface Sources extends ReadFile {
  readonly variables: Variables
}

/** The file's JSON, and the environment with its secret files. */
export const readSources = Effect.fnUntraced(function* (
  source: SettingsSource,
): Effect.fn.Return<Sources, SettingsInvalid, FileSystem.FileSystem> {
  const given = variablesOf(source.env)
  const { problems: ofEnvFile, variables: all } =
    source.envFile === undefined
      ? { problems: [], variables: given }
      : yield* withEnvFile(given, source.envFile, source.cwd)
  const { problems, ...file } = yield* readFile(source)
  return { ...file, problems: [...problems, ...ofEnvFile], variables: yield* withSecretFiles(all, source.cwd) }
})

/** Whoever started the gate in the wrong folder reads first that there is no file, and then what is missing. */
const withoutFile = (absent: string, { problems }: SettingsInvalid): SettingsInvalid => {
  if (!problems.some(({ found }) => found === "nothing")) return new SettingsInvalid({ problems })
  const expected = "a settings file in the working directory, or one that --config names"
  return new SettingsInvalid({
    problems: [{ path: "settings.json", expected, found: `none at ${absent}` }, ...problems],
  })
}

/** Reads the settings of a process from the file and the environment, which wins. */
export const loadSettings = Effect.fn("loadSettings")(function* (
  source: SettingsSource,
): Effect.fn.Return<LoadedSettings, SettingsInvalid, FileSystem.FileSystem> {
  const { absent, json, problems, variables } = yield* readSources(source)
  const loaded = resolveSettings(json, variables)
  const resolved = absent === undefined ? loaded : Result.mapError(loaded, (invalid) => withoutFile(absent, invalid))
  if (problems.length === 0) return yield* Effect.fromResult(resolved)
  const others = Result.isFailure(resolved) ? resolved.failure.problems : []
  return yield* new SettingsInvalid({ problems: [...problems, ...others] })
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
