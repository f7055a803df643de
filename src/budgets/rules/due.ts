/**
 * Finds the holds of a campaign of which something is due: their calls need more time, or have been lost. They are claimed for the asking
 * gate: no other one is given them meanwhile, and another one is if this gate dies. Forgets settled ones whose time is over.
 */
import { LOWEST } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import type { DueHold, DueHolds, Missing } from "../answers.ts"
import { type BookKeys, booksOf, dropOldHolds, forgetHold, loadHold, noEffects } from "./book.ts"

/** Holds that one step returns. */
const MAX_DUE = 100

export interface FindDue {
  /** how long the asking gate may take, before any gate is given them again (ms) */
  readonly claimMillis: number
}

/** Keys: those of a campaign's book. */
export const runDue: Run<object, FindDue, DueHolds> = (db, keys, now, _context, calls) => {
  const answers: Array<DueHolds> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { claimMillis } of calls) {
    const found: Array<DueHold> = []
    const ids = db.zrangebyscore(book.holds, LOWEST, now, MAX_DUE)
    for (const id of ids) {
      const hold = loadHold(db, book, id)
      if (hold === undefined || hold.settled) forgetHold(db, book, id)
      else {
        db.zadd(book.holds, now + claimMillis, id)
        found.push({ id, seconds: hold.seconds, data: hold.data })
      }
    }
    const answer: DueHolds = found.length === 0 ? {} : { holds: found }
    // old holds that were forgotten must not keep running calls waiting
    answers.push(ids.length < MAX_DUE ? answer : { ...answer, more: true })
  }
  return answers
}

export interface Postpone {
  readonly id: string
  /** when something is due of it next (ms since 1970) */
  readonly due: number
}

/** Keys: those of a campaign's book. */
export const runPostpone: Run<object, Postpone, boolean> = (db, keys, _now, _context, calls) => {
  const answers: Array<boolean> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { due, id } of calls) {
    const hold = loadHold(db, book, id)
    const isRunning = hold !== undefined && !hold.settled
    if (isRunning) db.zadd(book.holds, due, id)
    answers.push(isRunning)
  }
  return answers
}

/** Gives back what a caller's campaigns have lost, a page of it; returns how many holds were looked at. Keys: those of the caller's book. */
export const runGiveBackLost: Run<object, object, number> = (db, keys, now, _context, calls) => {
  const answers: Array<number> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const _ of calls) answers.push(dropOldHolds(db, book, now, noEffects()))
  return answers
}

/** Keys: those of a campaign's book. Changes nothing. */
export const runMissing: Run<object, { readonly ids: ReadonlyArray<string> }, Missing> = (
  db,
  keys,
  _now,
  _context,
  calls,
) => {
  const answers: Array<Missing> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const { ids } of calls) {
    const missing: Array<string> = []
    for (const id of ids) if (loadHold(db, book, id) === undefined) missing.push(id)
    answers.push(missing.length === 0 ? {} : { ids: missing })
  }
  return answers
}
