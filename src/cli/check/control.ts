/**
 * What a campaign's settings say of the length and the price of calls, of budgets and of offers, in words. Nobody is asked: the operator
 * sees whether the settings say what was meant.
 */
import { type Budget, budgetsOf, type CampaignBudgets } from "../../settings/groups/budgets.ts"
import { offersOf } from "../../settings/groups/overflow.ts"
import type { Campaign } from "../../settings/Settings.ts"

export interface ControlFinding {
  readonly name: "call length" | "price" | "budget" | "overflow"
  readonly campaign: string
  readonly status: "ok"
  readonly message: string
}

const seconds = (count: number): string => {
  if (count % 60 !== 0) return `${count} s`
  return count === 60 ? "1 minute" : `${count / 60} minutes`
}

const lengthText = ({ MaxCallSeconds }: Campaign): ReadonlyArray<string> =>
  MaxCallSeconds === undefined
    ? []
    : [`a call may last ${seconds(MaxCallSeconds)} (MaxCallSeconds); its page is warned before`]

const priceText = ({ Budgets, Price }: CampaignBudgets): ReadonlyArray<string> => {
  const { Currency, MinimumSeconds, PerMinute, RoundUpSeconds } = Price
  if (PerMinute === undefined || Currency === undefined) return []
  const least = MinimumSeconds === 0 ? "" : `, and as at least ${MinimumSeconds} s`
  const used = Budgets.some(({ Unit }) => Unit === "money") ? "" : ". No budget of money uses it"
  const vendors =
    Currency === "USD"
      ? "What a vendor's webhook says that a call has cost is charged instead"
      : `What a vendor's webhook says that a call has cost is in USD, so it is not charged`
  return [
    `a minute costs ${PerMinute} ${Currency}, and a call is billed in steps of ${RoundUpSeconds} s${least}. ${vendors}${used}`,
  ]
}

const WHOSE = {
  caller: () => "for each caller",
  campaign: () => "for all calls of this campaign together",
  account: (account = "") => `for all calls of the account ${account} together`,
} as const satisfies Record<Budget["Of"], (account?: string) => string>

const whenUsedUp = ({ Of, OnLimit, Per }: Budget, { WaitMinutes }: CampaignBudgets["Budget"]): string => {
  const who = Of === "caller" ? "calls of that caller" : "callers"
  switch (OnLimit) {
    case "end":
      return `When it is used up, new ${who} are refused, and running calls are warned and ended`
    case "refuse":
      return `When it is used up, new ${who} are refused, and running calls go on`
    case "wait":
      return (
        `When it is used up, running calls go on, and new ${who} wait in the queue if the next ` +
        `${Per} begins within ${WaitMinutes} minutes; otherwise they are refused`
      )
    case "count":
      return "When it is used up, nothing happens: it only counts"
  }
}

const budgetText = (budget: Budget, settings: CampaignBudgets, account: string | undefined): string => {
  const { AlertAt, Cap, Name, Of, Per, Unit } = budget
  const { Currency = "", PerMinute } = settings.Price
  const much = Unit === "minutes" ? `${Cap} ${Cap === 1 ? "minute" : "minutes"}` : `${Cap} ${Currency}`
  const long = Unit === "money" && PerMinute !== undefined ? ` (about ${Math.floor(Cap / PerMinute)} minutes)` : ""
  const shares = AlertAt.map((share) => `${Math.round(share * 100)} %`).join(" and ")
  const alerts = shares === "" ? "" : `. The log says when ${shares} of it are used`
  return (
    `${Name}: at most ${much}${long} each ${Per}, by the clock of ${settings.Budget.Zone}, ${WHOSE[Of](account)}. ` +
    `${whenUsedUp(budget, settings.Budget)}${alerts}`
  )
}

const overflowText = ({ name, Overflow }: Campaign): ReadonlyArray<string> => {
  if (Overflow === undefined) return []
  const offers = offersOf(name, Overflow).map(
    ({ kind, label, target }) => `"${label}" (${kind === "campaign" ? "the campaign " : ""}${target})`,
  )
  if (offers.length === 0) return []
  return [
    `callers who would wait longer than ${seconds(Overflow.AfterSeconds)}, or who find the queue full or the campaign closed, are ` +
      `offered: ${offers.join(", ")}`,
  ]
}

export const controlFindings = (campaign: Campaign): ReadonlyArray<ControlFinding> => {
  const budgets = budgetsOf(campaign)
  const account = campaign.Account?.Name
  const texts: ReadonlyArray<readonly [name: ControlFinding["name"], texts: ReadonlyArray<string>]> = [
    ["call length", lengthText(campaign)],
    ["price", budgets === undefined ? [] : priceText(budgets)],
    ["budget", budgets === undefined ? [] : budgets.Budgets.map((budget) => budgetText(budget, budgets, account))],
    ["overflow", overflowText(campaign)],
  ]
  return texts.flatMap(([name, messages]) =>
    messages.map((message) => ({ name, campaign: campaign.name, status: "ok" as const, message })),
  )
}
