/**
 * From the flat list to the settings tree: defaults filled in, and the rules that concern more than one setting. Everything
 * that is wrong is noted before anything fails.
 */
import { Redacted, Result } from "effect"
import ipaddr from "ipaddr.js"
import type { IpProvider, SettingsTree } from "../Settings.ts"
import { loopbackNames } from "../serving/hosts.ts"
import { readCampaigns } from "./campaigns.ts"
import { parseConnectionString } from "./connection-string.ts"
import { type Flat, flatten } from "./flat.ts"
import { type SettingProblem, SettingsInvalid } from "./problems.ts"
import { makeReader, type Reader } from "./reader.ts"
import { SETTINGS as S } from "./table.ts"
import { misspeltVariables, unknownNames } from "./unknown.ts"

/** Valid settings, and what the operator should know about them. */
export interface LoadedSettings {
  readonly tree: SettingsTree
  readonly warnings: ReadonlyArray<string>
}

/** Where the gate with these settings runs. */
export interface Place {
  /** Inside a host application, whose server serves it: `Server.Host` says nothing about who reaches it then. */
  readonly embedded?: boolean
}

type Path<P> = { [K in keyof typeof S]: (typeof S)[K] extends { readonly presence: P } ? K : never }[keyof typeof S]

const store = (read: Reader): SettingsTree["StoreConnectionString"] => {
  const path = "StoreConnectionString"
  const given = read.one(S[path].kind, path)
  if (given === undefined) {
    read.warnings.push(`${path} is not set: queue and limits live in this process alone, and end with it.`)
    return Redacted.make("memory:")
  }
  const parsed = parseConnectionString(Redacted.value(given))
  if (Result.isFailure(parsed)) read.wrong(path, parsed.failure, S[path].kind)
  else read.warnings.push(...parsed.success.warnings.map((warning) => `${path}: ${warning}.`))
  return given
}

const LIST_PATHS = [
  "IpIntel.Lists.Vpn",
  "IpIntel.Lists.Datacenter",
  "IpIntel.Lists.Tor",
  "IpIntel.Lists.Relay",
] as const

/** The provider that is named, or the one that the other settings need; with what it needs itself. */
const ipProvider = (read: Reader, address: string | undefined): IpProvider => {
  const named = read.one(S["IpIntel.Provider"].kind, "IpIntel.Provider")
  const lists = LIST_PATHS.some(read.has)
  const implied = read.has("IpIntel.ApiKey") || read.has("IpIntel.BaseUrl") ? "ipapi.is" : lists ? "lists" : "none"
  const provider = named ?? implied
  if (provider === "maxmind" && !read.has("IpIntel.BaseUrl")) {
    read.missing("IpIntel.BaseUrl", "the path of the .mmdb file, which the provider maxmind reads")
  }
  const local = provider === "maxmind" || provider === "lists" || provider === "none"
  if (!local && address !== undefined && !/^https?:$/.test(URL.parse(address)?.protocol ?? "")) {
    read.wrong("IpIntel.BaseUrl", `the http or https URL of ${provider}`, S["IpIntel.BaseUrl"].kind)
  }
  if (provider === "ipinfo.io" && !read.has("IpIntel.ApiKey")) {
    read.missing("IpIntel.ApiKey", "a key, which the provider ipinfo.io needs")
  }
  if (provider === "lists" && !lists) {
    read.missing("IpIntel.Lists", `at least one of ${LIST_PATHS.join(", ")}, which the provider lists reads`)
  }
  return provider
}

/** How many of the lookups one network may have: what is set, else a tenth, but not so few that a large office notices. */
const networkLookups = (read: Reader, ofAll: number): number => {
  const path = "IpIntel.NetworkLookupsPerMinute"
  const given = read.one(S[path].kind, path)
  if (given !== undefined && given > ofAll) {
    read.wrong(path, `at most IpIntel.LookupsPerMinute, which is ${ofAll}`, S[path].kind)
  }
  return given ?? Math.min(ofAll, Math.max(5, Math.ceil(ofAll / 10)))
}

const isLoopback = (host: string): boolean =>
  host.toLowerCase() === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback")

/**
 * The names that `Host` may have; undefined is any. On loopback without a proxy all callers are programs of this machine, which
 * call it by its own names. A proxy passes on the name that its callers know, which is not known here.
 */
const allowedHosts = (
  read: Reader,
  host: string,
  { AllowedOrigins, TrustedProxies }: SettingsTree["Security"],
): ReadonlyArray<string> | undefined => {
  const path = "Server.AllowedHosts"
  const given = read.many(S[path].kind, path)
  if (read.has(path)) return given.includes("*") ? undefined : [...new Set(given)]
  const own = loopbackNames(host)
  if (own === undefined || TrustedProxies.length > 0) return undefined
  return [...new Set([...own, ...AllowedOrigins.flatMap((origin) => URL.parse(origin)?.hostname ?? [])])]
}

const warn = (tree: SettingsTree, warnings: Array<string>): void => {
  const { IpIntel, Security, Server } = tree
  for (const { name, BaseUrl } of tree.Campaigns) {
    const { protocol, hostname } = new URL(BaseUrl)
    if (protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/g, ""))) {
      warnings.push(
        `The platform's key of the campaign ${name} goes over the network unencrypted: its BaseUrl is http.`,
      )
    }
  }
  if (
    IpIntel.Provider === "none" &&
    (Security.BlockVpn || Security.BlockProxy || Security.BlockTor || Security.BlockDatacenter)
  ) {
    warnings.push("IpIntel.Provider is none: nothing is known of any address, so Security.Block… refuses nobody.")
  }
  if (Security.WebhookApiToken.length + Security.WebhookSigningSecret.length === 0) {
    warnings.push(`Anybody who reaches ${Server.Host} can end sessions: no Security.WebhookApiToken is set.`)
  }
  if (Security.AllowedOrigins.includes("*")) {
    warnings.push("Security.AllowedOrigins contains *: any web page may use the gate.")
  }
  if (Security.TrustedProxies.some((range) => range.endsWith("/0"))) {
    warnings.push("Security.TrustedProxies trusts everybody: a caller can claim any address.")
  }
}

/** Why callers from elsewhere can reach the webhook; undefined when only this machine can. */
const exposureOf = (read: Reader, host: string, { embedded = false }: Place): string | undefined => {
  if (embedded) return "the host application's server decides who reaches the gate, not Server.Host"
  if (!isLoopback(host)) return "only a gate whose Server.Host is a loopback address such as 127.0.0.1 needs none"
  return read.has("Security.TrustedProxies")
    ? "Security.TrustedProxies is set, so a proxy brings callers from elsewhere to Server.Host"
    : undefined
}

const ANY_HOST = ["0.0.0.0", "::"]

/** Notes a private port that is the public one where both listen at the same address, at which the start would fail. */
const checkPrivatePort = (
  read: Reader,
  { Docs, Host, Metrics, Port, PrivateHost, PrivatePort }: SettingsTree["Server"],
): void => {
  const isSameAddress = Host === PrivateHost || [Host, PrivateHost].some((each) => ANY_HOST.includes(each))
  if (Port === 0 || Port !== PrivatePort || !isSameAddress || ![Docs, Metrics].includes("private")) return
  const path = "Server.PrivatePort"
  read.wrong(path, `another port than Server.Port, which is ${Port} too`, S[path].kind)
}

const settingsOf = (flat: Flat, read: Reader, place: Place): SettingsTree | undefined => {
  const value = <K extends Path<"default">>(path: K): (typeof S)[K]["fallback"] =>
    read.one<(typeof S)[K]["fallback"]>(S[path].kind, path) ?? S[path].fallback
  const list = (path: (typeof LIST_PATHS)[number] | "Security.AllowedOrigins") => [
    ...new Set(read.many(S[path].kind, path)),
  ]

  const Campaigns = readCampaigns(flat, read)
  const StoreConnectionString = store(read)
  const address = read.one(S["IpIntel.BaseUrl"].kind, "IpIntel.BaseUrl")
  const Host = value("Server.Host")
  const PrivateHost = value("Server.PrivateHost")
  const WebhookApiToken = read.many(S["Security.WebhookApiToken"].kind, "Security.WebhookApiToken")
  const WebhookSigningSecret = read.many(S["Security.WebhookSigningSecret"].kind, "Security.WebhookSigningSecret")
  const exposure = exposureOf(read, Host, place)
  if (exposure !== undefined && !read.has("Security.WebhookApiToken") && !read.has("Security.WebhookSigningSecret")) {
    read.missing("Security.WebhookApiToken", `this or Security.WebhookSigningSecret: ${exposure}`)
  }
  const rest: Omit<SettingsTree, "Campaigns"> = {
    StoreConnectionString,
    IpIntel: {
      Provider: ipProvider(read, address),
      ApiKey: read.one(S["IpIntel.ApiKey"].kind, "IpIntel.ApiKey"),
      BaseUrl: address,
      OnError: value("IpIntel.OnError"),
      CacheDays: value("IpIntel.CacheDays"),
      LookupsPerMinute: value("IpIntel.LookupsPerMinute"),
      NetworkLookupsPerMinute: networkLookups(read, value("IpIntel.LookupsPerMinute")),
      TimeoutMillis: value("IpIntel.TimeoutMillis"),
      Lists: {
        Vpn: list("IpIntel.Lists.Vpn"),
        Datacenter: list("IpIntel.Lists.Datacenter"),
        Tor: list("IpIntel.Lists.Tor"),
        Relay: list("IpIntel.Lists.Relay"),
        RefreshHours: value("IpIntel.Lists.RefreshHours"),
      },
    },
    Security: {
      RateLimitHourly: value("Security.RateLimitHourly"),
      RateLimitDaily: value("Security.RateLimitDaily"),
      RateLimitConcurrency: value("Security.RateLimitConcurrency"),
      RefundsPerHour: value("Security.RefundsPerHour"),
      MissedTurnCost: value("Security.MissedTurnCost"),
      StatusPerMinute: value("Security.StatusPerMinute"),
      BlockVpn: value("Security.BlockVpn"),
      BlockProxy: value("Security.BlockProxy"),
      BlockTor: value("Security.BlockTor"),
      BlockDatacenter: value("Security.BlockDatacenter"),
      WebhookApiToken,
      WebhookSigningSecret,
      ConsoleToken: read.one(S["Security.ConsoleToken"].kind, "Security.ConsoleToken"),
      AllowedOrigins: list("Security.AllowedOrigins"),
      TrustedProxies: [...new Set(read.many(S["Security.TrustedProxies"].kind, "Security.TrustedProxies").flat())],
    },
    Queue: {
      MaxLength: value("Queue.MaxLength"),
      NetworkShare: value("Queue.NetworkShare"),
      DisconnectGraceSeconds: value("Queue.DisconnectGraceSeconds"),
      StartWindowSeconds: value("Queue.StartWindowSeconds"),
      MaxCallMinutes: value("Queue.MaxCallMinutes"),
      MaxTicketBytes: value("Queue.MaxTicketBytes"),
    },
    Privacy: { Addresses: value("Privacy.Addresses") },
    Server: {
      Host,
      Port: value("Server.Port"),
      // after all settings that it depends on
      AllowedHosts: undefined,
      MaxConnectionsPerAddress: value("Server.MaxConnectionsPerAddress"),
      Docs: value("Server.Docs"),
      Metrics: value("Server.Metrics"),
      PrivateHost,
      PrivatePort: value("Server.PrivatePort"),
      PrivateHosts: loopbackNames(PrivateHost),
    },
  }
  const AllowedHosts = allowedHosts(read, Host, rest.Security)
  if (place.embedded !== true) checkPrivatePort(read, rest.Server)
  return Campaigns === undefined ? undefined : { ...rest, Campaigns, Server: { ...rest.Server, AllowedHosts } }
}

/** Reads and checks settings from a file's JSON and the environment. */
export const resolveSettings = (
  json: unknown,
  env: Readonly<Record<string, string | undefined>>,
  place: Place = {},
): Result.Result<LoadedSettings, SettingsInvalid> => {
  const problems: Array<SettingProblem> = []
  const flat = flatten(json, env, problems)
  const read = makeReader(flat, problems)
  const tree = settingsOf(flat, read, place)
  problems.push(...unknownNames(flat), ...misspeltVariables(env))
  if (tree === undefined || problems.length > 0) return Result.fail(new SettingsInvalid({ problems }))
  warn(tree, read.warnings)
  return Result.succeed({ tree, warnings: read.warnings })
}
