/** An operator's adjustment of a budget's cap in one window, made once by its id: also when it is repeated in the next window. */
import type { Db } from "../../store/rules/db.ts"
import { numberOf, textOf } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import type { Adjusted, Made } from "../answers.ts"
import {
  type BookContext,
  type BookKeys,
  type BudgetWindow,
  booksOf,
  ledgerField,
  ledgerOf,
  openWindow,
  standingOf,
} from "./book.ts"

export interface AdjustCall extends BudgetWindow {
  /** added to the cap of this window; negative to take from it */
  readonly by: number
  /** names the adjustment, which is made once */
  readonly id: string
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
const adjustWindow = (db: Db, book: BookKeys, { by, id, ...window }: AdjustCall): Adjusted["result"] => {
  const before = madeBy(db, book, window, id)
  if (before !== undefined) return before === by ? "again" : "other"
  const ledger = ledgerOf(book, window)
  db.hset(ledger, `${ledgerField("adjustment", window)} ${id}`, textOf(by))
  db.hset(ledger, `${ledgerField("made", { name: window.name, from: 0 })} ${id}`, textOf(window.from))
  db.hincrby(ledger, ledgerField("adjusted", window), by)
  if (by > 0) db.hdel(ledger, ledgerField("exhausted", window))
  return "made"
}

/** Keys: those of one book. */
export const runAdjust: Run<BookContext, AdjustCall, Adjusted> = (db, keys, now, context, calls) => {
  const answers: Array<Adjusted> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) {
    openWindow(db, book, call, now, context)
    const result = adjustWindow(db, book, call)
    answers.push({ result, ...standingOf(db, book, call) })
  }
  return answers
}

/** Keys: those of one book. Changes nothing. */
export const runMade: Run<object, Omit<AdjustCall, "by">, Made> = (db, keys, _now, _context, calls) => {
  const answers: Array<Made> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { id, ...window } of calls) answers.push({ made: madeBy(db, book, window, id) !== undefined })
  return answers
}
