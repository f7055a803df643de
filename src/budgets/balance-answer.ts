/** A balance as it is told to programs and operators. */
import type { BudgetAnswer } from "../protocol/budget-answers.ts"
import { isoTime } from "../protocol/session-answers.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { BudgetBalance } from "./Budgets.ts"

export const budgetAnswerOf = (
  campaign: Campaign,
  { budget, from, until, ...amounts }: BudgetBalance,
): BudgetAnswer => ({
  budget: budget.Name,
  campaign: campaign.name,
  of: budget.Of,
  unit: budget.Unit === "money" ? (campaign.Price?.Currency ?? "") : budget.Unit,
  per: budget.Per,
  cap: budget.Cap,
  ...amounts,
  windowFrom: isoTime(from),
  resetsAt: isoTime(until),
})
