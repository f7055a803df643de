/**
 * Loads settings: from a JSON file and the environment for the command line, from an object for hosts and tests. Both are checked
 * in the same way, and all problems are reported at once.
 */
import { resolve } from "node:path"
import { Effect, FileSystem, Layer, Result } from "effect"
import { Settings } from "../Settings.ts"
import { SettingsInvalid } from "./problems.ts"
import { type LoadedSettings, type Place, resolveSettings } from "./resolve.ts"

export interface SettingsSource {
  /** the file, relative to `cwd`; by default `settings.json` in `cwd`, if it exists */
  readonly file?: string | undefined
  /** environment variables; they win over the file */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

const invalidFile = (path: string, expected: string): SettingsInvalid =>
  new SettingsInvalid({ problems: [{ path, expected }] })

/** Parses JSON. An error gives the position without repeating any of the text, which the parser's own message would quote. */
const parseJson = (path: string, text: string): Result.Result<unknown, SettingsInvalid> =>
  Result.try({
    // .NET's tools write a byte order mark
    try: (): unknown => JSON.parse(text.replace(/^\uFEFF/, "")),
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

/** Reads the settings of a process from the file and the environment, which wins. */
export const loadSettings = Effect.fn("loadSettings")(function* (
  source: SettingsSource,
): Effect.fn.Return<LoadedSettings, SettingsInvalid, FileSystem.FileSystem> {
  const json = yield* readFile(source)
  return yield* Effect.fromResult(resolveSettings(json, source.env))
})

/**
 * Checks settings given as an object in the shape of the settings file (secrets may be `Redacted`), with the same defaults and
 * problems. Does not read the environment. `place.embedded` is for a gate inside a host's server: it needs a webhook secret
 * whatever `Server.Host` is.
 */
export const settingsFrom = (
  settings: Readonly<Record<string, unknown>>,
  place?: Place,
): Result.Result<LoadedSettings, SettingsInvalid> => resolveSettings(settings, {}, place)

const logWarnings = ({ tree, warnings }: LoadedSettings) =>
  Effect.as(
    Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
    tree,
  )

/** The settings of a process; logs warnings. */
export const layer = (source: SettingsSource): Layer.Layer<Settings, SettingsInvalid, FileSystem.FileSystem> =>
  Layer.effect(Settings, Effect.flatMap(loadSettings(source), logWarnings))

/** Settings given as an object; logs warnings. */
export const layerFrom = (
  settings: Readonly<Record<string, unknown>>,
  place?: Place,
): Layer.Layer<Settings, SettingsInvalid> =>
  Layer.effect(Settings, Effect.flatMap(Effect.fromResult(settingsFrom(settings, place)), logWarnings))
