/**
 * Builds the service from the settings. Local providers (lists, MaxMind, none) answer at once and need no cache; network
 * providers are wrapped by `remote.ts`.
 */
import { Effect, type Scope } from "effect"
import { HttpClient } from "effect/http"
import { CallerNames } from "../caller-names/CallerNames.ts"
import { Settings } from "../settings/Settings.ts"
import { Store } from "../store/Store.ts"
import type { IpFacts, IpIntelFailed, IpIntelSetupError } from "./facts.ts"
import { forPublic, local, PROBE_ADDRESS } from "./local.ts"
import { ip2location } from "./providers/ip2location.ts"
import { ipapiIs } from "./providers/ipapi-is.ts"
import { ipinfo } from "./providers/ipinfo.ts"
import { lists, withRelays } from "./providers/lists.ts"
import { maxmind } from "./providers/maxmind.ts"
import { none } from "./providers/none.ts"
import { proxycheck } from "./providers/proxycheck.ts"
import { vpnapi } from "./providers/vpnapi.ts"
import { makeRemote } from "./remote.ts"

const HTTP_PROVIDERS = {
  "ipapi.is": ipapiIs,
  "proxycheck.io": proxycheck,
  "vpnapi.io": vpnapi,
  "ip2location.io": ip2location,
  "ipinfo.io": ipinfo,
} as const

/** The names of callers, which `make` needs. */
export const layerNames = CallerNames.layer

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
      return local(yield* withRelays(yield* maxmind(settings.BaseUrl), settings.Lists, client))
    default: {
      const provider = HTTP_PROVIDERS[settings.Provider]({
        client,
        apiKey: settings.ApiKey,
        baseUrl: settings.BaseUrl,
      })
      const remote = yield* withRelays(
        yield* makeRemote(provider, settings, yield* Store, yield* CallerNames),
        settings.Lists,
        client,
      )
      return {
        provider: remote.name,
        lookup: forPublic(remote),
        probe: Effect.asVoid(remote.uncached(PROBE_ADDRESS)),
      }
    }
  }
})
