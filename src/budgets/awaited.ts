/**
 * The budgets of campaigns and accounts for whose next windows callers wait, as each step of a queue is told of them
 * (`fifo-queue/rules/shared/awaited-budgets.ts`): while one has too little, the queue calls nobody.
 */
import type { AwaitedBudget } from "../fifo-queue/rules/shared/step.ts"
import type { Budgets } from "./Budgets.ts"
import type { Known } from "./known.ts"
import { ledgerField } from "./rules/book.ts"
import { amountOf } from "./rules/units.ts"
import { capOf, isAwaited, isOwn } from "./terms.ts"

/** How much the store's clock may move against the time of day before the ends of windows are told anew (ms). */
const DRIFT_MILLIS = 1_000

export const makeAwaited = ({ aheadMillis, budgetsOf, window }: Known): Budgets["Service"]["awaited"] => {
  return ({ name: campaign }) => {
    const budgets = budgetsOf(campaign)
    const all = budgets?.all.filter((each) => each.OnLimit === "wait" && !isOwn(each)) ?? []
    if (budgets === undefined || all.length === 0) return undefined
    let told: ReadonlyArray<AwaitedBudget> = []
    let toldFor = ""
    return (now) => {
      const ahead = aheadMillis()
      const present = all
        .map((budget) => ({ budget, ...window(budget.Per, budgets.timeZone, now) }))
        .filter(({ budget, until }) => isAwaited(budget, budgets, until, now + ahead))
      const key = [
        Math.round(ahead / DRIFT_MILLIS),
        ...present.map(({ budget, from }) => `${budget.Name} ${from}`),
      ].join()
      if (key === toldFor) return told
      toldFor = key
      told = present.map(({ budget, from, until }): AwaitedBudget => {
        const perMinute = budget.Unit === "money" ? budgets.perMinute : undefined
        return {
          fields: (["settled", "held", "adjusted"] as const).map((what) =>
            ledgerField(what, { name: budget.Name, from }),
          ),
          cap: capOf(budget),
          least: amountOf(budgets.least, perMinute),
          block: amountOf(budgets.block, perMinute),
          until: until - ahead,
          ...(budget.Of === "account" ? { ofAccount: true as const } : {}),
        }
      })
      return told
    }
  }
}

/** The present windows of the budgets for which callers wait, those of callers too. */
export const makeAwaitedWindows =
  ({ aheadMillis, budgetsOf, window }: Known): Budgets["Service"]["awaitedWindows"] =>
  ({ name: campaign }, now) => {
    const budgets = budgetsOf(campaign)
    if (budgets === undefined) return []
    return budgets.all.flatMap((budget) => {
      const { until } = window(budget.Per, budgets.timeZone, now)
      if (!isAwaited(budget, budgets, until, now + aheadMillis())) return []
      return { name: budget.Name, until, ...(isOwn(budget) ? { own: true as const } : {}) }
    })
  }
