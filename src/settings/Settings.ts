/**
 * The settings: one annotated schema, with one file per group in `settings/groups`. Each setting is declared once, with its
 * type, default, check and description. The tree that layers read, the type of `createGate`, `--help`,
 * `docs/configuration.md`, the JSON Schema and the example are derived from it. `settings/` reads it from a file and the
 * environment.
 */
import { Context, Schema, Struct } from "effect"
import type { VendorSettings } from "../platform-api/vendors.ts"
import type { CampaignAccount } from "./groups/account.ts"
import type { Budgeted } from "./groups/budgets.ts"
import { CampaignSettings, FurtherCampaigns, type PlatformCampaign } from "./groups/campaign.ts"
import type { CampaignEvents } from "./groups/events.ts"
import type { CampaignHours } from "./groups/hours.ts"
import { IdentitySettings } from "./groups/identity.ts"
import { IpIntelSettings } from "./groups/ip-intel.ts"
import type { CampaignOverflow } from "./groups/overflow.ts"
import { QueueSettings } from "./groups/queue.ts"
import { SecuritySettings } from "./groups/security.ts"
import { ServerSettings } from "./groups/server.ts"
import { withDefault } from "./setting.ts"
import { connectionString } from "./values/secret.ts"
import { oneOf } from "./values/values.ts"

/** The settings, in the shape of the settings file. Environment variables override the file before it is decoded. */
export const SettingsFile = Schema.Struct({
  StoreConnectionString: withDefault(connectionString, "memory:", {
    description:
      "`redis://`, `rediss://`, `redis+sentinel://h1:p1,h2:p2/master`, `redis+cluster://h1:p1,h2:p2`, `host:port,password=…` as .NET writes it, or `memory:`",
    documentation:
      "`rediss://` and `rediss+…` use TLS, also to the Sentinels. Several hosts in the .NET form are a primary with its replicas, or a Cluster: the gate asks the servers which, and writes to the primary only. In a URL, percent-encode `/ ? # @` in the password. A password with a comma needs a URL. `?keyPrefix=app:` in a URL, or `,keyPrefix=app:`, begins all [keys and channels](redis.md#redis) of the gate",
  }),
  VoiceAiPlatform: Schema.Struct({ ...CampaignSettings.fields, Campaigns: FurtherCampaigns }),
  IpIntel: IpIntelSettings,
  Security: SecuritySettings,
  Identity: IdentitySettings,
  Queue: QueueSettings,
  Privacy: Schema.Struct({
    Addresses: withDefault(oneOf(["plain", "hashed"]), "plain", {
      shared: true,
      description:
        "how callers' addresses are stored, logged and shown: `plain`, or `hashed` with a key that changes every week",
      documentation: "See [Personal data](privacy.md#personal-data)",
    }),
  }),
  Server: ServerSettings,
})

/** All settings except those of campaigns, which inherit from one another. */
export const GeneralSettings = SettingsFile.mapFields(Struct.omit(["VoiceAiPlatform"]))

/** With a value for optional settings whose default depends on other settings. */
type Resolved<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]-?: Exclude<T[P], undefined> }

/** The settings that a campaign need not have. */
type OptionalSetting =
  | "Hours"
  | "IdentityRequired"
  | "MaxCallSeconds"
  | "Overflow"
  | "SilenceSeconds"
  | "VendorEndsAfterMinutes"

/**
 * One web campaign of a platform; it has slots and a queue. A campaign of a vendor has that vendor's settings, and the vendor's address,
 * key and agent in the fields of the default platform.
 */
export interface Campaign
  extends Omit<Resolved<typeof PlatformCampaign.Type, "AllowedRegionIds">, OptionalSetting>,
    VendorSettings,
    Budgeted {
  /** `default`, or the name under `VoiceAiPlatform.Campaigns` */
  readonly name: string
  readonly SilenceSeconds?: (typeof PlatformCampaign.Type)["SilenceSeconds"]
  /** absent: as `Identity.Required` says */
  readonly IdentityRequired?: (typeof PlatformCampaign.Type)["IdentityRequired"]
  /** absent for a campaign that is always open */
  readonly Hours?: CampaignHours
  /** absent for a campaign that offers nothing to callers who would wait long */
  readonly Overflow?: CampaignOverflow
  readonly MaxCallSeconds?: (typeof PlatformCampaign.Type)["MaxCallSeconds"]
  readonly VendorEndsAfterMinutes?: (typeof PlatformCampaign.Type)["VendorEndsAfterMinutes"]
  /** absent for a campaign that shares no account */
  readonly Account?: CampaignAccount
  /** absent for a campaign that reports no events */
  readonly Events?: CampaignEvents
}

/** The settings as layers read them: validated, with defaults filled in. Names are as the operator writes them. */
export interface SettingsTree extends Omit<typeof GeneralSettings.Type, "IpIntel" | "Security" | "Server"> {
  /** the default campaign comes first; names are unique */
  readonly Campaigns: readonly [Campaign, ...ReadonlyArray<Campaign>]
  readonly IpIntel: Resolved<typeof IpIntelSettings.Type, "Provider" | "NetworkLookupsPerMinute">
  readonly Security: typeof SecuritySettings.Type & {
    /** whether webhooks from this machine are accepted while no token and no secret is set: only this machine reaches the gate */
    readonly LocalWebhooks: boolean
  }
  /** where `AllowedHosts` is undefined, a request's `Host` may be anything */
  readonly Server: typeof ServerSettings.Type & {
    /** the same for the private port */
    readonly PrivateHosts: ReadonlyArray<string> | undefined
  }
}

export class Settings extends Context.Service<Settings, SettingsTree>()("voicegate/Settings") {}
