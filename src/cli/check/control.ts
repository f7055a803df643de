/**
 * What a campaign's settings say of the length and the price of calls, of budgets and of offers, in words. Nobody is asked: the operator
 * sees whether the settings say what was meant.
 */
import { DateTime } from "effect"
import { compile, isTooSmall, WORTH_SECONDS } from "../../budgets/terms.ts"
import { windowOf } from "../../budgets/windows.ts"
import { openingAt } from "../../lib/opening-hours/schedule.ts"
import { settingPath } from "../../platform-api/faults.ts"
import { type Budget, budgetsOf, type CampaignBudgets } from "../../settings/groups/budgets.ts"
import { type CampaignHours, openingHoursOf } from "../../settings/groups/hours.ts"
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

/** So many windows fall on every hour of a week, every day of a week, and every month. */
const WINDOWS = { hour: 168, day: 7, month: 12 } as const satisfies Record<Budget["Per"], number>

/**
 * Whether the campaign closes before each next window of a budget begins, by the hours of a week. Closed days are left out: on them it is
 * closed even longer.
 */
const closesBeforeEach = ({ Per }: Budget, budgetZone: string, hours: CampaignHours, now: number): boolean => {
  const opening = { ...openingHoursOf(hours), closed: [] }
  const zone = DateTime.zoneMakeNamedUnsafe(budgetZone)
  let at = now
  for (let n = 0; n < WINDOWS[Per]; n++) {
    at = windowOf(Per, zone, at).until
    // who waits at its last moment is open until it begins
    if (openingAt(opening, at - 1).isOpen) return false
  }
  return true
}

const whenUsedUp = (
  budget: Budget,
  { WaitMinutes, Zone }: CampaignBudgets["Budget"],
  hours: CampaignHours | undefined,
  now: number,
): string => {
  const { Of, OnLimit, Per } = budget
  const who = Of === "caller" ? "calls of that caller" : "callers"
  switch (OnLimit) {
    case "end":
      return `When it is used up, new ${who} are refused, and running calls are warned and ended`
    case "refuse":
      return `When it is used up, new ${who} are refused, and running calls go on`
    case "wait":
      return hours !== undefined && Of === "caller" && closesBeforeEach(budget, Zone, hours, now)
        ? `When it is used up, running calls go on, and new ${who} are refused: the campaign closes before the next ${Per} begins, so OnLimit wait acts as refuse`
        : `When it is used up, running calls go on, and new ${who} wait in the queue if the next ${Per} begins within ` +
            `${WaitMinutes} minutes${hours === undefined ? "" : ", and the campaign is open until then"}; otherwise they are refused`
    case "count":
      return "When it is used up, nothing happens: it only counts"
  }
}

const budgetText = (budget: Budget, settings: CampaignBudgets, { Account, Hours }: Campaign, now: number): string => {
  const { AlertAt, Cap, Name, Of, Per, Unit } = budget
  const { Currency = "", PerMinute } = settings.Price
  const much = Unit === "minutes" ? `${Cap} ${Cap === 1 ? "minute" : "minutes"}` : `${Cap} ${Currency}`
  const long = Unit === "money" && PerMinute !== undefined ? ` (about ${Math.floor(Cap / PerMinute)} minutes)` : ""
  const shares = AlertAt.map((share) => `${Math.round(share * 100)} %`).join(" and ")
  const alerts = shares === "" ? "" : `. The log says when ${shares} of it are used`
  return (
    `${Name}: at most ${much}${long} each ${Per}, by the clock of ${settings.Budget.Zone}, ${WHOSE[Of](Account?.Name)}. ` +
    `${whenUsedUp(budget, settings.Budget, Hours, now)}${alerts}`
  )
}

const overflowText = ({ name, Overflow }: Campaign): ReadonlyArray<string> => {
  if (Overflow === undefined) return []
  const offers = offersOf(name, Overflow).map(
    ({ kind, label, target }) => `"${label}" (${kind === "campaign" ? "the campaign " : ""}${target})`,
  )
  if (offers.length === 0) return []
  return [
    `callers who would wait longer than ${seconds(Overflow.AfterSeconds)}, or who find the queue full, the campaign closed or a budget used up, are ` +
      `offered: ${offers.join(", ")}`,
  ]
}

/** The caps of a campaign that are too small for any call, each with what follows. */
export const smallCaps = (campaign: Campaign): ReadonlyArray<string> => {
  const terms = compile(campaign)
  if (terms === undefined) return []
  return terms.all
    .filter((budget) => budget.OnLimit !== "count" && isTooSmall(budget, terms))
    .map(
      ({ Name }) =>
        `${settingPath(campaign.name, "Budgets")}: the Cap of the budget ${Name} is too small for any call, so every caller is refused. ` +
        `A call begins with at least ${terms.least} s: Budget.EndLeadSeconds and ${WORTH_SECONDS} s more, or Price.MinimumSeconds ` +
        "if that is longer, in whole steps of Price.RoundUpSeconds.",
    )
}

/** @param now ms since 1970 */
export const controlFindings = (campaign: Campaign, now: number): ReadonlyArray<ControlFinding> => {
  const budgets = budgetsOf(campaign)
  const texts: ReadonlyArray<readonly [name: ControlFinding["name"], texts: ReadonlyArray<string>]> = [
    ["call length", lengthText(campaign)],
    ["price", budgets === undefined ? [] : priceText(budgets)],
    [
      "budget",
      budgets === undefined ? [] : budgets.Budgets.map((budget) => budgetText(budget, budgets, campaign, now)),
    ],
    ["overflow", overflowText(campaign)],
  ]
  return texts.flatMap(([name, messages]) =>
    messages.map((message) => ({ name, campaign: campaign.name, status: "ok" as const, message })),
  )
}
