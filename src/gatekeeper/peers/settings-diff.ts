/**
 * Compares the settings that must be the same on all instances of one store: those that are declared with `shared` in `settings/groups`.
 * They contain no secret, because they are written to the store and to the log.
 */
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import { BudgetSettings, PriceSettings } from "../../settings/groups/budgets.ts"
import { CampaignSettings } from "../../settings/groups/campaign.ts"
import { HoursSettings } from "../../settings/groups/hours.ts"
import { type Campaign, GeneralSettings, type SettingsTree } from "../../settings/Settings.ts"
import { sharedNames } from "../../settings/setting.ts"
import { type Campaigns, settingOf } from "../Campaigns.ts"

/** Settings by path. The path of a campaign's setting is the campaign's key, a space and the setting's name. */
export type SharedSettings = Readonly<Record<string, string>>

/** How many differences a message names, and how many characters of a value it shows. */
const MAX_NAMED = 8
const MAX_VALUE_LENGTH = 100
/** Between the items of a value that is a list of longer texts. */
const ITEMS = "; "

/** What the balance of a budget depends on. */
const BUDGET_SETTINGS = ["Price", "Budget", "Budgets"] as const

const valueAt = (settings: object, name: string): unknown => Reflect.get(settings, name)

/** The settings outside campaigns whose declaration says that instances share them. */
const globalSettings = (tree: SettingsTree): SharedSettings => {
  const values: Record<string, string> = {}
  for (const [group, declared] of Object.entries(GeneralSettings.fields)) {
    const settings = valueAt(tree, group)
    if (!("fields" in declared) || typeof settings !== "object" || settings === null) continue
    for (const name of sharedNames(declared.fields)) values[`${group}.${name}`] = String(valueAt(settings, name))
  }
  return values
}

const CAMPAIGN_SETTINGS = sharedNames(CampaignSettings.fields)

/** Shows the origin and a digest of the URL instead of its path, which may contain a token. */
const addressOf = (url: string): string => {
  const digest = createHash("sha256").update(url).digest("hex").slice(0, 8)
  return `${URL.parse(url)?.origin ?? ""}/… (${digest})`
}

/** The settings of a group that are declared as shared. */
const groupOf = (fields: Schema.Struct.Fields, group: object): string =>
  sharedNames(fields)
    .map((name) => `${name} ${valueAt(group, name) ?? "not set"}`)
    .join(", ")

/** The text of a value. Gates of other versions compare it, and it is logged. */
const format = (campaign: Campaign, setting: string): string => {
  switch (setting) {
    case "MaxConcurrency":
      return campaign.MaxConcurrency === undefined ? "the platform's figure" : String(campaign.MaxConcurrency)
    case "SilenceSeconds":
      return campaign.SilenceSeconds === undefined ? "no limit" : String(campaign.SilenceSeconds)
    case "IdentityRequired":
      return campaign.IdentityRequired === undefined ? "as Identity.Required" : String(campaign.IdentityRequired)
    case "MaxCallSeconds":
    case "VendorEndsAfterMinutes":
      return String(campaign[setting] ?? "not set")
    case "Account": {
      const { MaxConcurrency = "the platform's figure", Name = "none", ReservedSlots = 0 } = campaign.Account ?? {}
      return campaign.Account === undefined ? Name : `${Name} of ${MaxConcurrency}, ${ReservedSlots} reserved`
    }
    case "Events": {
      const { MaxStored, RetentionHours, Url } = campaign.Events ?? {}
      if (campaign.Events === undefined) return "off"
      return `${Url === undefined ? "without a URL" : addressOf(Url)}, kept ${RetentionHours} h, at most ${MaxStored}`
    }
    case "BaseUrl":
      return addressOf(campaign.BaseUrl)
    case "Hours":
      return campaign.Hours === undefined ? "always open" : groupOf(HoursSettings.fields, campaign.Hours)
    case "Price":
      return campaign.Price === undefined ? "none" : groupOf(PriceSettings.fields, campaign.Price)
    case "Budget":
      return campaign.Budget === undefined ? "none" : groupOf(BudgetSettings.fields, campaign.Budget)
    case "Budgets":
      if (campaign.Budgets === undefined) return "none"
      return campaign.Budgets.map(
        ({ AlertAt, Cap, Name, Of, OnLimit, Per, Unit }) =>
          `${Name} ${Cap} ${Unit} a ${Per} of the ${Of}, ${OnLimit}, alerts at ${AlertAt.join(", ") || "none"}`,
      ).join(ITEMS)
    default: {
      const value = valueAt(campaign, setting)
      return Array.isArray(value) ? value.join(", ") : String(value)
    }
  }
}

/** The settings of this instance that the others must share. */
export const sharedSettingsOf = (settings: SettingsTree, campaigns: Campaigns["Service"]): SharedSettings => {
  const values: Record<string, string> = { ...globalSettings(settings) }
  for (const campaign of [...campaigns.all].sort((a, b) => (campaigns.key(a) < campaigns.key(b) ? -1 : 1))) {
    for (const setting of CAMPAIGN_SETTINGS) values[`${campaigns.key(campaign)} ${setting}`] = format(campaign, setting)
  }
  return values
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** Reads the settings that an instance has written; empty if they cannot be decoded, as from another version. */
export const readSharedSettings = (json: string): SharedSettings => Option.getOrElse(decode(json), () => ({}))

const campaignKeysIn = (values: SharedSettings): ReadonlyArray<string> =>
  Object.keys(values).flatMap((path) => (path.endsWith(" MaxConcurrency") ? [path.split(" ", 1)[0] ?? ""] : []))

/** Whether these are of an instance that serves the campaign with this key and is of a version without opening hours (0.1). */
export const ignoresHours = (values: SharedSettings, key: string): boolean =>
  values[`${key} MaxConcurrency`] !== undefined && values[`${key} Hours`] === undefined

/** Shortens a value from another instance for the log. */
const shortened = (value: string): string =>
  value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value

/** Without control characters, as of another instance; so it has no line break either. */
const sanitised = (text: string): string => text.replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd")

/** Of a long value that is a list, only the items that the other one has not: what both have would hide them. */
const apart = (value: string, other: string): string => {
  const others = other.split(ITEMS)
  const own = value.split(ITEMS).filter((item) => !others.includes(item))
  return own.length === 0 ? "without that" : own.join(ITEMS)
}

/**
 * Says how another instance's settings (`there`) differ from those here, each difference as one line. A setting that only one of them has is
 * not a difference: versions may have different settings.
 */
export const differencesOf = (
  here: SharedSettings,
  there: SharedSettings,
  campaigns: Campaigns["Service"],
): ReadonlyArray<string> => {
  const named: Array<string> = []
  const compare = (path: string, label: string): void => {
    const [one, other] = [here[path], there[path]]
    if (one === undefined || other === undefined || one === other) return
    const isLong = Math.max(one.length, other.length) > MAX_VALUE_LENGTH
    const [shownHere, shownThere] = isLong ? [apart(one, other), apart(other, one)] : [one, other]
    named.push(`${label} is ${shortened(shownHere)} here and ${shortened(shownThere)} there`)
  }
  for (const path of Object.keys(here)) if (!path.includes(" ")) compare(path, path)
  const [own, theirs] = [campaignKeysIn(here), campaignKeysIn(there)]
  // an instance that reports no campaigns cannot be compared by campaign
  const known = theirs.length > 0
  for (const campaign of campaigns.all) {
    const key = campaigns.key(campaign)
    if (known && !theirs.includes(key)) {
      named.push(`campaign ${campaign.name} (${shortened(key)}) is in the settings here and not there`)
    }
    for (const setting of CAMPAIGN_SETTINGS) compare(`${key} ${setting}`, settingOf(campaign, setting))
  }
  for (const key of theirs) {
    if (!own.includes(key)) named.push(`campaign ${shortened(key)} is in the settings there and not here`)
  }
  return named.map(sanitised)
}

/** The first ones of many differences, in one sentence. */
export const inShort = (differences: ReadonlyArray<string>): string => {
  const more = differences.length - MAX_NAMED
  return more > 0 ? `${differences.slice(0, MAX_NAMED).join("; ")}; and ${more} more` : differences.join("; ")
}

/** Those of the settings on which the balances of a campaign's budgets depend. */
export const differencesOfBudgets = (differences: ReadonlyArray<string>, campaign: Campaign): ReadonlyArray<string> =>
  differences.filter((each) => BUDGET_SETTINGS.some((name) => each.startsWith(`${settingOf(campaign, name)} is `)))
