/** An operator's adjustment of a budget's cap in one window, made once by its id: also when it is repeated in the next window. */
import type { Db } from "../../store/rules/db.ts"
import { textOf } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import type { Adjusted, Made } from "../answers.ts"
import { type BookKeys, type BudgetWindow, booksOf, ledgerField, ledgerOf, openWindow, standingOf } from "./book.ts"

export interface AdjustCall extends BudgetWindow {
  /** added to the cap of this window; negative to take from it */
  readonly by: number
  /** names the adjustment, which is made once */
  readonly id: string
}

/** It was made in this window or in an earlier one. Gates of an older version know only of this window. */
const wasMade = (
  db: Db,
  book: BookKeys,
  window: Pick<BudgetWindow, "from" | "name" | "shared">,
  id: string,
): boolean => {
  const ledger = ledgerOf(book, window)
  if (db.hget(ledger, `${ledgerField("made", { name: window.name, from: 0 })} ${id}`) !== undefined) return true
  return db.hget(ledger, `${ledgerField("adjustment", window)} ${id}`) !== undefined
}

/** Adds to the cap of a window, once by the id. Returns whether it did. */
const adjustWindow = (db: Db, book: BookKeys, { by, id, ...window }: AdjustCall): boolean => {
  if (wasMade(db, book, window, id)) return false
  const ledger = ledgerOf(book, window)
  db.hset(ledger, `${ledgerField("adjustment", window)} ${id}`, textOf(by))
  db.hset(ledger, `${ledgerField("made", { name: window.name, from: 0 })} ${id}`, textOf(window.from))
  db.hincrby(ledger, ledgerField("adjusted", window), by)
  if (by > 0) db.hdel(ledger, ledgerField("exhausted", window))
  return true
}

/** Keys: those of one book. */
export const runAdjust: Run<object, AdjustCall, Adjusted> = (db, keys, now, _context, calls) => {
  const answers: Array<Adjusted> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) {
    openWindow(db, book, call, now)
    const made = adjustWindow(db, book, call)
    answers.push({ made, ...standingOf(db, book, call) })
  }
  return answers
}

/** Keys: those of one book. Changes nothing. */
export const runMade: Run<object, Omit<AdjustCall, "by">, Made> = (db, keys, _now, _context, calls) => {
  const answers: Array<Made> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { id, ...window } of calls) answers.push({ made: wasMade(db, book, window, id) })
  return answers
}
