/** What budgets have in a window. */
import type { Run } from "../../store/rules/run.ts"
import type { Balance, Exhausted } from "../answers.ts"
import {
  type BookContext,
  type BookKeys,
  type BudgetStanding,
  type BudgetWindow,
  booksOf,
  noEffects,
  openWindow,
  standingOf,
} from "./book.ts"
import { noteExhausted, type UsedUp } from "./telling.ts"

export interface BalanceCall {
  /** at least one */
  readonly windows: ReadonlyArray<Pick<BudgetWindow, "name" | "from" | "shared">>
}

/** Keys: those of one book. Changes nothing. */
export const runBalance: Run<object, BalanceCall, Balance> = (db, keys, _now, _context, calls) => {
  const answers: Array<Balance> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { windows } of calls) {
    const found: Array<BudgetStanding> = []
    for (const window of windows) found.push(standingOf(db, book, window))
    answers.push({ standings: found })
  }
  return answers
}

export interface ExhaustCall extends BudgetWindow, UsedUp {
  /** the price in millionths a minute; absent where the unit is the second */
  readonly perMinute?: number
  /** the campaign reports events */
  readonly events?: true
}

/**
 * A caller was refused because too little is left of this budget: perhaps only because running calls hold it, perhaps because the cap was
 * lowered. Keys: those of a campaign's book.
 */
export const runExhaust: Run<BookContext, ExhaustCall, Exhausted> = (db, keys, now, context, calls) => {
  const answers: Array<Exhausted> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) {
    const effects = noEffects()
    openWindow(db, book, call, now, context)
    noteExhausted(db, book, call, call, { now, effects, events: call.events })
    answers.push({ told: effects.exhausted.length > 0 })
  }
  return answers
}
