/** Logs and counts what steps have found: alerts, budgets that are used up, overruns. Each was found by one step, so each is told once. */
import { Effect } from "effect"
import type { Budget } from "../settings/groups/budgets.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { BudgetEffects } from "./answers.ts"
import type { Known } from "./known.ts"
import * as metrics from "./metrics.ts"
import { capOf, shown } from "./terms.ts"

const unitOf = (campaign: Campaign | undefined, { Unit }: Budget): string =>
  Unit === "minutes" ? "minutes" : (campaign?.Price?.Currency ?? "")

/** @param key the key of the campaign's queue; one that is not in the settings any more is named by it */
export type Note = (key: string, effects: BudgetEffects) => Effect.Effect<void>

export const makeNote = ({ budgetsOf, campaignOf }: Known): Note =>
  Effect.fnUntraced(function* (key, { alerts = [], exhausted = [], overruns = [] }) {
    const campaign = campaignOf(key)
    const name = campaign?.name ?? key
    const about = (budget: string) => Effect.annotateLogs({ campaign: name, budget })
    const named = (budget: string) => budgetsOf(name)?.all.find(({ Name }) => Name === budget)
    for (const { adjusted, held, name: budgetName, settled, share } of alerts) {
      const budget = named(budgetName)
      if (budget === undefined) continue
      yield* metrics.alerted(name, budgetName)
      yield* Effect.logWarning(
        `${Math.round(share * 100)} % of the budget ${budgetName} are used: ${shown(budget, settled)} ${unitOf(campaign, budget)} settled and ` +
          `${shown(budget, held)} held of ${shown(budget, capOf(budget) + adjusted)} in this ${budget.Per}.`,
      ).pipe(about(budgetName))
    }
    for (const each of exhausted) {
      yield* Effect.logWarning(
        `The budget ${each} is used up in this ${named(each)?.Per ?? "window"}: see OnLimit of it for what follows.`,
      ).pipe(about(each))
    }
    for (const { amount, money, name: budget } of overruns) {
      const more = shown({ Unit: money === true ? "money" : "minutes" }, amount)
      yield* metrics.overrun(name, budget, more)
      if (campaign === undefined) {
        yield* Effect.logWarning(
          `A call of a campaign that was removed from the settings has used ${more}${money === true ? "" : " minutes"} more than its budget ${budget} had left.`,
        ).pipe(about(budget))
      }
    }
  })
