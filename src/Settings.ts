/**
 * The settings tree, as every layer reads it: validated, resolved, with defaults filled in. Names are those the operator
 * writes. How it is read from a file and the environment is `settings/`.
 */
import { Context, type Redacted } from "effect"

/** How a browser talks to the agent; each transport's place in this list is its `transportType` on the wire. */
export const TRANSPORTS = ["websocket", "webrtc"] as const
export type Transport = (typeof TRANSPORTS)[number]

/** One web campaign of the platform: what has slots and a queue. */
export interface Campaign {
  /** `default`, or the name under `VoiceAiPlatform.Campaigns` */
  readonly name: string
  readonly ApiSecretToken: Redacted.Redacted<string>
  /** ends in exactly one slash */
  readonly BaseUrl: string
  readonly BusinessId: string
  readonly WebCampaignId: string
  readonly DefaultRegionId: string
  /** never empty, contains the default region */
  readonly AllowedRegionIds: ReadonlyArray<string>
  /** never empty; the first is that of a request which names none */
  readonly AllowedTransportTypes: ReadonlyArray<Transport>
  /** slots; undefined: from the platform's figures */
  readonly MaxConcurrency: number | undefined
}

export const IP_PROVIDERS = [
  "ipapi.is",
  "proxycheck.io",
  "vpnapi.io",
  "ip2location.io",
  "ipinfo.io",
  "maxmind",
  "lists",
  "none",
] as const
export type IpProvider = (typeof IP_PROVIDERS)[number]

export interface SettingsTree {
  readonly StoreConnectionString: Redacted.Redacted<string>
  /** the default campaign first; names are unique */
  readonly Campaigns: readonly [Campaign, ...ReadonlyArray<Campaign>]
  readonly IpIntel: {
    readonly Provider: IpProvider
    readonly ApiKey: Redacted.Redacted<string> | undefined
    /** replaces the provider's own address; for maxmind the path of the .mmdb file */
    readonly BaseUrl: string | undefined
    readonly OnError: "allow" | "block"
    readonly CacheDays: number
    readonly LookupsPerMinute: number
    /** of them for one network, the /24 of IPv4 or the /48 of IPv6 */
    readonly NetworkLookupsPerMinute: number
    readonly TimeoutMillis: number
    /** the offline lists: files (or http addresses, refreshed on a schedule) of CIDRs and addresses, one a line */
    readonly Lists: {
      readonly Vpn: ReadonlyArray<string>
      readonly Datacenter: ReadonlyArray<string>
      readonly Tor: ReadonlyArray<string>
      readonly Relay: ReadonlyArray<string>
      readonly RefreshHours: number
    }
  }
  readonly Security: {
    readonly RateLimitHourly: number
    readonly RateLimitDaily: number
    /** tickets of one address that are open at once; 0 is no limit, here and in the two above */
    readonly RateLimitConcurrency: number
    /** units that are given back to one address within any hour, at most */
    readonly RefundsPerHour: number
    /** units of the hour and the day that a missed turn costs in all */
    readonly MissedTurnCost: number
    /** how often one address may ask for the state of tickets in a minute, and its network five times as often; 0 is no limit */
    readonly StatusPerMinute: number
    readonly BlockVpn: boolean
    readonly BlockProxy: boolean
    readonly BlockTor: boolean
    readonly BlockDatacenter: boolean
    /** any of them passes: two at once for rotation */
    readonly WebhookApiToken: ReadonlyArray<Redacted.Redacted<string>>
    /** Standard Webhooks secrets, `whsec_` and base64; any of them passes */
    readonly WebhookSigningSecret: ReadonlyArray<Redacted.Redacted<string>>
    /** opens the operator's console; undefined: there is none */
    readonly ConsoleToken: Redacted.Redacted<string> | undefined
    /** exact origins such as `https://shop.example`, or `*` */
    readonly AllowedOrigins: ReadonlyArray<string>
    /** addresses and CIDRs */
    readonly TrustedProxies: ReadonlyArray<string>
  }
  readonly Queue: {
    readonly MaxLength: number
    /** of the slots, and of the free places of a queue that is half full, for one network; above 0, 1 is no limit */
    readonly NetworkShare: number
    readonly DisconnectGraceSeconds: number
    readonly StartWindowSeconds: number
    readonly MaxCallMinutes: number
    /** bytes of UTF-8: the most text that a caller may choose for one ticket */
    readonly MaxTicketBytes: number
  }
  readonly Privacy: {
    /** how callers' addresses are stored, logged and shown */
    readonly Addresses: "plain" | "hashed"
  }
  readonly Server: {
    readonly Host: string
    readonly Port: number
    /** names that `Host` may have, in lower case and without port; undefined is any */
    readonly AllowedHosts: ReadonlyArray<string> | undefined
    /** open connections of an address (IPv6 by /64), trusted proxies apart; 0 is no limit */
    readonly MaxConnectionsPerAddress: number
    /** where the documents that describe the wire are served */
    readonly Docs: "public" | "private" | "off"
    readonly Metrics: "public" | "private" | "off"
    /** where what is private is served */
    readonly PrivateHost: string
    readonly PrivatePort: number
    /** as AllowedHosts, for the private port */
    readonly PrivateHosts: ReadonlyArray<string> | undefined
  }
}

export class Settings extends Context.Service<Settings, SettingsTree>()("voicegate/Settings") {}
