/** What a reload changes: the settings that differ, and those that keep their old values until the next start. */
import { Redacted } from "effect"
import { NOT_INHERITED } from "./groups/campaign.ts"
import type { Campaign, SettingsTree } from "./Settings.ts"
import { showChange, showing } from "./showing/shown-values.ts"

/** A setting that changes, with both values as they may be shown; without values for a campaign that is added or removed. */
export interface SettingChange {
  readonly setting: string
  readonly before?: string
  readonly after?: string
}

/** What a reload applies. */
export interface Changes {
  /** the settings to apply: the new ones, except those in `kept` */
  readonly tree: SettingsTree
  /** the settings that change, sorted by name */
  readonly changes: ReadonlyArray<SettingChange>
  /** the names of the settings that differ and cannot change while the gate runs, sorted */
  readonly kept: ReadonlyArray<string>
}

/** Values by the path of their setting, each with a text that is equal exactly if the values are. */
type Values = ReadonlyMap<string, { readonly text: string; readonly value: unknown }>

/** A secret is compared in plain text; neither side leaves this module. */
const plain = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return Redacted.value(value)
  return Array.isArray(value) ? value.map(plain) : value
}

/** Text that is equal exactly if two values are; it contains secrets. */
const textOf = (value: unknown): string => JSON.stringify(plain(value)) ?? ""

const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !Redacted.isRedacted(value)

const collect = (group: object, base: string, into: Map<string, { text: string; value: unknown }>): void => {
  for (const [name, value] of Object.entries(group)) {
    if (isGroup(value)) collect(value, `${base}${name}.`, into)
    else into.set(base + name, { text: textOf(value), value })
  }
}

const valuesOf = (group: object, base = ""): Values => {
  const values = new Map<string, { text: string; value: unknown }>()
  collect(group, base, values)
  return values
}

/** Text that is equal exactly if the settings of a group are; it contains secrets. */
export const textOfSettings = (group: object): string =>
  JSON.stringify([...valuesOf(group)].map(([path, { text }]) => [path, text]).sort())

const differing = (before: Values, after: Values): ReadonlyArray<string> =>
  [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path)?.text !== after.get(path)?.text)

const pathOf = (name: string): string => (name === "default" ? "VoiceAiPlatform" : `VoiceAiPlatform.Campaigns.${name}`)

const settingsOfCampaign = ({ name, ...settings }: Campaign): Values => valuesOf(settings)

type Describe = (setting: string, before: unknown, after: unknown) => SettingChange

/**
 * The campaigns that were added or removed, and the settings that changed. A setting that campaigns inherit is named once, below the
 * default campaign, for all those that changed with it.
 */
const campaignChanges = (
  before: SettingsTree,
  after: SettingsTree,
  describe: Describe,
): ReadonlyArray<SettingChange> => {
  const [old, next] = [before, after].map(({ Campaigns }) => new Map(Campaigns.map((each) => [each.name, each])))
  const byDefault = new Map<string, string>()
  const changes: Array<SettingChange> = []
  for (const campaign of after.Campaigns) {
    const known = old?.get(campaign.name)
    if (known === undefined) {
      changes.push({ setting: `${pathOf(campaign.name)} (added)` })
      continue
    }
    const [had, has] = [settingsOfCampaign(known), settingsOfCampaign(campaign)]
    for (const setting of differing(had, has)) {
      const text = has.get(setting)?.text ?? ""
      if (campaign.name === "default") byDefault.set(setting, text)
      else if (!NOT_INHERITED.includes(setting) && byDefault.get(setting) === text) continue
      changes.push(describe(`${pathOf(campaign.name)}.${setting}`, had.get(setting)?.value, has.get(setting)?.value))
    }
  }
  const removed = before.Campaigns.filter(({ name }) => next?.has(name) !== true)
  return [...changes, ...removed.map(({ name }) => ({ setting: `${pathOf(name)} (removed)` }))]
}

/** These are derived from other settings, which are named instead. */
const isDerived = (path: string): boolean =>
  ["Security.LocalWebhooks", "Server.AllowedHosts", "Server.PrivateHosts"].includes(path)

/** Whether the reload would switch the console on or off. A running gate cannot add or remove the console's routes. */
const isConsoleSwitched = (before: SettingsTree, after: SettingsTree): boolean =>
  (before.Security.ConsoleToken.length === 0) !== (after.Security.ConsoleToken.length === 0)

const keepFixed = (before: SettingsTree, after: SettingsTree): SettingsTree => {
  const hostChanges = before.Server.Host !== after.Server.Host
  const { ConsoleToken: _, ...security } = after.Security
  const consoleToken = isConsoleSwitched(before, after) ? before.Security.ConsoleToken : after.Security.ConsoleToken
  return {
    ...after,
    StoreConnectionString: before.StoreConnectionString,
    Privacy: before.Privacy,
    Security: {
      ...security,
      // the gate goes on listening on its old address
      LocalWebhooks: hostChanges
        ? before.Security.LocalWebhooks && security.TrustedProxies.length === 0
        : security.LocalWebhooks,
      ConsoleToken: consoleToken,
    },
    Server: {
      ...before.Server,
      AllowedHosts: (hostChanges ? before : after).Server.AllowedHosts,
      DrainSeconds: after.Server.DrainSeconds,
      TraceParent: after.Server.TraceParent,
    },
  }
}

export const changesOf = (before: SettingsTree, after: SettingsTree): Changes => {
  const tree = keepFixed(before, after)
  const general = ({ Campaigns: _, ...rest }: SettingsTree): Values => valuesOf(rest)
  const [had, wanted, has] = [general(before), general(after), general(tree)]
  const all = differing(had, wanted)
  const applied = new Set(differing(had, has))
  const show = showing(before, after)
  const describe: Describe = (setting, old, next) => ({ setting, ...showChange(old, next, show, textOf) })
  const changes = [
    ...all
      .filter((path) => applied.has(path))
      .map((path) => describe(path, had.get(path)?.value, has.get(path)?.value)),
    ...campaignChanges(before, after, describe),
  ]
  return {
    tree,
    changes: changes.sort((a, b) => (a.setting < b.setting ? -1 : 1)),
    kept: all.filter((path) => !isDerived(path) && !applied.has(path)).sort(),
  }
}
