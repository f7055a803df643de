/**
 * Reads the campaigns: the default one below `VoiceAiPlatform` and the named ones below `VoiceAiPlatform.Campaigns`. The named
 * ones inherit from the default one what they omit, except the web campaign and its slots.
 */
import { Schema, Struct } from "effect"
import { DEFAULT_PLATFORM, ENDED_VENDORS, type Vendor, vendorOf } from "../../platform-api/vendors.ts"
import {
  CampaignName,
  CampaignSettings,
  NOT_INHERITED,
  PlatformCampaign,
  TRANSPORTS,
  VendorCampaign,
} from "../groups/campaign.ts"
import { hoursOf } from "../groups/hours.ts"
import { checkOffers, overflowOf } from "../groups/overflow.ts"
import type { Campaign } from "../Settings.ts"
import type { Flat } from "../sources/flat.ts"
import { readAccount, resolveAccounts } from "./accounts.ts"
import { checkSharedBudgets, readBudgets } from "./budgets.ts"
import { readEvents } from "./events.ts"
import type { Reader } from "./reader.ts"

const ROOT = "VoiceAiPlatform"

/** The settings that checks across settings need, all optional. */
const DraftCampaign = PlatformCampaign.mapFields(
  Struct.pick(["BusinessId", "WebCampaignId", "DefaultRegionId", "AllowedRegionIds"]),
).mapFields(Struct.map(Schema.optionalKey))

const Platform = CampaignSettings.mapFields(Struct.pick(["Platform"]))

/** The region of a campaign whose vendor has none. */
const NO_REGION = "default"

const isName = Schema.is(CampaignName)

/** A campaign, undefined when it has a problem, and what identifies it, undefined when that is not known. */
interface CampaignRead {
  readonly campaign: Campaign | undefined
  readonly identity: string | undefined
}

const identityOf = (BusinessId: string, WebCampaignId: string): string => JSON.stringify([BusinessId, WebCampaignId])

const checkRegion = (read: Reader, base: string, region: string, allowed: ReadonlyArray<string> | undefined): void => {
  if (allowed?.includes(region) === false) {
    read.reportInvalid(
      `${base}.DefaultRegionId`,
      `one of the regions in ${base}.AllowedRegionIds, which may be inherited`,
    )
  }
}

/** The groups of a campaign that are absent where they say nothing. */
const groupsOf = (
  read: Reader,
  base: string,
  { Hours, Overflow }: Pick<typeof PlatformCampaign.Type, "Hours" | "Overflow">,
): Pick<Campaign, "Hours" | "Overflow"> => {
  const [hours, overflow] = [hoursOf(read, base, Hours), overflowOf(Overflow)]
  return {
    ...(hours === undefined ? {} : { Hours: hours }),
    ...(overflow === undefined ? {} : { Overflow: overflow }),
  }
}

const readPlatformCampaign = (read: Reader, name: string, base: string, inheritFrom?: string): CampaignRead => {
  const { draft = {}, valid } = read.group({
    base: `${base}.`,
    schema: PlatformCampaign,
    draft: DraftCampaign,
    own: NOT_INHERITED,
    inheritFrom: inheritFrom && `${inheritFrom}.`,
  })
  const resolved = ({ Hours, Overflow, ...settings }: typeof PlatformCampaign.Type): Campaign => ({
    name,
    ...settings,
    AllowedRegionIds: settings.AllowedRegionIds ?? [settings.DefaultRegionId],
    ...groupsOf(read, base, { Hours, Overflow }),
  })
  const { AllowedRegionIds, BusinessId, DefaultRegionId, WebCampaignId } = draft
  if (DefaultRegionId !== undefined) checkRegion(read, base, DefaultRegionId, AllowedRegionIds)
  return {
    campaign: valid && resolved(valid),
    identity:
      BusinessId === undefined || WebCampaignId === undefined ? undefined : identityOf(BusinessId, WebCampaignId),
  }
}

const readVendorCampaign = (
  read: Reader,
  vendor: Vendor,
  name: string,
  base: string,
  inheritFrom?: string,
): CampaignRead => {
  const { valid } = read.group({
    base: `${base}.`,
    schema: VendorCampaign,
    draft: VendorCampaign,
    own: NOT_INHERITED,
    inheritFrom: inheritFrom && `${inheritFrom}.`,
  })
  // a campaign of an account uses the account's slots
  if (!vendor.tellsLimit && !read.has(`${base}.MaxConcurrency`) && !read.has(`${base}.Account.Name`)) {
    read.reportMissing(`${base}.MaxConcurrency`, `the number of slots, which ${vendor.platform} does not report`)
  }
  const found = vendor.read(read, base, inheritFrom)
  if (valid === undefined || found === undefined) return { campaign: undefined, identity: undefined }
  const { Hours, Overflow, ...common } = valid
  const { AllowedRegionIds, DefaultRegionId = AllowedRegionIds?.[0] ?? NO_REGION } = common
  checkRegion(read, base, DefaultRegionId, AllowedRegionIds)
  const { agent, settings, ...identified } = found
  return {
    campaign: {
      name,
      ...common,
      ...groupsOf(read, base, { Hours, Overflow }),
      ...identified,
      ...settings,
      BusinessId: vendor.platform,
      WebCampaignId: agent,
      DefaultRegionId,
      AllowedRegionIds: AllowedRegionIds ?? [DefaultRegionId],
      // the vendor's SDK chooses the transport
      AllowedTransportTypes: TRANSPORTS,
    },
    identity: identityOf(vendor.platform, agent),
  }
}

const readCampaign = (flat: Flat, read: Reader, name: string, base: string): CampaignRead => {
  const inheritFrom = base === ROOT ? undefined : ROOT
  const ended = ENDED_VENDORS.get(flat.get(`${base}.platform`.toLowerCase())?.text.trim().toLowerCase() ?? "")
  if (ended !== undefined) {
    read.reportInvalid(`${base}.Platform`, ended)
    return { campaign: undefined, identity: undefined }
  }
  const { valid } = read.group({
    base: `${base}.`,
    schema: Platform,
    draft: Platform,
    inheritFrom: inheritFrom && `${inheritFrom}.`,
  })
  // a problem with the platform is reported; the other settings are then not read, since it is not known which they are
  if (valid === undefined) return { campaign: undefined, identity: undefined }
  const vendor = vendorOf(valid.Platform)
  const found =
    vendor === undefined
      ? readPlatformCampaign(read, name, base, inheritFrom)
      : readVendorCampaign(read, vendor, name, base, inheritFrom)
  const Account = readAccount(read, base)
  const Events = readEvents(read, base, inheritFrom)
  const budgets = readBudgets(read, base, valid.Platform, inheritFrom)
  if (found.campaign === undefined || (Account === undefined && Events === undefined && budgets === undefined)) {
    return found
  }
  const groups = {
    ...(Account === undefined ? {} : { Account }),
    ...(Events === undefined ? {} : { Events }),
    ...budgets,
  }
  return { ...found, campaign: { ...found.campaign, ...groups } }
}

/** The names below `VoiceAiPlatform.Campaigns`, in their first spelling. */
const namesIn = (flat: Flat): ReadonlyArray<string> => {
  const names = new Map<string, string>()
  for (const [key, { path }] of flat) {
    const [, lower] = /^voiceaiplatform\.campaigns\.([^.]+)\./.exec(key) ?? []
    const written = path.join(".").split(".")[2]
    if (lower !== undefined && written !== undefined && !names.has(lower)) names.set(lower, written)
  }
  return [...names.values()]
}

/**
 * Whether a campaign uses the default platform, whose webhook is authenticated by the gate's own token or secret. Read from the raw texts,
 * so that the answer is known even if other settings have problems.
 */
export const usesDefaultPlatform = (flat: Flat): boolean => {
  const platformAt = (base: string): string | undefined =>
    flat.get(`${base}.platform`.toLowerCase())?.text.trim().toLowerCase() || undefined
  const first = platformAt(ROOT) ?? DEFAULT_PLATFORM
  const others = namesIn(flat).map((name) => platformAt(`${ROOT}.Campaigns.${name}`) ?? first)
  return [first, ...others].includes(DEFAULT_PLATFORM)
}

/** All campaigns, the default first; undefined when one has a problem, which is then in the reader's list. */
export const readCampaigns = (
  flat: Flat,
  read: Reader,
): readonly [Campaign, ...ReadonlyArray<Campaign>] | undefined => {
  const defaults = readCampaign(flat, read, "default", ROOT)
  const seen = new Map([[defaults.identity, ROOT]])
  const further = namesIn(flat).map((name) => {
    const base = `${ROOT}.Campaigns.${name}`
    if (!isName(name)) {
      read.reportMissing(base, Schema.resolveAnnotations(CampaignName)?.expected ?? "")
    } else if (name.toLowerCase() === "default") {
      read.reportMissing(base, "another name: default means the campaign directly below VoiceAiPlatform")
    }
    const { campaign, identity } = readCampaign(flat, read, name, base)
    const other = identity && seen.get(identity)
    if (other !== undefined) {
      const isVendors = campaign !== undefined && campaign.Platform !== DEFAULT_PLATFORM
      const expected = `a different ${isVendors ? "agent" : "web campaign"}: ${other} has the same one, so its slots would be counted twice`
      read.reportInvalid(isVendors ? base : `${base}.WebCampaignId`, expected)
    }
    seen.set(identity, base)
    return campaign
  })
  const written = namesIn(flat)
  const names = ["default", ...written]
  for (const [base, campaign] of [
    [ROOT, defaults.campaign] as const,
    ...further.map((campaign, index) => [`${ROOT}.Campaigns.${written[index]}`, campaign] as const),
  ]) {
    if (campaign !== undefined) checkOffers(read, base, campaign, names)
  }
  const known = [defaults.campaign, ...further].filter((campaign) => campaign !== undefined)
  checkSharedBudgets(read, known)
  const [first, ...others] = resolveAccounts(read, known)
  return first === undefined || known.length <= further.length ? undefined : [first, ...others]
}
