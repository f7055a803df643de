/**
 * From the flat list to the settings tree: decoded by the schema, with the defaults that depend on other settings and the rules that
 * concern more than one. Everything that is wrong is noted before anything fails.
 */
import { Redacted, Result } from "effect"
import ipaddr from "ipaddr.js"
import { GeneralSettings, type IpProvider, type SettingsTree } from "../Settings.ts"
import { loopbackNames } from "../serving/hosts.ts"
import { readCampaigns } from "./campaigns.ts"
import { parseConnectionString } from "./connection-string.ts"
import { type Flat, flatten } from "./flat.ts"
import { type SettingProblem, SettingsInvalid } from "./problems.ts"
import { makeReader, type Reader } from "./reader.ts"
import { settingRows } from "./table.ts"
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

type General = typeof GeneralSettings.Type

const LIST_PATHS = settingRows.flatMap(({ list, path }) => (list && path.startsWith("IpIntel.Lists.") ? path : []))

/** The provider that is named, or the one that the other settings need; with what it needs itself. */
const ipProvider = (read: Reader, { BaseUrl, Provider }: General["IpIntel"]): IpProvider => {
  const lists = LIST_PATHS.some(read.has)
  const implied = read.has("IpIntel.ApiKey") || read.has("IpIntel.BaseUrl") ? "ipapi.is" : lists ? "lists" : "none"
  const provider = Provider ?? implied
  if (provider === "maxmind" && !read.has("IpIntel.BaseUrl")) {
    read.missing("IpIntel.BaseUrl", "the path of the .mmdb file, which the provider maxmind reads")
  }
  const local = provider === "maxmind" || provider === "lists" || provider === "none"
  if (!local && BaseUrl !== undefined && !/^https?:$/.test(URL.parse(BaseUrl)?.protocol ?? "")) {
    read.wrong("IpIntel.BaseUrl", `the http or https URL of ${provider}`)
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
const networkLookups = (
  read: Reader,
  { LookupsPerMinute: ofAll, NetworkLookupsPerMinute: given }: General["IpIntel"],
): number => {
  if (given !== undefined && given > ofAll) {
    read.wrong("IpIntel.NetworkLookupsPerMinute", `at most IpIntel.LookupsPerMinute, which is ${ofAll}`)
  }
  return given ?? Math.min(ofAll, Math.max(5, Math.ceil(ofAll / 10)))
}

const isLoopback = (host: string): boolean =>
  host.toLowerCase() === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback")

/**
 * The names that `Host` may have; undefined is any. On loopback without a proxy all callers are programs of this machine, which
 * call it by its own names. A proxy passes on the name that its callers know, which is not known here.
 */
const allowedHosts = ({
  Security: { AllowedOrigins, TrustedProxies },
  Server: { AllowedHosts, Host },
}: General): ReadonlyArray<string> | undefined => {
  if (AllowedHosts !== undefined) return AllowedHosts.includes("*") ? undefined : AllowedHosts
  const own = loopbackNames(Host)
  if (own === undefined || TrustedProxies.length > 0) return undefined
  return [...new Set([...own, ...AllowedOrigins.flatMap((origin) => URL.parse(origin)?.hostname ?? [])])]
}

const warn = ({ has, warnings }: Reader, tree: SettingsTree): void => {
  const { IpIntel, Security, Server } = tree
  const store = parseConnectionString(Redacted.value(tree.StoreConnectionString))
  if (!has("StoreConnectionString")) {
    warnings.push("StoreConnectionString is not set: queue and limits live in this process alone, and end with it.")
  } else if (Result.isSuccess(store)) {
    warnings.push(...store.success.warnings.map((warning) => `StoreConnectionString: ${warning}.`))
  }
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
  { Docs, Host, Metrics, Port, PrivateHost, PrivatePort }: General["Server"],
): void => {
  const isSameAddress = Host === PrivateHost || [Host, PrivateHost].some((each) => ANY_HOST.includes(each))
  if (Port === 0 || Port !== PrivatePort || !isSameAddress || ![Docs, Metrics].includes("private")) return
  read.wrong("Server.PrivatePort", `another port than Server.Port, which is ${Port} too`)
}

const checkWebhookProof = (read: Reader, { Server }: General, place: Place): void => {
  const exposure = exposureOf(read, Server.Host, place)
  if (exposure === undefined || read.has("Security.WebhookApiToken") || read.has("Security.WebhookSigningSecret"))
    return
  read.missing("Security.WebhookApiToken", `this or Security.WebhookSigningSecret: ${exposure}`)
}

const settingsOf = (flat: Flat, read: Reader, place: Place): SettingsTree | undefined => {
  const Campaigns = readCampaigns(flat, read)
  const { draft: general } = read.group({ base: "", schema: GeneralSettings, draft: GeneralSettings })
  // something that is required is missing
  if (general === undefined) return undefined
  const { IpIntel, Server } = general
  checkWebhookProof(read, general, place)
  if (place.embedded !== true) checkPrivatePort(read, Server)
  const resolved = {
    ...general,
    IpIntel: {
      ...IpIntel,
      Provider: ipProvider(read, IpIntel),
      NetworkLookupsPerMinute: networkLookups(read, IpIntel),
    },
    Server: { ...Server, AllowedHosts: allowedHosts(general), PrivateHosts: loopbackNames(Server.PrivateHost) },
  }
  return Campaigns && { ...resolved, Campaigns }
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
  warn(read, tree)
  return Result.succeed({ tree, warnings: read.warnings })
}
