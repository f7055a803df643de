/** The budgets of a campaign, as an operator sees them and changes them. */
import { Effect } from "effect"
import { budgetAnswerOf } from "../budgets/balance-answer.ts"
import type { Internals as Of } from "../gatekeeper/Internals.ts"
import { differencesOfBudgets } from "../gatekeeper/peers/settings-diff.ts"
import { parseAddress } from "../lib/ip/address.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { BudgetCaller, BudgetOrder } from "./budget-orders.ts"
import type { BudgetOutcome, BudgetsView } from "./budget-shapes.ts"
import type { UsedUpBudget } from "./shapes.ts"

type Internals = Pick<Of["Service"], "budgets" | "callerKey" | "names" | "peers">

/** The key of the caller who is meant; undefined for none, and null where that is nobody. */
const keyOf = ({ callerKey }: Internals, { caller, subject }: BudgetCaller): string | undefined | null => {
  if (subject !== undefined) return caller === undefined ? callerKey({ subject }) : null
  if (caller === undefined) return undefined
  return parseAddress(caller) === undefined ? null : callerKey({ address: caller })
}

/** With the names that callers have now. */
const named = <A>(
  { names }: Internals,
  work: () => Effect.Effect<A, StoreUnavailable>,
): Effect.Effect<A, StoreUnavailable> => Effect.andThen(names.ready ?? Effect.void, Effect.suspend(work))

/** `no_caller`: `caller` is no address, or there is a subject too. */
export const budgetsViewOf = (
  internals: Internals,
  campaign: Campaign,
  whose: BudgetCaller,
): Effect.Effect<BudgetsView | "no_caller", StoreUnavailable> =>
  named<BudgetsView | "no_caller">(internals, () => {
    const caller = keyOf(internals, whose)
    if (caller === null) return Effect.succeed("no_caller")
    return Effect.map(internals.budgets.balances(campaign, caller), (balances) => {
      const differences = internals.peers().differences.flatMap((each) => {
        const found = differencesOfBudgets(each, campaign)
        return found.length === 0 ? [] : [found.join("; ")]
      })
      return {
        campaign: campaign.name,
        budgets: balances.map((balance) => budgetAnswerOf(campaign, balance)),
        ...(differences.length === 0 ? {} : { differences: [...new Set(differences)] }),
      }
    })
  })

/** What callers of the campaign are refused for; nothing while the store is unavailable. */
export const usedUpOf = (
  { budgets }: Pick<Internals, "budgets">,
  campaign: Campaign,
): Effect.Effect<{ readonly usedUp?: UsedUpBudget }> =>
  Effect.match(budgets.balances(campaign, undefined), {
    onFailure: () => ({}),
    onSuccess: (balances) => {
      const last = balances
        .filter((balance) => budgetAnswerOf(campaign, balance).refusing === true)
        .toSorted((a, b) => a.until - b.until)
        .at(-1)
      if (last === undefined) return {}
      const { budget, until } = last
      return { usedUp: { budget: budget.Name, until, endsCalls: budget.OnLimit === "end" } }
    },
  })

/** The line of the audit log is written before. */
export const adjustBudgetOf = (
  internals: Internals,
  campaign: Campaign,
  operator: string,
  { budget, by, id, reason, ...whose }: BudgetOrder,
): Effect.Effect<BudgetOutcome | "no_caller", StoreUnavailable> =>
  named<BudgetOutcome | "no_caller">(internals, () => {
    const caller = keyOf(internals, whose)
    if (caller === null) return Effect.succeed("no_caller")
    return Effect.map(
      internals.budgets.adjust(campaign, budget, { caller, by, id }, { operator, reason }),
      (adjusted): BudgetOutcome =>
        adjusted === undefined
          ? { result: "unknown_budget" }
          : adjusted.result === "other"
            ? { result: "other_amount" }
            : {
                result: "done",
                made: adjusted.result === "made",
                balance: budgetAnswerOf(campaign, adjusted.balance),
              },
    )
  })
