/**
 * Turns the flat list into the settings tree: decodes it by the schema, fills in defaults that depend on other settings, and checks
 * rules across settings. All problems are collected before it fails.
 */
import { Redacted, Result } from "effect"
import { type IpProvider, isHttpProvider, needsKey } from "../../ip-intel/provider-kinds.ts"
import { isLoopback, loopbackNames } from "../../lib/ip/loopback.ts"
import { hasDefaultPlatform } from "../../platform-api/vendors.ts"
import { BLOCKS, isInForce } from "../../protocol/block-reasons.ts"
import { parseConnectionString } from "../../store/connection-string.ts"
import { likelyMistakes, likelyMistakesIn } from "../mistakes/likely-mistakes.ts"
import { placeholders } from "../mistakes/placeholders.ts"
import { misspeltVariables, unknownNames } from "../mistakes/unknown.ts"
import { type SettingProblem, SettingsInvalid } from "../problems.ts"
import { GeneralSettings, type SettingsTree } from "../Settings.ts"
import { settingRows } from "../showing/table.ts"
import { type Flat, flatten } from "../sources/flat.ts"
import type { Variables } from "../sources/variables.ts"
import { type CampaignDraft, readCampaigns, usesDefaultPlatform } from "./campaigns.ts"
import { makeReader } from "./make-reader.ts"
import type { Reader } from "./reader.ts"

/** Valid settings, and warnings for the operator. */
export interface LoadedSettings {
  readonly tree: SettingsTree
  readonly warnings: ReadonlyArray<string>
}

/** Where the gate runs. */
export interface Place {
  /** Inside a host application's server: then `Server.Host` does not determine who can reach the gate. */
  readonly embedded?: boolean
  /** where the JSON is from, for messages; by default `in the settings file` */
  readonly where?: string
  /** The services that the host provides itself, so that their settings are not used. */
  readonly own?: {
    readonly ipIntel?: boolean
    readonly platform?: boolean
    readonly store?: boolean
  }
}

type General = typeof GeneralSettings.Type

const LIST_PATHS = settingRows.flatMap(({ list, path }) => (list && path.startsWith("IpIntel.Lists.") ? path : []))

/** The provider that is set or that follows from other settings; reports settings that it needs. */
const ipProvider = (read: Reader, { BaseUrl, Provider }: General["IpIntel"]): IpProvider => {
  const lists = LIST_PATHS.some(read.has)
  const implied = read.has("IpIntel.ApiKey") || read.has("IpIntel.BaseUrl") ? "ipapi.is" : lists ? "lists" : "none"
  const provider = Provider ?? implied
  if (provider === "maxmind" && !read.has("IpIntel.BaseUrl")) {
    read.reportMissing("IpIntel.BaseUrl", "the path of the .mmdb file, which the provider maxmind reads")
  }
  if (isHttpProvider(provider) && BaseUrl !== undefined && !/^https?:$/.test(URL.parse(BaseUrl)?.protocol ?? "")) {
    read.reportInvalid("IpIntel.BaseUrl", `the http or https URL of ${provider}`)
  }
  if (needsKey(provider) && !read.has("IpIntel.ApiKey")) {
    read.reportMissing("IpIntel.ApiKey", `a key, which the provider ${provider} needs`)
  }
  if (provider === "lists" && !lists) {
    read.reportMissing("IpIntel.Lists", `at least one of ${LIST_PATHS.join(", ")}, which the provider lists reads`)
  }
  return provider
}

/** Settings of identity that need others. */
const checkIdentity = (
  read: Reader,
  { Identity }: General,
  campaigns: ReadonlyArray<CampaignDraft>,
  { embedded = false }: Place,
): void => {
  const { Audience, JwksUrl, Required, Secrets, SingleUse } = Identity
  if (JwksUrl !== undefined && Audience === undefined && !read.has("Identity.Audience")) {
    read.reportMissing(
      "Identity.Audience",
      "what the claim aud of the tokens says, which Identity.JwksUrl needs: the same server signs for others too",
    )
  }
  const isOff =
    Secrets.length === 0 &&
    JwksUrl === undefined &&
    !["Secrets", "JwksUrl"].some((name) => read.has(`Identity.${name}`))
  // a host may say itself who calls
  if (!isOff || embedded) return
  const needing = [
    ...(Required ? ["Identity.Required"] : []),
    ...campaigns.flatMap((campaign) =>
      campaign.IdentityRequired === true ? [`IdentityRequired of the campaign ${campaign.name}`] : [],
    ),
    ...(SingleUse ? ["Identity.SingleUse"] : []),
  ]
  if (needing.length > 0) {
    read.reportMissing("Identity.Secrets", `secrets, or Identity.JwksUrl, which ${needing.join(" and ")} needs`)
  }
}

/** The lookups per minute of one network: the setting, else a tenth, but enough for a large office. */
const networkLookups = (
  read: Reader,
  { LookupsPerMinute: ofAll, NetworkLookupsPerMinute: given }: General["IpIntel"],
): number => {
  if (given !== undefined && given > ofAll) {
    read.reportInvalid("IpIntel.NetworkLookupsPerMinute", `at most IpIntel.LookupsPerMinute, which is ${ofAll}`)
  }
  return given ?? Math.min(ofAll, Math.max(5, Math.ceil(ofAll / 10)))
}

/**
 * The allowed names in `Host`; undefined allows any. On loopback without a proxy all callers are programs on this machine, which use
 * its own names. A proxy forwards the name that its clients use, which the gate does not know.
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

/** The settings of a service that are of no effect when the host provides it. */
const unused = (read: Reader, paths: ReadonlyArray<string>, service: string): ReadonlyArray<string> => {
  const given = paths.filter(read.has)
  return given.length === 0
    ? []
    : [`${given.join(", ")}: not used, because the host application has its own ${service}.`]
}

const warnOfStore = ({ has, warnings }: Reader, tree: SettingsTree): void => {
  const store = parseConnectionString(Redacted.value(tree.StoreConnectionString))
  if (!has("StoreConnectionString")) {
    warnings.push(
      "StoreConnectionString is not set: queue and limits exist in this process only and are lost when it ends.",
    )
  } else if (Result.isSuccess(store)) {
    warnings.push(...store.success.warnings.map((warning) => `StoreConnectionString: ${warning}.`))
  }
}

const warnOfPlatform = ({ warnings }: Reader, tree: SettingsTree): void => {
  for (const { name, BaseUrl } of tree.Campaigns) {
    const { protocol, hostname } = new URL(BaseUrl)
    if (protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/g, ""))) {
      warnings.push(
        `The platform's key of the campaign ${name} is sent over the network unencrypted: its BaseUrl is http.`,
      )
    }
  }
}

/** How a slot comes free while webhooks are refused. */
const withoutWebhooks = (minutes: number): string =>
  "Security.WebhookApiToken and Security.WebhookSigningSecret are not set: webhooks of ended sessions are refused. " +
  "Meanwhile a slot comes free when the platform says that its call is over: the gate asks when the caller's page reports the end, and once a minute about " +
  `calls older than 3 minutes, where the key may read them; at the latest, Queue.MaxCallMinutes (${minutes}) after the start.`

const warnOfWebhooks = ({ warnings }: Reader, tree: SettingsTree): void => {
  const { Queue, Security, Server } = tree
  const isProven = Security.WebhookApiToken.length + Security.WebhookSigningSecret.length > 0
  if (isProven || !hasDefaultPlatform(tree)) return
  warnings.push(
    Security.LocalWebhooks
      ? `Anyone who can reach ${Server.Host} can end sessions: no Security.WebhookApiToken is set.`
      : withoutWebhooks(Queue.MaxCallMinutes),
  )
}

const warn = (read: Reader, tree: SettingsTree, { embedded = false, own = {} }: Place): void => {
  const { warnings } = read
  const { IpIntel, Security } = tree
  if (embedded && read.has("Server.BasePath")) {
    warnings.push(
      "Server.BasePath: not used inside a host application, whose mount path is `basePath` of `createGate`.",
    )
  }
  if (own.store === true) warnings.push(...unused(read, ["StoreConnectionString"], "store"))
  else warnOfStore(read, tree)
  if (own.platform !== true) warnOfPlatform(read, tree)
  if (own.ipIntel === true) {
    warnings.push(...unused(read, ["IpIntel.Provider", "IpIntel.ApiKey", "IpIntel.BaseUrl"], "ipIntel"))
  } else if (IpIntel.Provider === "none" && Object.values(BLOCKS).some(({ setting }) => isInForce(Security[setting]))) {
    warnings.push("IpIntel.Provider is none: addresses are not looked up, so Security.Block… refuses nobody.")
  }
  // such a host reports the end of a session by `sessionEnded`
  if (own.platform !== true) warnOfWebhooks(read, tree)
  if (Security.AllowedOrigins.includes("*")) {
    warnings.push("Security.AllowedOrigins contains *: any web page may use the gate.")
  }
}

/** Whether only programs on this machine can reach the webhook. */
const isLocal = ({ Security: { TrustedProxies }, Server: { Host } }: General, { embedded = false }: Place): boolean =>
  !embedded && isLoopback(Host) && TrustedProxies.length === 0

const ANY_HOST = ["0.0.0.0", "::"]

/** Reports a private port that equals the public one on the same address, since the start would fail. */
const checkPrivatePort = (
  read: Reader,
  { Docs, Host, Metrics, Port, PrivateHost, PrivatePort }: General["Server"],
): void => {
  const isSameAddress = Host === PrivateHost || [Host, PrivateHost].some((each) => ANY_HOST.includes(each))
  if (Port === 0 || Port !== PrivatePort || !isSameAddress || ![Docs, Metrics].includes("private")) return
  read.reportInvalid("Server.PrivatePort", `a port other than Server.Port, which is also ${Port}`)
}

/** Reports a campaign whose calls may last longer than a slot is held. */
const checkCallLengths = (read: Reader, campaigns: ReadonlyArray<CampaignDraft>, { Queue }: General): void => {
  const longest = Queue.MaxCallMinutes * 60
  for (const { MaxCallSeconds, name } of campaigns) {
    const own = name === "default" ? "" : `Campaigns.${name}.`
    const path = `VoiceAiPlatform.${own}MaxCallSeconds`
    // an inherited one is reported where it is set
    if (MaxCallSeconds === undefined || MaxCallSeconds <= longest || !read.has(path)) continue
    read.reportInvalid(path, `at most Queue.MaxCallMinutes, which is ${Queue.MaxCallMinutes} (${longest} s)`)
  }
}

const settingsOf = (flat: Flat, read: Reader, place: Place): SettingsTree | undefined => {
  const { campaigns: Campaigns, drafts } = readCampaigns(flat, read)
  const { draft: general } = read.group({ base: "", schema: GeneralSettings, draft: GeneralSettings })
  // a required setting is missing
  if (general === undefined) return undefined
  const { IpIntel, Security, Server } = general
  if (place.embedded !== true) checkPrivatePort(read, Server)
  checkIdentity(read, general, drafts, place)
  const resolved = {
    ...general,
    IpIntel: {
      ...IpIntel,
      Provider: ipProvider(read, IpIntel),
      NetworkLookupsPerMinute: networkLookups(read, IpIntel),
    },
    // the webhooks of vendors are authenticated by the vendors' own keys
    Security: { ...Security, LocalWebhooks: isLocal(general, place) && usesDefaultPlatform(flat) },
    Server: { ...Server, AllowedHosts: allowedHosts(general), PrivateHosts: loopbackNames(Server.PrivateHost) },
  }
  checkCallLengths(read, drafts, general)
  return Campaigns && { ...resolved, Campaigns }
}

/** Decodes and checks settings from a file's JSON and the environment. */
export const resolveSettings = (
  json: unknown,
  variables: Variables,
  place: Place = {},
): Result.Result<LoadedSettings, SettingsInvalid> => {
  const problems: Array<SettingProblem> = []
  const notes: Array<string> = []
  const file = place.where ?? "in the settings file"
  const flat = flatten(json, variables, problems, file, notes)
  const read = makeReader(flat, problems)
  const tree = settingsOf(flat, read, place)
  read.reportInherited()
  problems.push(...unknownNames(flat, json, file), ...misspeltVariables(variables.values))
  const mistakes = [...placeholders(flat), ...likelyMistakes(flat)]
  // a mistake explains better than the check of the value's form
  const all = [...problems.filter(({ path }) => !mistakes.some((each) => each.path === path)), ...mistakes]
  if (tree === undefined || all.length > 0) return Result.fail(new SettingsInvalid({ problems: all }))
  read.warnings.push(...notes)
  warn(read, tree, place)
  read.warnings.push(...likelyMistakesIn(read, tree, { flat, json, variables, file }))
  return Result.succeed({ tree, warnings: read.warnings })
}
