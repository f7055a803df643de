/**
 * An operator's adjustment of a budget's cap in one window, made once by its id: also when it is repeated in the next window. Where less is left
 * than before, it alerts and tells that the budget is used up as a charge does, in the same step.
 */
import type { Db } from "../../store/rules/db.ts"
import { numberOf, textOf } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import type { Adjusted, Made } from "../answers.ts"
import {
  type BookContext,
  type BookEffects,
  type BookKeys,
  type BudgetWindow,
  booksOf,
  budgetEffectsOf,
  ledgerField,
  ledgerOf,
  noEffects,
  openWindow,
  standingOf,
} from "./book.ts"
import { noteAlerts, noteExhausted, type UsedUp } from "./telling.ts"

export interface AdjustCall extends BudgetWindow {
  /** added to the cap of this window; negative to take from it */
  readonly by: number
  /** names the adjustment, which is made once */
  readonly id: string
  /** the cap of the settings, and shares of it at which to alert; absent for none, and from a gate of an older version */
  readonly cap?: number
  readonly shares?: ReadonlyArray<number>
  /** when it is used up; absent for a budget of which that is not told */
  readonly usedUp?: UsedUp
  /** the price in millionths a minute; absent where the unit is the second */
  readonly perMinute?: number
  /** the campaign reports events */
  readonly events?: true
}

/** By how much it was made, in this window or in an earlier one; undefined if it was not. Gates of an older version know only of this window. */
const madeBy = (
  db: Db,
  book: BookKeys,
  window: Pick<BudgetWindow, "from" | "name" | "shared">,
  id: string,
): number | undefined => {
  const ledger = ledgerOf(book, window)
  const from = db.hget(ledger, `${ledgerField("made", { name: window.name, from: 0 })} ${id}`)
  const made = from === undefined ? window : { name: window.name, from: numberOf(from) }
  const by = db.hget(ledger, `${ledgerField("adjustment", made)} ${id}`)
  return by === undefined ? undefined : numberOf(by)
}

/** Adds to the cap of a window, once by the id. */
const adjustWindow = (db: Db, book: BookKeys, window: AdjustCall): Adjusted["result"] => {
  const { by, id } = window
  const before = madeBy(db, book, window, id)
  if (before !== undefined) return before === by ? "again" : "other"
  const ledger = ledgerOf(book, window)
  db.hset(ledger, `${ledgerField("adjustment", window)} ${id}`, textOf(by))
  db.hset(ledger, `${ledgerField("made", { name: window.name, from: 0 })} ${id}`, textOf(window.from))
  db.hincrby(ledger, ledgerField("adjusted", window), by)
  if (by > 0 && window.usedUp === undefined) db.hdel(ledger, ledgerField("exhausted", window))
  return "made"
}

/** What an adjustment tells that was made. */
const tell = (
  db: Db,
  book: BookKeys,
  now: number,
  { by, cap, events, shares = [], usedUp, ...window }: AdjustCall,
): BookEffects => {
  const effects = noEffects()
  if (by < 0 && cap !== undefined) noteAlerts(db, book, window, cap, shares, { now, effects, events })
  if (usedUp !== undefined) noteExhausted(db, book, window, usedUp, { now, effects, events })
  return effects
}

/** Keys: those of one book. */
export const runAdjust: Run<BookContext, AdjustCall, Adjusted> = (db, keys, now, context, calls) => {
  const answers: Array<Adjusted> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) {
    openWindow(db, book, call, now, context)
    const result = adjustWindow(db, book, call)
    const effects = result === "made" ? tell(db, book, now, call) : noEffects()
    answers.push({ result, ...standingOf(db, book, call), ...budgetEffectsOf(effects) })
  }
  return answers
}

/** Keys: those of one book. Changes nothing. */
export const runMade: Run<object, Pick<AdjustCall, "from" | "id" | "name" | "shared" | "until">, Made> = (
  db,
  keys,
  _now,
  _context,
  calls,
) => {
  const answers: Array<Made> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { id, ...window } of calls) answers.push({ made: madeBy(db, book, window, id) !== undefined })
  return answers
}
