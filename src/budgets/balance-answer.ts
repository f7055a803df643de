/** A balance as it is told to programs and operators. */
import type { BudgetAnswer } from "../protocol/budget-answers.ts"
import { isoTime } from "../protocol/session-answers.ts"
import { millionths } from "../settings/groups/budgets.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { BudgetBalance } from "./Budgets.ts"
import { secondsFor } from "./rules/units.ts"
import { compile } from "./terms.ts"

/** Whether a call that would begin now is refused, because less is left than it must hold at first. */
const isRefusing = (
  campaign: Campaign,
  { budget, left, waits }: Pick<BudgetBalance, "budget" | "left" | "waits">,
): boolean => {
  const terms = budget.OnLimit === "count" || waits === true ? undefined : compile(campaign)
  if (terms === undefined) return false
  const isMoney = budget.Unit === "money"
  const amount = isMoney ? millionths(left) : Math.round(left * 60)
  return secondsFor(amount, isMoney ? terms.perMinute : undefined, terms) < terms.least
}

export const budgetAnswerOf = (
  campaign: Campaign,
  { budget, from, until, waits, ...amounts }: BudgetBalance,
): BudgetAnswer => ({
  budget: budget.Name,
  campaign: campaign.name,
  of: budget.Of,
  unit: budget.Unit === "money" ? (campaign.Price?.Currency ?? "") : budget.Unit,
  per: budget.Per,
  onLimit: budget.OnLimit,
  refusing: isRefusing(campaign, { budget, left: amounts.left, ...(waits === undefined ? {} : { waits }) }),
  cap: budget.Cap,
  ...amounts,
  windowFrom: isoTime(from),
  resetsAt: isoTime(until),
})
