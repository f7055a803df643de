/**
 * The gate for hosts without Effect: promises, plain objects, and listeners for the host's own server. Expected outcomes are
 * values; a promise rejects only after an internal error of the gate, or after `close`.
 */
import type { Gate, GateOptions } from "./gate.ts"
import type { GateSettings } from "./settings.ts"

/**
 * Starts a gate with these settings, which are checked like a settings file. Does not read the environment.
 *
 * Rejects with `SettingsInvalid`, whose message has one line per problem; with `StoreRefused` or `IpIntelSetupError`
 * when a valid setting does not work; and with a `TypeError` for a wrong `basePath`, an unknown option, or a `redis` with options that the
 * gate cannot follow.
 */
export const createGate = async (settings: GateSettings, options: GateOptions = {}): Promise<Gate> =>
  // loaded here, so that the import of the package does not load what a gate runs on
  (await import("./start-gate.ts")).startGate(settings, options)
