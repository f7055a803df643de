/** The providers of IP intelligence: the values of `IpIntel.Provider`, and what each needs. */
import { Struct } from "effect"

/**
 * `http`: asked over HTTP, with or without a key; `http_with_key`: only with a key; `local`: reads files of this machine, or nothing.
 *
 * A new provider also needs a file in `providers`, and a line in `layer.ts`.
 */
const PROVIDER_KINDS = {
  "ipapi.is": "http",
  "proxycheck.io": "http",
  "vpnapi.io": "http",
  "ip2location.io": "http",
  "ipinfo.io": "http_with_key",
  maxmind: "local",
  lists: "local",
  none: "local",
} as const
export type IpProvider = keyof typeof PROVIDER_KINDS

export const IP_PROVIDERS: ReadonlyArray<IpProvider> = Struct.keys(PROVIDER_KINDS)
export const isHttpProvider = (provider: IpProvider): boolean => PROVIDER_KINDS[provider] !== "local"
/** Whether the provider, or the list of relays beside it, is files or lists, which may change while the settings stay the same. */
export const readsLists = (settings: {
  readonly Provider: IpProvider
  readonly Lists: { readonly Relay: ReadonlyArray<string> }
}): boolean => {
  if (settings.Provider === "none") return false
  return PROVIDER_KINDS[settings.Provider] === "local" || settings.Lists.Relay.length > 0
}
export const needsKey = (provider: IpProvider): boolean => PROVIDER_KINDS[provider] === "http_with_key"
