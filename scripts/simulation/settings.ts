/** The settings of the gates of a history. */
import { Redacted } from "effect"
import type { Campaign, SettingsTree } from "../../src/Settings.ts"
import { DEFAULTS, SERVER } from "../harness/settings.ts"
import type { Plan } from "./plan.ts"

/** The campaign that callers request. The other campaign precedes it and has no callers: ends are reported to both. */
export const CAMPAIGN = "campaign"

const campaign = (id: string, slots: number | undefined): Campaign => ({
  name: id,
  ApiSecretToken: Redacted.make("key"),
  BaseUrl: "https://platform.example/",
  BusinessId: "business",
  WebCampaignId: id,
  DefaultRegionId: "eu",
  AllowedRegionIds: ["eu"],
  AllowedTransportTypes: ["websocket"],
  MaxConcurrency: slots,
  Platform: "iqra",
})

/** `serves` is false where the campaign is removed. */
export const settingsOf = (plan: Plan, serves: boolean): SettingsTree => ({
  StoreConnectionString: Redacted.make("memory:"),
  Campaigns: [
    campaign("other", 1),
    ...(serves ? [campaign(CAMPAIGN, plan.slotsFromPlatform ? undefined : plan.slots)] : []),
  ],
  // without a provider
  IpIntel: DEFAULTS.IpIntel,
  Security: {
    ...DEFAULTS.Security,
    RateLimitHourly: plan.hourly,
    RateLimitDaily: 0,
    RateLimitConcurrency: plan.concurrent,
    // the cost of each ticket is judged without the bound on refunds
    RefundsPerHour: 1_000,
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
