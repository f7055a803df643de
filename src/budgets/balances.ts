/** What budgets have now, and an operator's adjustments of their caps. */
import { Effect } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { type Budget, millionths } from "../settings/groups/budgets.ts"
import type { Balance } from "./answers.ts"
import type { BudgetBalance, BudgetedCampaign, Budgets } from "./Budgets.ts"
import { callerBook, campaignBook } from "./keys.ts"
import type { Known } from "./known.ts"
import type { Note } from "./note.ts"
import { MAX_FORGOTTEN } from "./rules/book.ts"
import { rules } from "./rules.ts"
import { capOf, isAwaited, isOwn, shown } from "./terms.ts"

export const makeBalancesOf = ({ aheadMillis, budgetsOf, run, store, window }: Known) => {
  const balancesOf = Effect.fnUntraced(function* (
    { campaign, key }: BudgetedCampaign,
    caller: string | undefined,
    among: (budget: Budget) => boolean,
  ) {
    const budgets = budgetsOf(campaign.name)
    if (budgets === undefined) return []
    const now = yield* store.now
    const of = (own: boolean) => budgets.all.filter((budget) => isOwn(budget) === own && among(budget))
    const read = (keys: ReadonlyArray<string>, wanted: ReadonlyArray<Budget>) =>
      wanted.length === 0
        ? Effect.succeed<ReadonlyArray<BudgetBalance>>([])
        : Effect.map(
            run(rules.balance, keys, now, {
              windows: wanted.map(({ Name, Of, Per }) => ({
                name: Name,
                from: window(Per, budgets.timeZone, now).from,
                ...(Of === "account" ? { shared: true as const } : {}),
              })),
            }),
            ({ standings }: Balance) =>
              wanted.map((budget, n): BudgetBalance => {
                const { adjusted, held, settled } = standings[n] ?? { settled: 0, held: 0, adjusted: 0 }
                const left = capOf(budget) + adjusted - settled - held
                const present = window(budget.Per, budgets.timeZone, now)
                return {
                  budget,
                  ...present,
                  ...(isAwaited(budget, budgets, present.until, now + aheadMillis()) ? { waits: true } : {}),
                  settled: shown(budget, settled),
                  held: shown(budget, held),
                  adjusted: shown(budget, adjusted),
                  left: shown(budget, Math.max(0, left)),
                  overrun: shown(budget, Math.max(0, -left)),
                }
              }),
          )
    const [ofCampaign, ofCaller] = yield* Effect.all(
      [
        read(campaignBook(key), of(false)),
        caller === undefined ? Effect.succeed([]) : read(callerBook(caller), of(true)),
      ],
      { concurrency: "unbounded" },
    )
    return [...ofCampaign, ...ofCaller]
  })

  return balancesOf
}
export type BalancesOf = ReturnType<typeof makeBalancesOf>

/** How many pages of old holds of a caller are given back at once. */
const MAX_PAGES = 10

/**
 * Gives back what is held for calls of a caller whose campaigns have lost them, once those holds have expired. `hold` does so too, but a
 * caller whose budget they fill is refused before. Returns whether anything may have changed.
 */
export const makeGiveBack =
  ({ run, store }: Known) =>
  (caller: string): Effect.Effect<boolean, StoreUnavailable> =>
    Effect.gen(function* () {
      let pages = 0
      let found = 0
      do {
        found = yield* run(rules.giveBackLost, callerBook(caller), yield* store.now, {})
        pages++
      } while (found === MAX_FORGOTTEN && pages < MAX_PAGES)
      return pages > 1 || found > 0
    })
export type GiveBack = ReturnType<typeof makeGiveBack>

/** @param forgetRefusals callers who were refused may have something left now */
export const makeAdjustments = (
  { budgetsOf, run, store, told, window }: Known,
  note: Note,
  balancesOf: BalancesOf,
  forgetRefusals: () => void,
): Pick<Budgets["Service"], "adjustable" | "wasAdjusted" | "adjust"> => {
  const adjustableOf = (campaign: string, name: string, caller: string | undefined) => {
    const budgets = budgetsOf(campaign)
    const budget = budgets?.all.find((each) => each.Name === name)
    return budgets === undefined || budget === undefined || (isOwn(budget) && caller === undefined)
      ? undefined
      : { ...budgets, budget }
  }
  const bookOf = (budget: Budget, key: string, caller: string | undefined): ReadonlyArray<string> =>
    isOwn(budget) ? callerBook(caller ?? "") : campaignBook(key)
  const isShared = ({ Of }: Budget) => (Of === "account" ? { shared: true as const } : {})

  return {
    adjustable: ({ name: campaign }, name, caller) => adjustableOf(campaign, name, caller) !== undefined,
    wasAdjusted: Effect.fnUntraced(function* ({ campaign, key }, name, { caller, id }) {
      const found = adjustableOf(campaign.name, name, caller)
      if (found === undefined) return false
      const { budget, timeZone } = found
      const now = yield* store.now
      const { made } = yield* run(rules.made, bookOf(budget, key, caller), now, {
        ...{ name, ...window(budget.Per, timeZone, now), ...isShared(budget), id },
      })
      return made
    }),
    adjust: Effect.fnUntraced(function* (at, name, { by, caller, id }) {
      const found = adjustableOf(at.campaign.name, name, caller)
      if (found === undefined) return undefined
      const { budget, least, perMinute, roundUp, timeZone } = found
      const now = yield* store.now
      const cap = capOf(budget)
      const { events } = told(at.campaign)
      const adjusted = yield* run(rules.adjust, bookOf(budget, at.key, caller), now, {
        ...{ name, ...window(budget.Per, timeZone, now), ...isShared(budget), id },
        by: budget.Unit === "money" ? millionths(by) : Math.round(by * 60),
        ...(budget.AlertAt.length === 0 ? {} : { cap, shares: budget.AlertAt }),
        ...(isOwn(budget) ? {} : { usedUp: { cap, least, roundUp } }),
        ...(budget.Unit === "money" && perMinute !== undefined ? { perMinute } : {}),
        ...(events === undefined || isOwn(budget) ? {} : { events }),
      })
      const { result } = adjusted
      yield* note(at.key, adjusted)
      forgetRefusals()
      const [balance] = yield* balancesOf(at, caller, (each) => each === budget)
      return balance === undefined ? undefined : { result, balance }
    }),
  }
}
