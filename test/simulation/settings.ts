/** The settings of the gates of a history. */
import { Redacted } from "effect"
import { campaignKeyOf } from "../../src/fifo-queue/keys.ts"
import type { Campaign, SettingsTree } from "../../src/settings/Settings.ts"
import { DEFAULTS, SERVER } from "../harness/settings.ts"
import type { Plan } from "./plan.ts"

/** The campaigns, in the order of their keys. */
export const CAMPAIGNS = ["campaign", "other"] as const
export type CampaignName = (typeof CAMPAIGNS)[number]

/**
 * The campaign that callers request. The other one precedes it in the settings, so ends are reported to both. It has callers only where
 * both share an account.
 */
export const CAMPAIGN: CampaignName = "campaign"
export const OTHER: CampaignName = "other"

/** The campaigns with callers. */
export const campaignsOf = ({ account }: Plan): ReadonlyArray<CampaignName> =>
  account === undefined ? [CAMPAIGN] : CAMPAIGNS

/** What names a campaign within its account, or in a store without accounts. */
export const idOf = (name: CampaignName): string => `business/${name}`

/** What names a campaign in the store. */
export const keyOf = ({ account }: Plan, name: CampaignName): string =>
  campaignKeyOf({ account: account && "account", campaign: idOf(name) })

/** A campaign of the account of the plan, if it has one. */
const campaign = (id: CampaignName, slots: number | undefined, { account, slotsFromPlatform }: Plan): Campaign => ({
  name: id,
  ApiSecretToken: Redacted.make("key"),
  BaseUrl: "https://platform.example/",
  BusinessId: "business",
  WebCampaignId: id,
  DefaultRegionId: "eu",
  AllowedRegionIds: ["eu"],
  AllowedTransportTypes: ["websocket"],
  MaxConcurrency: slots,
  ...(account === undefined
    ? {}
    : {
        Account: {
          Name: "account",
          MaxConcurrency: slotsFromPlatform ? undefined : account.cap,
          ReservedSlots: account.reserved[id],
        },
      }),
  Platform: "iqra",
})

/** `serves` is false where the campaign is removed. */
export const settingsOf = (plan: Plan, serves: boolean): SettingsTree => ({
  StoreConnectionString: Redacted.make("memory:"),
  Campaigns: [
    campaign(OTHER, plan.account === undefined ? 1 : undefined, plan),
    ...(serves ? [campaign(CAMPAIGN, plan.slotsFromPlatform ? undefined : plan.slots, plan)] : []),
  ],
  // without a provider
  IpIntel: DEFAULTS.IpIntel,
  Identity: DEFAULTS.Identity,
  Security: {
    ...DEFAULTS.Security,
    RateLimitHourly: plan.hourly,
    RateLimitDaily: 0,
    RateLimitConcurrency: plan.concurrent,
    // the cost of each ticket is judged without the bound on refunds
    RefundsPerHour: 1_000,
    MissedTurnCost: 3,
    StatusPerMinute: 0,
    BlockVpn: false,
    BlockProxy: false,
    BlockTor: false,
  },
  Queue: {
    ...DEFAULTS.Queue,
    MaxLength: plan.maxLength,
    NetworkShare: plan.networkShare,
    DisconnectGraceSeconds: plan.graceSeconds,
    StartWindowSeconds: plan.windowSeconds,
    MaxCallMinutes: plan.callMinutes,
  },
  Privacy: DEFAULTS.Privacy,
  Server: SERVER,
})
