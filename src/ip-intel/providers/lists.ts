/**
 * Offline lists: facts from files and downloads of address ranges, without an account. They are a provider, and the list of privacy
 * relays corrects any other provider. Lists are read at start and again every
 * `IpIntel.Lists.RefreshHours`; when that fails the old list stays in use. A file that cannot be read at start is a set-up error.
 * A download that fails at start is retried every minute; until it succeeds, lookups fail unless another list reports VPN or Tor,
 * since a missing list does not make an address clean.
 */
import { Effect, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { type Address, parseAddress } from "../../lib/ip/address.ts"
import type { RangeSet } from "../../lib/ip/ranges.ts"
import type { SettingsTree } from "../../settings/Settings.ts"
import { asRelay, failing, IpIntelSetupError, ipFacts, type Provider } from "../facts.ts"
import { isRemote, type LoadedList, labelOf, loadList } from "../list-source.ts"

type ListSettings = SettingsTree["IpIntel"]["Lists"]

const RETRY = "1 minute"

const KINDS = { Vpn: "vpn", Datacenter: "datacenter", Tor: "tor", Relay: "relay" } as const
type Setting = keyof typeof KINDS
const SETTINGS: ReadonlyArray<Setting> = ["Vpn", "Datacenter", "Tor", "Relay"]

interface Source {
  readonly location: string
  /** its setting, such as `IpIntel.Lists.Vpn[0]` */
  readonly setting: string
  /** undefined until it is loaded for the first time */
  ranges: RangeSet | undefined
}

const report = (source: Source, list: LoadedList): Effect.Effect<void> =>
  (list.badLines > 0
    ? Effect.logWarning(`IP list loaded without ${list.badLines} bad lines; the first is line ${list.firstBadLine}`)
    : Effect.logInfo("IP list loaded")
  ).pipe(Effect.annotateLogs({ setting: source.setting, list: labelOf(source.location), ranges: list.ranges.size }))

/** Whether a list of one kind contains the address; undefined when none does and one is still missing. */
const contains = (sources: ReadonlyArray<Source>, address: Address): boolean | undefined => {
  let complete = true
  for (const { ranges } of sources) {
    if (ranges === undefined) complete = false
    else if (ranges.has(address)) return true
  }
  return complete ? false : undefined
}

/** Loads lists of these kinds, and refreshes them until the scope closes. */
const keepLists = Effect.fnUntraced(function* (
  settings: ListSettings,
  kinds: ReadonlyArray<Setting>,
  client: HttpClient.HttpClient,
): Effect.fn.Return<Readonly<Record<Setting, ReadonlyArray<Source>>>, IpIntelSetupError, Scope.Scope> {
  const sourcesOf = (kind: Setting): ReadonlyArray<Source> =>
    !kinds.includes(kind)
      ? []
      : settings[kind].map((location, index) => ({
          location,
          setting: `IpIntel.Lists.${kind}[${index}]`,
          ranges: undefined,
        }))
  const sources = {
    Vpn: sourcesOf("Vpn"),
    Datacenter: sourcesOf("Datacenter"),
    Tor: sourcesOf("Tor"),
    Relay: sourcesOf("Relay"),
  }
  const all = SETTINGS.flatMap((kind) => sources[kind])

  const load = Effect.fnUntraced(function* (source: Source) {
    const list = yield* loadList(client, source.location)
    source.ranges = list.ranges
    yield* report(source, list)
  })

  yield* Effect.forEach(
    all,
    (source) =>
      load(source).pipe(
        Effect.catchTag("ListFailed", (error) => {
          const message = `${source.setting}: ${error.message}`
          return isRemote(source.location)
            ? Effect.logWarning(`IP list missing, the download will be retried: ${message}`)
            : Effect.fail(new IpIntelSetupError({ setting: source.setting, message }))
        }),
      ),
    { concurrency: 4, discard: true },
  )

  const refresh = Effect.fnUntraced(function* (source: Source) {
    let failed = source.ranges === undefined
    while (failed || settings.RefreshHours > 0) {
      yield* Effect.sleep(failed ? RETRY : `${settings.RefreshHours} hours`)
      failed = yield* load(source).pipe(
        Effect.as(false),
        Effect.catchTag("ListFailed", (error) =>
          Effect.as(
            Effect.logWarning(
              `IP list ${source.ranges === undefined ? "still missing" : "not refreshed"}: ${source.setting}: ${error.message}`,
            ),
            true,
          ),
        ),
      )
    }
  })
  yield* Effect.forEach(all, (source) => Effect.forkScoped(refresh(source)), { discard: true })
  return sources
})

/**
 * A provider whose addresses in `IpIntel.Lists.Relay` are privacy relays: most providers report those as VPN or proxy. Until a list is
 * loaded, the provider's facts stand.
 */
export const withRelays = Effect.fnUntraced(function* <P extends Provider>(
  provider: P,
  settings: ListSettings,
  client: HttpClient.HttpClient,
): Effect.fn.Return<P, IpIntelSetupError, Scope.Scope> {
  if (settings.Relay.length === 0) return provider
  const { Relay } = yield* keepLists(settings, ["Relay"], client)
  return {
    ...provider,
    lookup: (text) =>
      Effect.map(provider.lookup(text), (facts) => {
        const address = parseAddress(text)
        return address !== undefined && contains(Relay, address) === true ? asRelay(facts) : facts
      }),
  }
})

/** The lists as a provider of their own. */
export const lists = Effect.fnUntraced(function* (
  settings: ListSettings,
  client: HttpClient.HttpClient,
): Effect.fn.Return<Provider, IpIntelSetupError, Scope.Scope> {
  const sources = yield* keepLists(settings, SETTINGS, client)
  const fail = failing("lists")
  return {
    name: "lists",
    lookup: (text) => {
      const address = parseAddress(text)
      if (address === undefined) return fail("rejected", "got an invalid address")
      const relay = contains(sources.Relay, address)
      const tor = contains(sources.Tor, address)
      const vpn = contains(sources.Vpn, address)
      const datacenter = contains(sources.Datacenter, address)
      // A certain fact counts even when a list is missing, so that a missing download does not hide what another list contains.
      const isCertain = tor === true || (vpn === true && relay === false)
      const isMissing = relay === undefined || tor === undefined || vpn === undefined || datacenter === undefined
      if (isMissing && !isCertain) return fail("unreachable", "are incomplete: a download is missing")
      return Effect.succeed(ipFacts({ vpn, proxy: "never", tor, datacenter, relay }))
    },
  }
})
