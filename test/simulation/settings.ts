/** The settings of the gates of a history. */
import { Redacted } from "effect"
import { campaignKeyOf } from "../../src/fifo-queue/keys.ts"
import type { Offer } from "../../src/protocol/offers.ts"
import type { Campaign, SettingsTree } from "../../src/settings/Settings.ts"
import { DEFAULTS, SERVER } from "../harness/settings.ts"
import type { BudgetsPlan, Plan } from "./plan.ts"

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

/** Where the events of a campaign are sent. */
const EVENTS: NonNullable<Campaign["Events"]> = {
  Url: "https://host.example/events",
  Secrets: [],
  Token: [],
  RetentionHours: 72,
  MaxStored: 100_000,
}

/** What a minute costs, in `USD`. */
export const PER_MINUTE = 0.12

const budgetSettings = (plan: BudgetsPlan): Partial<Campaign> => ({
  Price: { PerMinute: PER_MINUTE, Currency: "USD", RoundUpSeconds: plan.roundUp, MinimumSeconds: plan.minimum },
  Budget: {
    Token: [],
    Zone: plan.zone,
    BlockSeconds: plan.blockSeconds,
    EndLeadSeconds: plan.leadSeconds,
    WaitMinutes: plan.waitMinutes,
  },
  Budgets: plan.budgets,
})

/** As it is written in settings. */
const offerText = ({ kind, label, target }: Offer): string =>
  `${label} ${kind === "campaign" ? "campaign:" : ""}${target}`

/** What is controlled of the calls of the campaigns with callers. */
const controlled = (
  { control: { budgets, events, hours, lengths, overflow } }: Plan,
  hasHours: boolean,
): Partial<Campaign> => ({
  // this gate's own loop only keeps them: it sends over HTTP
  ...(events === undefined ? {} : { Events: { ...EVENTS, Url: undefined } }),
  ...(hours === undefined || !hasHours
    ? {}
    : { Hours: { Zone: "UTC", Open: hours.open, Closed: [], AfterCloseMinutes: hours.afterCloseMinutes } }),
  ...(lengths?.callSeconds === undefined ? {} : { MaxCallSeconds: lengths.callSeconds }),
  ...(overflow === undefined
    ? {}
    : { Overflow: { AfterSeconds: overflow.afterSeconds, Offers: overflow.offers.map(offerText) } }),
  ...(budgets === undefined ? {} : budgetSettings(budgets)),
})

/** The settings of the loop that sends events, which the simulation runs with a client of its own. */
export const sendingSettings = (settings: SettingsTree): SettingsTree => {
  const [first, ...others] = settings.Campaigns
  const sending = (campaign: Campaign): Campaign =>
    campaign.Events === undefined ? campaign : { ...campaign, Events: EVENTS }
  return { ...settings, Campaigns: [sending(first), ...others.map(sending)] }
}

/** A campaign of the account of the plan, if it has one. */
const campaign = (id: CampaignName, slots: number | undefined, plan: Plan, hasHours: boolean): Campaign => {
  const { account, slotsFromPlatform } = plan
  return {
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
    ...(campaignsOf(plan).includes(id) ? controlled(plan, hasHours) : {}),
  }
}

/** `serves` is false where the campaign is removed; `hasHours` where its hours are not added yet. */
export const settingsOf = (plan: Plan, serves: boolean, hasHours: boolean): SettingsTree => ({
  StoreConnectionString: Redacted.make("memory:"),
  Campaigns: [
    campaign(OTHER, plan.account === undefined ? 1 : undefined, plan, hasHours),
    ...(serves ? [campaign(CAMPAIGN, plan.slotsFromPlatform ? undefined : plan.slots, plan, hasHours)] : []),
  ],
  // without a provider
  IpIntel: DEFAULTS.IpIntel,
  Identity: {
    ...DEFAULTS.Identity,
    ...(plan.control.identity === undefined
      ? {}
      : { Secrets: [Redacted.make("signed")], SingleUse: plan.control.identity.singleUse }),
  },
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
