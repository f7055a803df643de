/**
 * Every setting with its path, kind, default and one line of description: the one source of what is read, of what
 * `--help` prints and of what the README lists.
 */
import * as Kinds from "./kinds.ts"

/** One setting. `presence` decides what a reader gets when it is absent. */
export interface Setting<A, P extends "required" | "optional" | "default" | "list"> {
  readonly kind: Kinds.Kind<A>
  readonly presence: P
  readonly fallback: A | undefined
  /** the default in words, where it is not a value */
  readonly otherwise: string
  readonly description: string
}

const required = <A>(kind: Kinds.Kind<A>, description: string): Setting<A, "required"> => ({
  kind,
  presence: "required",
  fallback: undefined,
  otherwise: "required",
  description,
})

const optional = <A>(kind: Kinds.Kind<A>, otherwise: string, description: string): Setting<A, "optional"> => ({
  kind,
  presence: "optional",
  fallback: undefined,
  otherwise,
  description,
})

const withDefault = <A>(
  kind: Kinds.Kind<A>,
  fallback: A,
  description: string,
): Setting<A, "default"> & { readonly fallback: A } => ({
  kind,
  presence: "default",
  fallback,
  otherwise: String(fallback),
  description,
})

const list = <A>(kind: Kinds.Kind<A>, otherwise: string, description: string): Setting<A, "list"> => ({
  kind,
  presence: "list",
  fallback: undefined,
  otherwise,
  description,
})

const seconds = Kinds.wholeNumber(1, 3600)
const calls = Kinds.wholeNumber(0, 1_000_000)

const PLACE = Kinds.oneOf(["public", "private", "off"])

/** What a campaign has, below `VoiceAiPlatform` and below `VoiceAiPlatform.Campaigns.{name}`. */
export const CAMPAIGN_SETTINGS = {
  ApiSecretToken: required(Kinds.platformKey, "the platform's API key"),
  BaseUrl: required(Kinds.baseUrl, "address of the platform's API, such as https://platform.example/api/v1"),
  BusinessId: required(Kinds.identifier, "business of the campaign"),
  WebCampaignId: required(Kinds.identifier, "the web campaign"),
  DefaultRegionId: required(Kinds.identifier, "region of a request that names none"),
  AllowedRegionIds: list(Kinds.identifier, "the default region", "regions that a request may name"),
  AllowedTransportTypes: list(
    Kinds.transport,
    "websocket",
    "transports that a request may name, of which the first is the default: websocket, webrtc",
  ),
  MaxConcurrency: optional(Kinds.wholeNumber(1, 1_000_000), "from the platform", "slots: how many calls at once"),
} as const

/** Everything else, by its whole path. */
export const SETTINGS = {
  StoreConnectionString: optional(
    Kinds.connectionString,
    "memory:",
    "redis://, rediss://, redis+sentinel://, redis+cluster://, host:port,password=… as .NET writes it, or memory:",
  ),
  "IpIntel.Provider": optional(
    Kinds.provider,
    "ipapi.is with a key or address, else lists when there are any, else none",
    "who says what an address is: ipapi.is, proxycheck.io, vpnapi.io, ip2location.io, ipinfo.io, maxmind, lists, none",
  ),
  "IpIntel.ApiKey": optional(Kinds.providerKey, "none", "the provider's key"),
  "IpIntel.BaseUrl": optional(Kinds.text, "the provider's own", "the provider's address; for maxmind the .mmdb file"),
  "IpIntel.OnError": withDefault(
    Kinds.oneOf(["allow", "block"]),
    "allow",
    "allow or block when the provider fails or leaves open a fact that is blocked",
  ),
  "IpIntel.CacheDays": withDefault(Kinds.wholeNumber(1, 365), 14, "how long an answer is kept"),
  "IpIntel.LookupsPerMinute": withDefault(Kinds.wholeNumber(1, 1_000_000), 600, "beyond it OnError decides"),
  "IpIntel.NetworkLookupsPerMinute": optional(
    Kinds.wholeNumber(1, 1_000_000),
    "a tenth of LookupsPerMinute, at least 5",
    "of them for one network (/24, IPv6 /48); beyond it OnError decides for that network alone",
  ),
  "IpIntel.TimeoutMillis": withDefault(Kinds.wholeNumber(50, 60_000), 2000, "how long one lookup may take"),
  "IpIntel.Lists.Vpn": list(Kinds.text, "none", "files or addresses of VPN ranges, a CIDR a line"),
  "IpIntel.Lists.Datacenter": list(Kinds.text, "none", "the same for datacenters"),
  "IpIntel.Lists.Tor": list(Kinds.text, "none", "the same for Tor exits"),
  "IpIntel.Lists.Relay": list(Kinds.text, "none", "the same for privacy relays, which are no VPN"),
  "IpIntel.Lists.RefreshHours": withDefault(Kinds.wholeNumber(1, 8760), 24, "how often lists are read again"),
  "Security.RateLimitHourly": withDefault(calls, 20, "sessions an hour and address; 0 is no limit"),
  "Security.RateLimitDaily": withDefault(calls, 100, "sessions a day and address; 0 is no limit"),
  "Security.RateLimitConcurrency": withDefault(calls, 3, "tickets open at once and address; 0 is no limit"),
  "Security.RefundsPerHour": withDefault(calls, 10, "units given back an hour and address; 0 gives nothing back"),
  "Security.StatusPerMinute": withDefault(
    calls,
    120,
    "questions after tickets, and hub connections, a minute and address, five times that a network; 0 is no limit",
  ),
  "Security.MissedTurnCost": withDefault(
    Kinds.wholeNumber(1, 100),
    3,
    "units of hour and day that a missed turn costs",
  ),
  "Security.BlockVpn": withDefault(Kinds.flag, true, "refuse VPN addresses"),
  "Security.BlockProxy": withDefault(Kinds.flag, true, "refuse open and residential proxies"),
  "Security.BlockTor": withDefault(Kinds.flag, true, "refuse Tor exits"),
  "Security.BlockDatacenter": withDefault(Kinds.flag, false, "refuse datacenter addresses"),
  "Security.WebhookApiToken": list(
    Kinds.webhookToken,
    "this or the next, unless only loopback is served",
    "X-Api-Token of the platform's webhook; several for rotation",
  ),
  "Security.WebhookSigningSecret": list(
    Kinds.signingSecret,
    "this or the previous",
    "Standard Webhooks secret (whsec_…); several for rotation",
  ),
  "Security.ConsoleToken": optional(
    Kinds.consoleToken,
    "off",
    "opens the operator's console at /console; none without it",
  ),
  "Security.AllowedOrigins": list(Kinds.origin, "none", "origins of pages that may use the gate, or *"),
  "Security.TrustedProxies": list(Kinds.proxies, "none", "addresses and CIDRs, loopback, private"),
  "Queue.MaxLength": withDefault(Kinds.wholeNumber(0, 10_000_000), 10_000, "tickets that may wait in a campaign"),
  "Queue.NetworkShare": withDefault(
    Kinds.fraction(0.01),
    0.25,
    "of slots and scarce places for one network (IPv6 /48, IPv4 /24) while others wait; 1 is no limit",
  ),
  "Queue.DisconnectGraceSeconds": withDefault(seconds, 30, "how long a place outlives its connection"),
  "Queue.StartWindowSeconds": withDefault(seconds, 30, "how long a called ticket may take to start"),
  "Queue.MaxCallMinutes": withDefault(Kinds.wholeNumber(1, 1440), 120, "the longest call; its slot is reclaimed then"),
  "Queue.MaxTicketBytes": withDefault(
    Kinds.wholeNumber(256, 65_536),
    8192,
    "the most a request's variables, metadata and identifier may be together, in bytes of UTF-8",
  ),
  "Privacy.Addresses": withDefault(
    Kinds.oneOf(["plain", "hashed"]),
    "plain",
    "how callers' addresses are stored and logged: plain, or hashed with a key that changes every week",
  ),
  "Server.Host": withDefault(Kinds.host, "0.0.0.0", "address to listen on"),
  "Server.Port": withDefault(Kinds.wholeNumber(0, 65_535), 8080, "port to listen on; 0 is any free one"),
  "Server.AllowedHosts": list(
    Kinds.allowedHost,
    "names of this machine and of Security.AllowedOrigins on loopback without Security.TrustedProxies, else *",
    "names that a request's Host may have, or * for any",
  ),
  "Server.MaxConnectionsPerAddress": withDefault(
    Kinds.wholeNumber(0, 1_000_000),
    256,
    "open connections of an address (IPv6 /64) that is no trusted proxy; 0 is no limit",
  ),
  "Server.Docs": withDefault(
    PLACE,
    "public",
    "where /docs and /openapi.json are: public, private (Server.PrivatePort), off",
  ),
  "Server.Metrics": withDefault(PLACE, "public", "where /metrics is: public, private (Server.PrivatePort), off"),
  "Server.PrivateHost": withDefault(Kinds.host, "127.0.0.1", "address of the private port"),
  "Server.PrivatePort": withDefault(
    Kinds.wholeNumber(0, 65_535),
    8081,
    "port of what is private; nothing listens there while nothing is",
  ),
} as const

/** One line of the table of settings. */
export interface SettingRow {
  readonly path: string
  readonly default: string
  readonly description: string
}

const row = ([path, { otherwise, description }]: [
  string,
  { readonly otherwise: string; readonly description: string },
]) => ({
  path,
  default: otherwise,
  description,
})

/** All settings in the order of the README's table. */
export const settingRows: ReadonlyArray<SettingRow> = [
  ...Object.entries(SETTINGS).slice(0, 1).map(row),
  ...Object.entries(CAMPAIGN_SETTINGS).map(([name, setting]) => row([`VoiceAiPlatform.${name}`, setting])),
  {
    path: "VoiceAiPlatform.Campaigns.{name}.*",
    default: "none",
    description: "further campaigns, the same settings; all but WebCampaignId and MaxConcurrency are inherited",
  },
  ...Object.entries(SETTINGS).slice(1).map(row),
]
