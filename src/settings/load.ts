/**
 * Where settings come from: a JSON file and the environment for the command line, an object for hosts and tests. Both are
 * checked alike, and all problems are reported at once.
 */
import { resolve } from "node:path"
import { Effect, FileSystem, Layer, Result } from "effect"
import { Settings } from "../Settings.ts"
import { SettingsInvalid } from "./problems.ts"
import { type LoadedSettings, type Place, resolveSettings } from "./resolve.ts"

export interface SettingsSource {
  /** the file, relative to `cwd`; without one `settings.json` in `cwd`, when it is there */
  readonly file?: string | undefined
  /** environment variables; they win over the file */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

const invalidFile = (path: string, expected: string): SettingsInvalid =>
  new SettingsInvalid({ problems: [{ path, expected }] })

/** Where a JSON text goes wrong, without repeating any of it: the parser's own message quotes what stands there. */
const parseJson = (path: string, text: string): Result.Result<unknown, SettingsInvalid> =>
  Result.try({
    // .NET's tools write a byte order mark
    try: (): unknown => JSON.parse(text.replace(/^\uFEFF/, "")),
    catch: (error) => {
      const place = /line \d+ column \d+/.exec(String(error))?.[0]
      return invalidFile(path, `valid JSON${place === undefined ? "" : `; it goes wrong at ${place}`}`)
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

/** Reads the settings of a process: file, then environment over it. */
export const loadSettings = Effect.fn("loadSettings")(function* (
  source: SettingsSource,
): Effect.fn.Return<LoadedSettings, SettingsInvalid, FileSystem.FileSystem> {
  const json = yield* readFile(source)
  return yield* Effect.fromResult(resolveSettings(json, source.env))
})

/**
 * Checks settings given as an object, in the shape of the settings file (secrets may be `Redacted`), with the same
 * defaults and the same problems. The environment is not read. `place.embedded` is for a gate that a host's server serves: it
 * needs a webhook secret whatever `Server.Host` is.
 */
export const settingsFrom = (
  settings: Readonly<Record<string, unknown>>,
  place?: Place,
): Result.Result<LoadedSettings, SettingsInvalid> => resolveSettings(settings, {}, place)

const warned = ({ tree, warnings }: LoadedSettings) =>
  Effect.as(
    Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
    tree,
  )

/** The settings of a process; warnings are logged. */
export const layer = (source: SettingsSource): Layer.Layer<Settings, SettingsInvalid, FileSystem.FileSystem> =>
  Layer.effect(Settings, Effect.flatMap(loadSettings(source), warned))

/** Settings given as an object; warnings are logged. */
export const layerFrom = (
  settings: Readonly<Record<string, unknown>>,
  place?: Place,
): Layer.Layer<Settings, SettingsInvalid> =>
  Layer.effect(Settings, Effect.flatMap(Effect.fromResult(settingsFrom(settings, place)), warned))
