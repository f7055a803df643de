/**
 * The settings that instances on one store need alike, and how two instances differ in them. No secret is among them: they are
 * written to the store and to the log.
 */
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import type { Campaign, SettingsTree } from "../Settings.ts"
import { type Campaigns, settingOf } from "./campaigns.ts"

/** Settings by their paths; those of a campaign by its key, a blank and their name. */
export type Values = Readonly<Record<string, string>>

/** The most differences that are named, and the most of a value that is repeated. */
const MOST_NAMED = 8
const MOST_SHOWN = 100

/** Each decides what becomes of callers and slots that all instances share. */
const ofAll = ({ Privacy, Queue, Security }: SettingsTree): Values => ({
  "Queue.MaxLength": String(Queue.MaxLength),
  "Queue.NetworkShare": String(Queue.NetworkShare),
  "Queue.DisconnectGraceSeconds": String(Queue.DisconnectGraceSeconds),
  "Queue.StartWindowSeconds": String(Queue.StartWindowSeconds),
  "Queue.MaxCallMinutes": String(Queue.MaxCallMinutes),
  "Security.RateLimitHourly": String(Security.RateLimitHourly),
  "Security.RateLimitDaily": String(Security.RateLimitDaily),
  "Security.RateLimitConcurrency": String(Security.RateLimitConcurrency),
  "Security.RefundsPerHour": String(Security.RefundsPerHour),
  "Security.MissedTurnCost": String(Security.MissedTurnCost),
  "Privacy.Addresses": Privacy.Addresses,
})

const CAMPAIGN_SETTINGS = [
  "MaxConcurrency",
  "BaseUrl",
  "DefaultRegionId",
  "AllowedRegionIds",
  "AllowedTransportTypes",
] as const
type CampaignSetting = (typeof CAMPAIGN_SETTINGS)[number]

/** Tells addresses apart and shows no path, in which there may be a token. */
const addressOf = (url: string): string => {
  const digest = createHash("sha256").update(url).digest("hex").slice(0, 8)
  return `${URL.parse(url)?.origin ?? ""}/… (${digest})`
}

const written = (campaign: Campaign, setting: CampaignSetting): string => {
  switch (setting) {
    case "MaxConcurrency":
      return campaign.MaxConcurrency === undefined ? "the platform's figure" : String(campaign.MaxConcurrency)
    case "AllowedRegionIds":
    case "AllowedTransportTypes":
      return campaign[setting].join(", ")
    case "BaseUrl":
      return addressOf(campaign.BaseUrl)
    case "DefaultRegionId":
      return campaign.DefaultRegionId
  }
}

/** What this instance needs others to have. */
export const valuesOf = (settings: SettingsTree, campaigns: Campaigns): Values => {
  const values: Record<string, string> = { ...ofAll(settings) }
  for (const campaign of [...campaigns.all].sort((a, b) => (campaigns.key(a) < campaigns.key(b) ? -1 : 1))) {
    for (const setting of CAMPAIGN_SETTINGS)
      values[`${campaigns.key(campaign)} ${setting}`] = written(campaign, setting)
  }
  return values
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** Reads what an instance has written; nothing where that is of another version, or nobody's. */
export const readValues = (json: string): Values => Option.getOrElse(decode(json), () => ({}))

/** The keys of the campaigns in them. */
const keysIn = (values: Values): ReadonlyArray<string> =>
  Object.keys(values).flatMap((path) => (path.endsWith(" MaxConcurrency") ? [path.split(" ", 1)[0] ?? ""] : []))

/** What another wrote, fit for a log. */
const cut = (value: string): string =>
  (value.length > MOST_SHOWN ? `${value.slice(0, MOST_SHOWN)}…` : value).replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd")

/**
 * How others' settings differ from those here, in words; empty where they do not. What only one of them knows is no difference:
 * another version may have more settings.
 */
export const differenceOf = (here: Values, there: Values, campaigns: Campaigns): string => {
  const named: Array<string> = []
  const compare = (path: string, label: string): void => {
    const [one, other] = [here[path], there[path]]
    if (one === undefined || other === undefined || one === other) return
    named.push(`${label} is ${cut(one)} here and ${cut(other)} there`)
  }
  for (const path of Object.keys(here)) if (!path.includes(" ")) compare(path, path)
  const [own, theirs] = [keysIn(here), keysIn(there)]
  // of somebody who says nothing of campaigns, nothing is known
  const known = theirs.length > 0
  for (const campaign of campaigns.all) {
    const key = campaigns.key(campaign)
    if (known && !theirs.includes(key)) {
      named.push(`campaign ${campaign.name} (${cut(key)}) is in the settings here and not there`)
    }
    for (const setting of CAMPAIGN_SETTINGS) compare(`${key} ${setting}`, settingOf(campaign, setting))
  }
  for (const key of theirs) {
    if (!own.includes(key)) named.push(`campaign ${cut(key)} is in the settings there and not here`)
  }
  const more = named.length - MOST_NAMED
  return more > 0 ? `${named.slice(0, MOST_NAMED).join("; ")}; and ${more} more` : named.join("; ")
}
