/**
 * The settings as they are now, for the parts of the gate that outlive a reload, such as its listeners. Everything else is built
 * again with the new settings (`reload/`) and reads `Settings`.
 */
import { Context, Effect } from "effect"
import { Settings, type SettingsTree } from "./Settings.ts"

/** Reads the settings in force. */
export type ReadSettings = () => SettingsTree

/** Present in a gate that can reload its settings. */
export const Reloadable = Context.Reference<ReadSettings | undefined>("voicegate/settings/Reloadable", {
  defaultValue: () => undefined,
})

/** The settings in force; without `Reloadable` always those of `Settings`. */
export const currentSettings: Effect.Effect<ReadSettings, never, Settings> = Effect.gen(function* () {
  const settings = yield* Settings
  return (yield* Reloadable) ?? (() => settings)
})

/** A value computed from the settings in force, computed again only after they have changed. */
export const derived = <A>(read: ReadSettings, compute: (settings: SettingsTree) => A): (() => A) => {
  let from = read()
  let value = compute(from)
  return () => {
    const now = read()
    if (now !== from) {
      value = compute(now)
      from = now
    }
    return value
  }
}
