/** What budgets have in a window, and an operator's adjustment of one. */
import type { Run } from "../../store/rules/run.ts"
import type { Adjusted, Balance, Exhausted } from "../answers.ts"
import {
  adjustWindow,
  type BookKeys,
  type BudgetStanding,
  type BudgetWindow,
  booksOf,
  noEffects,
  noteExhausted,
  openWindow,
  standingOf,
} from "./book.ts"

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

export interface AdjustCall extends BudgetWindow {
  /** added to the cap of this window; negative to take from it */
  readonly by: number
  /** names the adjustment, which is made once */
  readonly id: string
}

/** Keys: those of one book. */
export const runAdjust: Run<object, AdjustCall, Adjusted> = (db, keys, now, _context, calls) => {
  const answers: Array<Adjusted> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { by, id, ...window } of calls) {
    openWindow(db, book, window, now)
    const made = adjustWindow(db, book, window, by, id)
    answers.push({ made, ...standingOf(db, book, window) })
  }
  return answers
}

export interface ExhaustCall extends BudgetWindow {
  /** the campaign reports events */
  readonly events?: true
}

/** A caller was refused who was not held for, because too little is left of this budget. Keys: those of a campaign's book. */
export const runExhaust: Run<object, ExhaustCall, Exhausted> = (db, keys, now, _context, calls) => {
  const answers: Array<Exhausted> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { events, ...window } of calls) {
    const effects = noEffects()
    openWindow(db, book, window, now)
    noteExhausted(db, book, window, { now, effects, events })
    answers.push({ told: effects.exhausted.length > 0 })
  }
  return answers
}
