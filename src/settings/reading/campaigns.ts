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
  Struct.pick([
    ...(["BusinessId", "WebCampaignId", "DefaultRegionId", "AllowedRegionIds"] as const),
    ...(["Hours", "IdentityRequired", "MaxCallSeconds", "Overflow"] as const),
  ]),
).mapFields(Struct.map(Schema.optionalKey))

const DraftVendorCampaign = VendorCampaign.mapFields(Struct.map(Schema.optionalKey))

const Platform = CampaignSettings.mapFields(Struct.pick(["Platform"]))

/** The region of a campaign whose vendor has none. */
const NO_REGION = "default"

const isName = Schema.is(CampaignName)

/** What checks beyond one campaign need of it, also where it has a problem. */
export type CampaignDraft = Pick<Campaign, "IdentityRequired" | "MaxCallSeconds" | "Overflow" | "name">

/** A campaign, undefined when it has a problem, and what identifies it, undefined when that is not known. */
interface CampaignRead {
  readonly campaign: Campaign | undefined
  readonly identity: string | undefined
  readonly draft: CampaignDraft
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
  inheritFrom: string | undefined,
  { Hours, Overflow }: Partial<Pick<typeof PlatformCampaign.Type, "Hours" | "Overflow">>,
): Pick<Campaign, "Hours" | "Overflow"> => {
  const hours = Hours && hoursOf(read, base, inheritFrom, Hours)
  const overflow = Overflow && overflowOf(Overflow)
  return {
    ...(hours === undefined ? {} : { Hours: hours }),
    ...(overflow === undefined ? {} : { Overflow: overflow }),
  }
}

const draftOf = (
  name: string,
  { IdentityRequired, MaxCallSeconds }: Pick<Campaign, "IdentityRequired" | "MaxCallSeconds">,
  { Overflow }: Pick<Campaign, "Overflow">,
): CampaignDraft => ({
  name,
  ...(IdentityRequired === undefined ? {} : { IdentityRequired }),
  ...(MaxCallSeconds === undefined ? {} : { MaxCallSeconds }),
  ...(Overflow === undefined ? {} : { Overflow }),
})

const readPlatformCampaign = (read: Reader, name: string, base: string, inheritFrom?: string): CampaignRead => {
  const { draft = {}, valid } = read.group({
    base: `${base}.`,
    schema: PlatformCampaign,
    draft: DraftCampaign,
    own: NOT_INHERITED,
    inheritFrom: inheritFrom && `${inheritFrom}.`,
  })
  const groups = groupsOf(read, base, inheritFrom, draft)
  const resolved = ({ Hours: _, Overflow: __, ...settings }: typeof PlatformCampaign.Type): Campaign => ({
    name,
    ...settings,
    AllowedRegionIds: settings.AllowedRegionIds ?? [settings.DefaultRegionId],
    ...groups,
  })
  const { AllowedRegionIds, BusinessId, DefaultRegionId, WebCampaignId } = draft
  if (DefaultRegionId !== undefined) checkRegion(read, base, DefaultRegionId, AllowedRegionIds)
  return {
    campaign: valid && resolved(valid),
    identity:
      BusinessId === undefined || WebCampaignId === undefined ? undefined : identityOf(BusinessId, WebCampaignId),
    draft: draftOf(name, draft, groups),
  }
}

const readVendorCampaign = (
  read: Reader,
  vendor: Vendor,
  name: string,
  base: string,
  inheritFrom?: string,
): CampaignRead => {
  const { draft: given, valid } = read.group({
    base: `${base}.`,
    schema: VendorCampaign,
    draft: DraftVendorCampaign,
    own: NOT_INHERITED,
    inheritFrom: inheritFrom && `${inheritFrom}.`,
  })
  // a campaign of an account uses the account's slots
  if (!vendor.tellsLimit && !read.has(`${base}.MaxConcurrency`) && !read.has(`${base}.Account.Name`)) {
    read.reportMissing(`${base}.MaxConcurrency`, `the number of slots, which ${vendor.platform} does not report`)
  }
  const found = vendor.read(read, base, inheritFrom)
  const groups = groupsOf(read, base, inheritFrom, given ?? {})
  const draft = draftOf(name, given ?? {}, groups)
  if (valid === undefined || found === undefined) return { campaign: undefined, identity: undefined, draft }
  const { Hours: _, Overflow: __, ...common } = valid
  const { AllowedRegionIds, DefaultRegionId = AllowedRegionIds?.[0] ?? NO_REGION } = common
  checkRegion(read, base, DefaultRegionId, AllowedRegionIds)
  const { agent, settings, ...identified } = found
  return {
    campaign: {
      name,
      ...common,
      ...groups,
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
    draft,
  }
}

const readCampaign = (flat: Flat, read: Reader, name: string, base: string): CampaignRead => {
  const inheritFrom = base === ROOT ? undefined : ROOT
  const ended = ENDED_VENDORS.get(flat.get(`${base}.platform`.toLowerCase())?.text.trim().toLowerCase() ?? "")
  if (ended !== undefined) {
    read.reportInvalid(`${base}.Platform`, ended)
    return { campaign: undefined, identity: undefined, draft: { name } }
  }
  const { valid } = read.group({
    base: `${base}.`,
    schema: Platform,
    draft: Platform,
    inheritFrom: inheritFrom && `${inheritFrom}.`,
  })
  // a problem with the platform is reported; the other settings are then not read, since it is not known which they are
  if (valid === undefined) return { campaign: undefined, identity: undefined, draft: { name } }
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

/** All campaigns, the default first. `campaigns` is undefined when one has a problem, which is then in the reader's list. */
export interface CampaignsRead {
  readonly campaigns: readonly [Campaign, ...ReadonlyArray<Campaign>] | undefined
  readonly drafts: ReadonlyArray<CampaignDraft>
}

export const readCampaigns = (flat: Flat, read: Reader): CampaignsRead => {
  const defaults = readCampaign(flat, read, "default", ROOT)
  const seen = new Map([[defaults.identity, ROOT]])
  const further = namesIn(flat).map((name) => {
    const base = `${ROOT}.Campaigns.${name}`
    if (!isName(name)) {
      read.reportMissing(base, Schema.resolveAnnotations(CampaignName)?.expected ?? "")
    } else if (name.toLowerCase() === "default") {
      read.reportMissing(base, "another name: default means the campaign directly below VoiceAiPlatform")
    }
    const found = readCampaign(flat, read, name, base)
    const { campaign, identity } = found
    const other = identity && seen.get(identity)
    if (other !== undefined) {
      const isVendors = campaign !== undefined && campaign.Platform !== DEFAULT_PLATFORM
      const expected = `a different ${isVendors ? "agent" : "web campaign"}: ${other} has the same one, so its slots would be counted twice`
      read.reportInvalid(isVendors ? base : `${base}.WebCampaignId`, expected)
    }
    seen.set(identity, base)
    return found
  })
  const all = [defaults, ...further]
  const drafts = all.map(({ draft }) => draft)
  const names = drafts.map(({ name }) => name)
  for (const [index, draft] of drafts.entries())
    checkOffers(read, index === 0 ? ROOT : `${ROOT}.Campaigns.${draft.name}`, draft, names)
  const known = all.flatMap(({ campaign }) => campaign ?? [])
  checkSharedBudgets(read, known)
  const [first, ...others] = resolveAccounts(read, known)
  return { campaigns: first === undefined || known.length < all.length ? undefined : [first, ...others], drafts }
}
