/** Settings that a host or a test gives as an object, in the shape of the settings file. */
import { Effect, Layer, type Result } from "effect"
import type { SettingsInvalid } from "./problems.ts"
import { type LoadedSettings, type Place, resolveSettings } from "./reading/resolve.ts"
import { Settings } from "./Settings.ts"
import type { Variables } from "./sources/variables.ts"

export const NO_VARIABLES: Variables = { values: {}, origins: new Map() }

/**
 * Checks settings given as an object in the shape of the settings file (secrets may be `Redacted`), with the same defaults and
 * problems. Does not read the environment. `place.embedded` is for a gate inside a host's server, which listens wherever the host
 * does.
 */
export const settingsFrom = (
  settings: Readonly<Record<string, unknown>>,
  place?: Place,
): Result.Result<LoadedSettings, SettingsInvalid> =>
  resolveSettings(settings, NO_VARIABLES, { where: "in the given settings", ...place })

/** The settings, after their warnings were logged. */
export const logWarnings = ({ tree, warnings }: LoadedSettings) =>
  Effect.as(
    Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
    tree,
  )

/** Logs warnings. */
export const layerFrom = (
  settings: Readonly<Record<string, unknown>>,
  place?: Place,
): Layer.Layer<Settings, SettingsInvalid> =>
  Layer.effect(Settings, Effect.flatMap(Effect.fromResult(settingsFrom(settings, place)), logWarnings))
