/** What a reload changes: the names of settings that differ, and those that keep their old values until the next start. */
import { Redacted } from "effect"
import type { Campaign, SettingsTree } from "../Settings.ts"
import { NOT_INHERITED } from "./groups/campaign.ts"

/** What a reload applies. */
export interface Changes {
  /** the settings to apply: the new ones, except those in `kept` */
  readonly tree: SettingsTree
  /** the names of the settings that change, sorted */
  readonly changed: ReadonlyArray<string>
  /** the names of the settings that differ and cannot change while the gate runs, sorted */
  readonly kept: ReadonlyArray<string>
}

type Values = ReadonlyMap<string, string>

/** A secret is compared in plain text; neither side leaves this module. */
const plain = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return Redacted.value(value)
  return Array.isArray(value) ? value.map(plain) : value
}

const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !Redacted.isRedacted(value)

const collect = (group: object, base: string, into: Map<string, string>): void => {
  for (const [name, value] of Object.entries(group)) {
    if (isGroup(value)) collect(value, `${base}${name}.`, into)
    else into.set(base + name, JSON.stringify(plain(value)) ?? "")
  }
}

/** The settings of a group by path, as text that is equal exactly if the values are. */
const valuesOf = (group: object, base = ""): Values => {
  const values = new Map<string, string>()
  collect(group, base, values)
  return values
}

/** Text that is equal exactly if the settings of a group are; it contains secrets. */
export const textOfSettings = (group: object): string => JSON.stringify([...valuesOf(group)].sort())

const differing = (before: Values, after: Values): ReadonlyArray<string> =>
  [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path))

const pathOf = (name: string): string => (name === "default" ? "VoiceAiPlatform" : `VoiceAiPlatform.Campaigns.${name}`)

const settingsOfCampaign = ({ name, ...settings }: Campaign): Values => valuesOf(settings)

/**
 * The names of campaigns that were added or removed, and of the settings that changed. A setting that campaigns inherit is named
 * once, below the default campaign, for all those that changed with it.
 */
const campaignChanges = (before: SettingsTree, after: SettingsTree): ReadonlyArray<string> => {
  const [old, next] = [before, after].map(({ Campaigns }) => new Map(Campaigns.map((each) => [each.name, each])))
  const byDefault = new Map<string, string>()
  const names: Array<string> = []
  for (const campaign of after.Campaigns) {
    const known = old?.get(campaign.name)
    if (known === undefined) {
      names.push(`${pathOf(campaign.name)} (added)`)
      continue
    }
    const values = settingsOfCampaign(campaign)
    for (const setting of differing(settingsOfCampaign(known), values)) {
      const value = values.get(setting) ?? ""
      if (campaign.name === "default") byDefault.set(setting, value)
      else if (!NOT_INHERITED.includes(setting) && byDefault.get(setting) === value) continue
      names.push(`${pathOf(campaign.name)}.${setting}`)
    }
  }
  const removed = before.Campaigns.filter(({ name }) => next?.has(name) !== true)
  return [...names, ...removed.map(({ name }) => `${pathOf(name)} (removed)`)]
}

/** These are derived from other settings, which are named instead. */
const isDerived = (path: string): boolean => path === "Server.AllowedHosts" || path === "Server.PrivateHosts"

/** A running gate has the routes of the console, or not. */
const isConsoleSwitched = (before: SettingsTree, after: SettingsTree): boolean =>
  (before.Security.ConsoleToken === undefined) !== (after.Security.ConsoleToken === undefined)

const keepFixed = (before: SettingsTree, after: SettingsTree): SettingsTree => {
  const hostChanges = before.Server.Host !== after.Server.Host
  const { ConsoleToken: _, ...security } = after.Security
  const consoleToken = isConsoleSwitched(before, after) ? before.Security.ConsoleToken : after.Security.ConsoleToken
  // the new settings were checked for another address to listen on, where a webhook may need no proof
  const needsOldProof = hostChanges && security.WebhookApiToken.length + security.WebhookSigningSecret.length === 0
  const { WebhookApiToken, WebhookSigningSecret } = needsOldProof ? before.Security : security
  return {
    ...after,
    StoreConnectionString: before.StoreConnectionString,
    Privacy: before.Privacy,
    Security: {
      ...security,
      WebhookApiToken,
      WebhookSigningSecret,
      ConsoleToken: consoleToken,
    },
    Server: { ...before.Server, AllowedHosts: (hostChanges ? before : after).Server.AllowedHosts },
  }
}

/** Compares the settings in force with newly read ones. */
export const changesOf = (before: SettingsTree, after: SettingsTree): Changes => {
  const tree = keepFixed(before, after)
  const general = ({ Campaigns: _, ...rest }: SettingsTree): Values => valuesOf(rest)
  const all = differing(general(before), general(after))
  const applied = new Set(differing(general(before), general(tree)))
  return {
    tree,
    changed: [...all.filter((path) => applied.has(path)), ...campaignChanges(before, after)].sort(),
    kept: all.filter((path) => !isDerived(path) && !applied.has(path)).sort(),
  }
}
