/** The proxies whose forwarding headers are trusted (`Security.TrustedProxies`); a reload may change them. */
import { Effect } from "effect"
import { type TrustedProxies, trustedProxies } from "../ip-intel/client-address.ts"
import type { Settings } from "../Settings.ts"
import { currentSettings, derived } from "../settings/current.ts"

/** Returns a function that reads the trusted proxies of the settings in force. */
export const currentTrustedProxies: Effect.Effect<() => TrustedProxies, never, Settings> = Effect.map(
  currentSettings,
  (settings) => derived(settings, ({ Security }) => trustedProxies(Security.TrustedProxies)),
)
