/**
 * Builds the service from the settings. Local providers (lists, MaxMind, none) answer at once and need no cache; network
 * providers are wrapped by `remote.ts`.
 */
import { Effect, type Scope } from "effect"
import { HttpClient } from "effect/http"
import { CallerNames } from "../CallerNames.ts"
import { Settings } from "../Settings.ts"
import { Store } from "../Store.ts"
import { parseAddress } from "./address.ts"
import { failing, type IpFacts, type IpIntelFailed, type IpIntelSetupError, noFacts, type Provider } from "./facts.ts"
import { ip2location } from "./ip2location.ts"
import { ipapiIs } from "./ipapi-is.ts"
import { ipinfo } from "./ipinfo.ts"
import { lists } from "./lists.ts"
import { maxmind } from "./maxmind.ts"
import { none } from "./none.ts"
import { proxycheck } from "./proxycheck.ts"
import { makeRemote } from "./remote.ts"
import { vpnapi } from "./vpnapi.ts"

/** The address of a public DNS resolver, which every provider knows. */
const PROBE_ADDRESS = "1.1.1.1"

const HTTP_PROVIDERS = {
  "ipapi.is": ipapiIs,
  "proxycheck.io": proxycheck,
  "vpnapi.io": vpnapi,
  "ip2location.io": ip2location,
  "ipinfo.io": ipinfo,
} as const

const nothing = Effect.succeed(noFacts)

/** Skips addresses that are not public, which no provider knows. */
const forPublic = ({ name, lookup }: Provider): Provider["lookup"] => {
  const fail = failing(name)
  return (text) => {
    const address = parseAddress(text)
    if (address === undefined) return fail("rejected", "got an invalid address")
    return address.isPublic ? lookup(address.lookupText) : nothing
  }
}

const local = (provider: Provider) => ({
  provider: provider.name,
  lookup: forPublic(provider),
  probe: Effect.suspend(() => Effect.asVoid(provider.lookup(PROBE_ADDRESS))),
})

/** The service that `IpIntel.layer` provides. */
export const make: Effect.Effect<
  {
    readonly provider: string
    readonly lookup: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
    readonly probe: Effect.Effect<void, IpIntelFailed>
  },
  IpIntelSetupError,
  Settings | Store | CallerNames | HttpClient.HttpClient | Scope.Scope
> = Effect.gen(function* () {
  const { IpIntel: settings } = yield* Settings
  const client = yield* HttpClient.HttpClient
  switch (settings.Provider) {
    case "none":
      return local(none)
    case "lists":
      return local(yield* lists(settings.Lists, client))
    case "maxmind":
      return local(yield* maxmind(settings.BaseUrl))
    default: {
      const provider = HTTP_PROVIDERS[settings.Provider]({
        client,
        apiKey: settings.ApiKey,
        baseUrl: settings.BaseUrl,
      })
      const remote = yield* makeRemote(provider, settings, yield* Store, yield* CallerNames)
      return {
        provider: remote.name,
        lookup: forPublic(remote),
        probe: Effect.asVoid(remote.uncached(PROBE_ADDRESS)),
      }
    }
  }
})
