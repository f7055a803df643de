/**
 * Which campaigns refuse newcomers because a budget of the campaign or its account is used up, and until when: as this gate has read the balances
 * last, every 15 s, and by its own refusals since. An answer from memory, for whoever asks; it says no amounts.
 */
import { Context, Layer } from "effect"
import type { BudgetBalance } from "../budgets/Budgets.ts"
import { budgetAnswerOf } from "../budgets/balance-answer.ts"
import type { BudgetExhausted } from "../protocol/refusals.ts"
import type { Campaign } from "../settings/Settings.ts"

export class UsedUpBudgets extends Context.Service<
  UsedUpBudgets,
  {
    /** What the budgets of the campaign and its account have. */
    readonly read: (campaign: Campaign, balances: ReadonlyArray<BudgetBalance>) => void
    /** A newcomer was refused. */
    readonly refused: (campaign: Campaign, refusal: BudgetExhausted) => void
    /** When the last of those that are used up begins anew (ms since 1970, by the time of day); undefined while newcomers are let in. */
    readonly resetsAt: (campaign: Campaign, now: number) => number | undefined
  }
>()("voicegate/gatekeeper/UsedUpBudgets") {}

export const layer: Layer.Layer<UsedUpBudgets> = Layer.sync(UsedUpBudgets, () => {
  const known = new Map<string, number>()
  return {
    read: (campaign, balances) => {
      const refusing = balances.filter((balance) => budgetAnswerOf(campaign, balance).refusing === true)
      if (refusing.length === 0) known.delete(campaign.name)
      else known.set(campaign.name, Math.max(...refusing.map(({ until }) => until)))
    },
    refused: ({ name }, { own, resetsAt }) => {
      if (!own) known.set(name, Math.max(resetsAt, known.get(name) ?? 0))
    },
    resetsAt: ({ name }, now) => {
      const until = known.get(name) ?? 0
      return until > now ? until : undefined
    },
  }
})
