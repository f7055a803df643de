/**
 * Reads the campaigns: the default one below `VoiceAiPlatform` and the named ones below `VoiceAiPlatform.Campaigns`. These inherit
 * from it what they omit, except the web campaign and its slots.
 */
import { Schema, Struct } from "effect"
import type { Campaign } from "../Settings.ts"
import type { Flat } from "./flat.ts"
import { CampaignName, CampaignSettings, NOT_INHERITED } from "./groups/campaign.ts"
import type { GroupRead, Reader } from "./reader.ts"

const ROOT = "VoiceAiPlatform"

/** The settings that checks across settings need, all optional. */
const DraftCampaign = CampaignSettings.mapFields(
  Struct.pick(["BusinessId", "WebCampaignId", "DefaultRegionId", "AllowedRegionIds"]),
).mapFields(Struct.map(Schema.optionalKey))

const isName = Schema.is(CampaignName)

type CampaignRead = GroupRead<typeof CampaignSettings.Type, typeof DraftCampaign.Type>

const readCampaign = (read: Reader, base: string): CampaignRead => {
  const campaign = read.group({
    base: `${base}.`,
    schema: CampaignSettings,
    draft: DraftCampaign,
    own: NOT_INHERITED,
    inheritFrom: base === ROOT ? undefined : `${ROOT}.`,
  })
  const { AllowedRegionIds: allowed, DefaultRegionId } = campaign.draft ?? {}
  if (allowed !== undefined && DefaultRegionId !== undefined && !allowed.includes(DefaultRegionId)) {
    read.reportInvalid(
      `${base}.DefaultRegionId`,
      `one of the regions in ${base}.AllowedRegionIds, which may be inherited`,
    )
  }
  return campaign
}

const campaignOf = (name: string, { valid }: CampaignRead): Campaign | undefined =>
  valid && { name, ...valid, AllowedRegionIds: valid.AllowedRegionIds ?? [valid.DefaultRegionId] }

/** Identifies the web campaign; undefined when it is not known. */
const identityOf = ({ draft: { BusinessId, WebCampaignId } = {} }: CampaignRead): string | undefined =>
  BusinessId === undefined || WebCampaignId === undefined ? undefined : JSON.stringify([BusinessId, WebCampaignId])

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

/** All campaigns, the default first; undefined when one has a problem, which is then in the reader's list. */
export const readCampaigns = (
  flat: Flat,
  read: Reader,
): readonly [Campaign, ...ReadonlyArray<Campaign>] | undefined => {
  const defaults = readCampaign(read, ROOT)
  const seen = new Map([[identityOf(defaults), ROOT]])
  const further = namesIn(flat).map((name) => {
    const base = `${ROOT}.Campaigns.${name}`
    if (!isName(name)) {
      read.reportMissing(base, Schema.resolveAnnotations(CampaignName)?.expected ?? "")
    } else if (name.toLowerCase() === "default") {
      read.reportMissing(base, "another name: default means the campaign directly below VoiceAiPlatform")
    }
    const campaign = readCampaign(read, base)
    const identity = identityOf(campaign)
    const other = identity && seen.get(identity)
    if (other !== undefined) {
      const expected = `a different web campaign: ${other} has the same one, so its slots would be counted twice`
      read.reportInvalid(`${base}.WebCampaignId`, expected)
    }
    seen.set(identity, base)
    return campaignOf(name, campaign)
  })
  const first = campaignOf("default", defaults)
  const complete = further.filter((campaign) => campaign !== undefined)
  return first === undefined || complete.length < further.length ? undefined : [first, ...complete]
}
