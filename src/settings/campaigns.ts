/**
 * Reads the campaigns: the default one below `VoiceAiPlatform` and the named ones below `VoiceAiPlatform.Campaigns`, which
 * inherit from it whatever they leave out, except the web campaign itself and its slots.
 */
import { Schema, Struct } from "effect"
import type { Campaign } from "../Settings.ts"
import type { Flat } from "./flat.ts"
import { CampaignName, CampaignSettings, NOT_INHERITED } from "./groups/campaign.ts"
import type { GroupRead, Reader } from "./reader.ts"

const ROOT = "VoiceAiPlatform"

/** What the rules of campaigns need, where it is given. */
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
    read.wrong(`${base}.DefaultRegionId`, `one of the regions in ${base}.AllowedRegionIds, or one that it inherits`)
  }
  return campaign
}

const campaignOf = (name: string, { valid }: CampaignRead): Campaign | undefined =>
  valid && { name, ...valid, AllowedRegionIds: valid.AllowedRegionIds ?? [valid.DefaultRegionId] }

/** Which web campaign it is; undefined where that is not known. */
const identityOf = ({ draft: { BusinessId, WebCampaignId } = {} }: CampaignRead): string | undefined =>
  BusinessId === undefined || WebCampaignId === undefined ? undefined : JSON.stringify([BusinessId, WebCampaignId])

/** The names below `VoiceAiPlatform.Campaigns`, as first written. */
const namesIn = (flat: Flat): ReadonlyArray<string> => {
  const names = new Map<string, string>()
  for (const [key, { path }] of flat) {
    const [, lower] = /^voiceaiplatform\.campaigns\.([^.]+)\./.exec(key) ?? []
    const written = path.join(".").split(".")[2]
    if (lower !== undefined && written !== undefined && !names.has(lower)) names.set(lower, written)
  }
  return [...names.values()]
}

/** All campaigns, the default first; undefined when one of them is incomplete, which is noted. */
export const readCampaigns = (
  flat: Flat,
  read: Reader,
): readonly [Campaign, ...ReadonlyArray<Campaign>] | undefined => {
  const defaults = readCampaign(read, ROOT)
  const seen = new Map([[identityOf(defaults), ROOT]])
  const further = namesIn(flat).map((name) => {
    const base = `${ROOT}.Campaigns.${name}`
    if (!isName(name)) {
      read.missing(base, Schema.resolveAnnotations(CampaignName)?.expected ?? "")
    } else if (name.toLowerCase() === "default") {
      read.missing(base, "another name: default is the campaign below VoiceAiPlatform itself")
    }
    const campaign = readCampaign(read, base)
    const identity = identityOf(campaign)
    const other = identity && seen.get(identity)
    if (other !== undefined) {
      const expected = `a web campaign of its own: ${other} has the same, and their slots would be counted twice`
      read.wrong(`${base}.WebCampaignId`, expected)
    }
    seen.set(identity, base)
    return campaignOf(name, campaign)
  })
  const first = campaignOf("default", defaults)
  const complete = further.filter((campaign) => campaign !== undefined)
  return first === undefined || complete.length < further.length ? undefined : [first, ...complete]
}
