/**
 * Reads the campaigns: the default one below `VoiceAiPlatform` and the named ones below `VoiceAiPlatform.Campaigns`, which
 * inherit from it whatever they leave out, except the web campaign itself and its slots.
 */
import type { Campaign, Transport } from "../Settings.ts"
import type { Flat } from "./flat.ts"
import type { Reader } from "./reader.ts"
import { CAMPAIGN_SETTINGS as S } from "./table.ts"

const ROOT = "VoiceAiPlatform"

type ListName = "AllowedRegionIds" | "AllowedTransportTypes"

/** What a campaign has so far; what is undefined is missing or wrong, and noted as such. */
type Draft = Omit<{ readonly [K in keyof Campaign]: Campaign[K] | undefined }, "name" | ListName> & {
  readonly name: string
  /** as given, undefined when absent */
  readonly AllowedRegionIds: ReadonlyArray<string> | undefined
  readonly AllowedTransportTypes: ReadonlyArray<Transport> | undefined
}

const draft = (read: Reader, name: string, base: string, inherited: Draft | undefined): Draft => {
  const required = <K extends "ApiSecretToken" | "BaseUrl" | "BusinessId" | "DefaultRegionId">(key: K) => {
    const path = `${base}.${key}`
    if (!read.has(path) && inherited === undefined) read.missing(path, S[key].description)
    return path
  }
  const webCampaign = `${base}.WebCampaignId`
  if (!read.has(webCampaign)) read.missing(webCampaign, S.WebCampaignId.description)
  const regions = `${base}.AllowedRegionIds`
  const transports = `${base}.AllowedTransportTypes`
  return {
    name,
    ApiSecretToken: read.one(S.ApiSecretToken.kind, required("ApiSecretToken")) ?? inherited?.ApiSecretToken,
    BaseUrl: read.one(S.BaseUrl.kind, required("BaseUrl")) ?? inherited?.BaseUrl,
    BusinessId: read.one(S.BusinessId.kind, required("BusinessId")) ?? inherited?.BusinessId,
    WebCampaignId: read.one(S.WebCampaignId.kind, webCampaign),
    DefaultRegionId: read.one(S.DefaultRegionId.kind, required("DefaultRegionId")) ?? inherited?.DefaultRegionId,
    AllowedRegionIds: read.has(regions) ? read.many(S.AllowedRegionIds.kind, regions) : inherited?.AllowedRegionIds,
    AllowedTransportTypes: read.has(transports)
      ? read.many(S.AllowedTransportTypes.kind, transports)
      : inherited?.AllowedTransportTypes,
    MaxConcurrency: read.one(S.MaxConcurrency.kind, `${base}.MaxConcurrency`),
  }
}

const finish = (
  read: Reader,
  base: string,
  { AllowedRegionIds: allowed, AllowedTransportTypes: transports, ...rest }: Draft,
): Campaign | undefined => {
  const { ApiSecretToken, BaseUrl, BusinessId, WebCampaignId, DefaultRegionId } = rest
  if (allowed !== undefined && DefaultRegionId !== undefined && !allowed.includes(DefaultRegionId)) {
    const expected = `one of the regions in ${base}.AllowedRegionIds, or one that it inherits`
    read.wrong(`${base}.DefaultRegionId`, expected, S.DefaultRegionId.kind)
  }
  if (ApiSecretToken === undefined || BaseUrl === undefined || BusinessId === undefined) return undefined
  if (WebCampaignId === undefined || DefaultRegionId === undefined) return undefined
  return {
    ...rest,
    ApiSecretToken,
    BaseUrl,
    BusinessId,
    WebCampaignId,
    DefaultRegionId,
    AllowedRegionIds: [...new Set(allowed ?? [DefaultRegionId])],
    AllowedTransportTypes: [...new Set(transports ?? (["websocket"] as const))],
  }
}

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
  const defaults = draft(read, "default", ROOT, undefined)
  const first = finish(read, ROOT, defaults)
  const further = namesIn(flat).map((name) => {
    const base = `${ROOT}.Campaigns.${name}`
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      read.missing(base, "a name of 1 to 64 letters, digits, - and _")
    } else if (name.toLowerCase() === "default") {
      read.missing(base, "another name: default is the campaign below VoiceAiPlatform itself")
    }
    return finish(read, base, draft(read, name, base, defaults))
  })

  const seen = new Map<string, string>()
  for (const campaign of [first, ...further]) {
    if (campaign === undefined) continue
    const base = campaign === first ? ROOT : `${ROOT}.Campaigns.${campaign.name}`
    const key = JSON.stringify([campaign.BusinessId, campaign.WebCampaignId])
    const other = seen.get(key)
    if (other !== undefined) {
      const expected = `a web campaign of its own: ${other} has the same, and their slots would be counted twice`
      read.wrong(`${base}.WebCampaignId`, expected, S.WebCampaignId.kind)
    }
    seen.set(key, base)
  }
  const complete = further.filter((campaign) => campaign !== undefined)
  return first === undefined || complete.length < further.length ? undefined : [first, ...complete]
}
