/** Reads the budgets of campaigns, and checks that they can be kept and that campaigns which share one agree about it. */
import { type PlatformName, vendorOf } from "../../platform-api/vendors.ts"
import {
  type Budget,
  BudgetItem,
  BudgetSettings,
  budgetsOf,
  type CampaignBudgets,
  PriceSettings,
} from "../groups/budgets.ts"
import type { Campaign } from "../Settings.ts"
import type { Reader } from "./reader.ts"

/** The most budgets of a campaign: each is a part of every call's hold. */
const MAX_BUDGETS = 16

/** The paths of the items of a list of groups, in order. */
const itemsAt = (read: Reader, base: string): ReadonlyArray<string> => {
  const fields = Object.keys(BudgetItem.fields)
  return Array.from({ length: 100 }, (_, n) => `${base}.Budgets.${n}.`).filter((item) =>
    fields.some((field) => read.has(item + field)),
  )
}

/** Whether the gate can end the campaign's calls at its platform. */
const canEnd = (read: Reader, base: string, inheritFrom: string | undefined, platform: PlatformName): boolean => {
  const { endsCalls = true } = vendorOf(platform) ?? {}
  if (typeof endsCalls === "boolean") return endsCalls
  return read.has(`${base}.${endsCalls}`) || (inheritFrom !== undefined && read.has(`${inheritFrom}.${endsCalls}`))
}

/** Reports a setting that is given neither there nor where it is inherited from, once. One that is wrong is reported already. */
const needSetting = (read: Reader, bases: ReadonlyArray<string>, name: string, expected: string): void => {
  const path = `${bases[0]}.${name}`
  if (bases.some((base) => read.has(`${base}.${name}`)) || read.problems.some((problem) => problem.path === path))
    return
  read.reportMissing(path, expected)
}

const checkOne = (
  read: Reader,
  at: string,
  base: string,
  inheritFrom: string | undefined,
  { Name, Of, OnLimit, Unit }: Budget,
  ends: boolean,
): void => {
  if (OnLimit === "end" && !ends) {
    const expected = "refuse, wait or count: the gate cannot end a call at this platform, so it could not keep the cap"
    if (read.has(`${at}OnLimit`)) read.reportInvalid(`${at}OnLimit`, expected)
    else read.reportMissing(`${at}OnLimit`, expected)
  }
  if (Of === "account")
    needSetting(read, [base], "Account.Name", `the account's name, which the budget ${Name} of the account needs`)
  if (Unit !== "money") return
  const bases = inheritFrom === undefined ? [base] : [base, inheritFrom]
  needSetting(read, bases, "Price.PerMinute", `what a minute costs, which the budget ${Name} of money needs`)
  needSetting(read, bases, "Price.Currency", `the currency, which the budget ${Name} of money needs`)
}

/** Undefined for a campaign without budgets, and where one has a problem. */
export const readBudgets = (
  read: Reader,
  base: string,
  platform: PlatformName,
  inheritFrom?: string,
): CampaignBudgets | undefined => {
  const own = itemsAt(read, base)
  const items = own.length > 0 || inheritFrom === undefined ? own : itemsAt(read, inheritFrom)
  const groupAt = (name: string) => ({
    base: `${base}.${name}.`,
    inheritFrom: inheritFrom && `${inheritFrom}.${name}.`,
  })
  const { valid: Price } = read.group({ ...groupAt("Price"), schema: PriceSettings, draft: PriceSettings })
  const { valid: settings } = read.group({ ...groupAt("Budget"), schema: BudgetSettings, draft: BudgetSettings })
  if (items.length === 0) return undefined
  if (items.length > MAX_BUDGETS) read.reportMissing(`${base}.Budgets`, `at most ${MAX_BUDGETS} budgets`)
  if (settings !== undefined && settings.EndLeadSeconds * 2 > settings.BlockSeconds) {
    read.reportInvalid(
      `${base}.Budget.EndLeadSeconds`,
      `at most half of Budget.BlockSeconds, which is ${settings.BlockSeconds}`,
    )
  }
  const Budgets: Array<Budget> = []
  const names = new Set<string>()
  for (const at of items) {
    const { valid } = read.group({ base: at, schema: BudgetItem, draft: BudgetItem })
    if (valid === undefined) continue
    if (names.has(valid.Name)) read.reportInvalid(`${at}Name`, "another name: a budget before it has this one")
    names.add(valid.Name)
    checkOne(read, at, base, inheritFrom, valid, canEnd(read, base, inheritFrom, platform))
    Budgets.push(valid)
  }
  if (Price === undefined || settings === undefined) return undefined
  return Budgets.length === items.length ? { Price, Budget: settings, Budgets } : undefined
}

const baseOf = ({ name }: Campaign): string =>
  name === "default" ? "VoiceAiPlatform" : `VoiceAiPlatform.Campaigns.${name}`

/** What campaigns that have a budget in common must say alike. */
const commonText = ({ Cap, OnLimit, Per, Unit }: Budget, { Budget, Price }: CampaignBudgets): string =>
  JSON.stringify([Cap, OnLimit, Per, Unit, Budget.Zone, Unit === "money" ? Price.Currency : ""])

/**
 * Reports budgets that campaigns have in common, by their names, and describe differently: those of a caller, whom they all know, and those
 * of an account.
 */
export const checkSharedBudgets = (read: Reader, campaigns: ReadonlyArray<Campaign>): void => {
  const known = new Map<string, { readonly text: string; readonly base: string }>()
  for (const campaign of campaigns) {
    const { Account } = campaign
    const budgets = budgetsOf(campaign)
    for (const budget of budgets?.Budgets ?? []) {
      if (budget.Of === "campaign") continue
      const key = `${budget.Of === "account" ? Account?.Name : ""}/${budget.Of}/${budget.Name}`
      const text = budgets === undefined ? "" : commonText(budget, budgets)
      const first = known.get(key)
      if (first === undefined) known.set(key, { text, base: baseOf(campaign) })
      else if (first.text !== text) {
        read.reportMissing(
          `${baseOf(campaign)}.Budgets`,
          `for the ${budget.Of}'s budget ${budget.Name} the same as in ${first.base}, which has it in common: Unit, Per, Cap, OnLimit, Budget.Zone and, of money, Price.Currency`,
        )
      }
    }
  }
}
