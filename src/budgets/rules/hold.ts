/**
 * Holds time for a call in all of its budgets, or in none. `seconds` is the total that the hold shall have, so a repeated step changes
 * nothing, and a lost one is made good by the next. The first hold of a call is refused where less than `least` is left. A later one
 * extends it: what a budget that ends calls cannot give is not granted, and what one that only refuses new calls cannot give is granted
 * without being held; its use is settled, and counted as overrun.
 *
 * A hold that was settled before is not made any more: its step was late, and its call has ended.
 */

import type { Db } from "../../store/rules/db.ts"
import type { Run } from "../../store/rules/run.ts"
import type { Held } from "../answers.ts"
import {
  type BookContext,
  type BookEffects,
  type BookKeys,
  type BudgetWindow,
  booksOf,
  budgetEffectsOf,
  changeBudget,
  dropOldHolds,
  type HeldTime,
  type HoldPart,
  loadHold,
  noEffects,
  openWindow,
  saveHold,
  standingOf,
} from "./book.ts"
import { noteAlerts } from "./telling.ts"
import { amountOf, type Rounding, secondsFor } from "./units.ts"

/** What happens when nothing is left of a budget. */
export type OnLimit = "count" | "refuse" | "end"

/** A budget that a call counts in. */
export interface BudgetEntry extends BudgetWindow {
  readonly cap: number
  readonly onLimit: OnLimit
  /** the price in millionths a minute; absent where the unit is the second */
  readonly perMinute?: number
  /** shares of the cap at which to alert; absent for none */
  readonly shares?: ReadonlyArray<number>
}

/** What the step is told of one book. */
export interface BookPart {
  /** the budgets of the book; absent for none */
  readonly entries?: ReadonlyArray<BudgetEntry>
  /** kept in the book until the hold is settled; absent for none */
  readonly data?: string
  /** when the next thing is due of the hold (ms since 1970) */
  readonly due: number
  /** the same where less than what is asked for is left, so that more is found soon when there is more; absent where that changes nothing */
  readonly dueIfShort?: number
  /** a caller's book: it gives back by itself what its campaign has lost */
  readonly expires?: true
  /** the campaign reports events */
  readonly events?: true
}

export interface HoldCall extends Rounding {
  readonly id: string
  /** how many seconds it shall have in all, in whole steps of `roundUp` */
  readonly seconds: number
  /** the least with which a call may begin */
  readonly least: number
  /** the call runs, whatever the store knows of its holds */
  readonly running?: true
  /** as many as the keys have books */
  readonly books: ReadonlyArray<BookPart>
}

/** What is left for this hold of a budget, with what the hold has of it already. */
const leftFor = (
  db: Db,
  book: BookKeys,
  entry: Pick<HoldPart, "cap" | "from" | "name" | "shared">,
  had: number,
): number => {
  const { adjusted, held, settled } = standingOf(db, book, entry)
  return entry.cap + adjusted - settled - held + had
}

/** What a hold has of a budget already. */
const amountIn = (hold: HeldTime | undefined, { from, name, shared }: BudgetEntry): number => {
  let amount = 0
  if (hold === undefined) return amount
  for (const part of hold.parts) {
    if (part.name === name && part.from === from && part.shared === shared) amount = part.amount
  }
  return amount
}

const partFor = ({ cap, from, name, perMinute, shared }: BudgetEntry, amount: number): HoldPart => ({
  name,
  from,
  ...(shared === true ? { shared } : {}),
  ...(perMinute === undefined ? {} : { perMinute }),
  cap,
  amount,
})

/** Brings what the book holds to what `seconds` cost. */
const holdIn = (
  db: Db,
  book: BookKeys,
  call: HoldCall,
  seconds: number,
  { data = "", due, dueIfShort, entries = [], events }: BookPart,
  known: HeldTime | undefined,
  now: number,
  context: BookContext,
  effects: BookEffects,
): void => {
  const parts: Array<HoldPart> = []
  for (const entry of entries) {
    const had = amountIn(known, entry)
    const cost = amountOf(seconds, entry.perMinute)
    // of a call that goes on beyond the cap, no more is held than is left
    const amount = entry.onLimit === "refuse" ? Math.max(had, Math.min(cost, leftFor(db, book, entry, had))) : cost
    openWindow(db, book, entry, now, context)
    changeBudget(db, book, entry, 0, amount - had, effects)
    noteAlerts(db, book, entry, entry.cap, entry.shares ?? [], { now, effects, events })
    parts.push(partFor(entry, amount))
  }
  // a budget that is not in the settings any more counts the call until it is over, as one that only refuses new calls does
  for (const part of known?.parts ?? []) {
    let isKept = true
    for (const { from, name, shared } of parts) {
      if (part.name === name && part.from === from && part.shared === shared) isKept = false
    }
    if (isKept) {
      const had = part.amount
      part.amount = Math.max(had, Math.min(amountOf(seconds, part.perMinute), leftFor(db, book, part, had)))
      changeBudget(db, book, part, 0, part.amount - had, effects)
      parts.push(part)
    }
  }
  const { minimum, roundUp } = known ?? call
  const hold: HeldTime = {
    seconds,
    roundUp,
    minimum,
    expires: due,
    parts,
    data,
    settled: false,
    corrected: "",
    sessions: [],
  }
  saveHold(db, book, call.id, hold, seconds < call.seconds ? (dueIfShort ?? due) : due)
}

const holdOne = (db: Db, books: ReadonlyArray<BookKeys>, now: number, context: BookContext, call: HoldCall): Held => {
  const effects = noEffects()
  const known: Array<HeldTime | undefined> = []
  let had = 0
  for (let i = 0; i < books.length; i++) {
    const book = books[i] as BookKeys
    if ((call.books[i] as BookPart).expires === true) dropOldHolds(db, book, now, effects)
    const hold = loadHold(db, book, call.id)
    if (hold?.settled === true) return { _tag: "over" }
    known[i] = hold
    if (hold !== undefined) had = Math.max(had, hold.seconds)
  }
  const isRunning = call.running === true || had > 0
  let granted = call.seconds
  let short: BudgetEntry | undefined
  for (let i = 0; i < books.length; i++) {
    for (const entry of (call.books[i] as BookPart).entries ?? []) {
      const begins = entry.onLimit === "refuse" && !isRunning
      if (entry.onLimit === "end" || begins) {
        const left = leftFor(db, books[i] as BookKeys, entry, amountIn(known[i], entry))
        // what is held already stays held, also where the cap was lowered, or one of the books was lost
        const seconds = Math.max(Math.min(had, call.seconds), secondsFor(left, entry.perMinute, call))
        // one that only refuses new calls limits none that may begin
        if (seconds < granted && !(begins && seconds >= call.least)) {
          granted = seconds
          short = entry
        }
      }
    }
  }
  if (!isRunning && granted < call.least) {
    return {
      _tag: "refused",
      name: short?.name ?? "",
      from: short?.from ?? 0,
      until: short?.until ?? 0,
      ...budgetEffectsOf(effects),
    }
  }
  for (let i = 0; i < books.length; i++) {
    holdIn(db, books[i] as BookKeys, call, granted, call.books[i] as BookPart, known[i], now, context, effects)
  }
  return {
    _tag: "held",
    seconds: granted,
    ...(short === undefined ? {} : { short: short.name }),
    ...budgetEffectsOf(effects),
  }
}

/** Keys: those of one book after the other. */
export const runHold: Run<BookContext, HoldCall, Held> = (db, keys, now, context, calls) => {
  const answers: Array<Held> = []
  for (const call of calls) answers.push(holdOne(db, booksOf(keys), now, context, call))
  return answers
}
