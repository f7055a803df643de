/**
 * The settings file's shape as a type, for hosts that write settings in code. It helps while typing; what counts is the
 * check when the gate is created, which reports every problem at once, with its path.
 */

/** Empty and absent are the same, so that `process.env.NAME` can be given as it is. */
type Text = string | undefined
type Amount = number | string | undefined
type Switch = boolean | string | undefined
/** one or several */
type Texts = string | ReadonlyArray<string> | undefined

/** A campaign below `VoiceAiPlatform`, or a further one, which inherits what it leaves out. */
export interface CampaignSettings {
  /** the platform's API key */
  readonly ApiSecretToken?: Text
  /** the platform's API, such as `https://platform.example/api/v1` */
  readonly BaseUrl?: Text
  readonly BusinessId?: Text
  readonly WebCampaignId?: Text
  /** region of a request that names none */
  readonly DefaultRegionId?: Text
  /** regions that a request may name; the default region when absent */
  readonly AllowedRegionIds?: Texts
  /** transports that a request may name, `websocket` and `webrtc`; `websocket` when absent */
  readonly AllowedTransportTypes?: Texts
  /** slots: calls at once; from the platform when absent, which needs a key with user management */
  readonly MaxConcurrency?: Amount
}

/** Settings of the gate. Secrets stay in the process and are never printed. */
export interface GateSettings {
  /** `redis://…`, `rediss://…`, `redis+sentinel://…`, `redis+cluster://…`; `memory:` when absent */
  readonly StoreConnectionString?: Text
  readonly VoiceAiPlatform: CampaignSettings & {
    readonly Campaigns?: Readonly<Record<string, CampaignSettings>>
  }
  readonly IpIntel?: {
    /** ipapi.is, proxycheck.io, vpnapi.io, ip2location.io, ipinfo.io, maxmind, lists, none */
    readonly Provider?: Text
    readonly ApiKey?: Text
    readonly BaseUrl?: Text
    /** what happens to callers when the provider fails: `allow` (when absent) or `block` */
    readonly OnError?: Text
    readonly CacheDays?: Amount
    readonly LookupsPerMinute?: Amount
    /** of them for one network (/24, IPv6 /48), a tenth of `LookupsPerMinute` and at least 5 when absent */
    readonly NetworkLookupsPerMinute?: Amount
    readonly TimeoutMillis?: Amount
    readonly Lists?: {
      readonly Vpn?: Texts
      readonly Datacenter?: Texts
      readonly Tor?: Texts
      readonly Relay?: Texts
      readonly RefreshHours?: Amount
    }
  }
  readonly Security?: {
    /** sessions an hour and address, 20 when absent; 0 is no limit */
    readonly RateLimitHourly?: Amount
    /** sessions a day and address, 100 when absent; 0 is no limit */
    readonly RateLimitDaily?: Amount
    /** tickets open at once and address, 3 when absent; 0 is no limit */
    readonly RateLimitConcurrency?: Amount
    /** units given back an hour and address, 10 when absent */
    readonly RefundsPerHour?: Amount
    /** units of the hour and the day that a missed turn costs, 3 when absent */
    readonly MissedTurnCost?: Amount
    /** questions after tickets a minute and address, 120 when absent; 0 is no limit */
    readonly StatusPerMinute?: Amount
    readonly BlockVpn?: Switch
    readonly BlockProxy?: Switch
    readonly BlockTor?: Switch
    readonly BlockDatacenter?: Switch
    /** `X-Api-Token` of the platform's webhook; this or the next, unless `Server.Host` is a loopback address */
    readonly WebhookApiToken?: Texts
    /** Standard Webhooks secrets (`whsec_…`) */
    readonly WebhookSigningSecret?: Texts
    /** opens the operator's console at `console` below the mount path; none without it */
    readonly ConsoleToken?: Text
    /** origins of pages that may use the gate beside the host's own */
    readonly AllowedOrigins?: Texts
    /** addresses and CIDRs whose `X-Forwarded-For` is believed */
    readonly TrustedProxies?: Texts
  }
  readonly Queue?: {
    readonly MaxLength?: Amount
    /** of slots and scarce places for one network while others wait, 0.25 when absent; 1 is no limit */
    readonly NetworkShare?: Amount
    readonly DisconnectGraceSeconds?: Amount
    readonly StartWindowSeconds?: Amount
    readonly MaxCallMinutes?: Amount
    /** the most a request's variables, metadata and identifier may be together, in bytes of UTF-8; 8192 when absent */
    readonly MaxTicketBytes?: Amount
  }
  /** where the host listens: the gate does not listen itself, but a loopback address allows webhooks without proof */
  readonly Privacy?: {
    /** how callers' addresses are stored and logged: `plain` (when absent), or `hashed` with a key that changes every week */
    readonly Addresses?: Text
  }
  readonly Server?: {
    readonly Host?: Text
    readonly Port?: Amount
    /** names that a request's `Host` may have, or `*`; any when absent, unless `Host` is a loopback address */
    readonly AllowedHosts?: Texts
    /** of no effect here: the connections are the host's own */
    readonly MaxConnectionsPerAddress?: Amount
    /** `public` (when absent), `private` (served by `gate.privateHandler` alone) or `off`: `/docs` and `/openapi.json` */
    readonly Docs?: Text
    /** the same for `/metrics` */
    readonly Metrics?: Text
    /** of no effect here, as the next: the host listens where it likes */
    readonly PrivateHost?: Text
    readonly PrivatePort?: Amount
  }
}
