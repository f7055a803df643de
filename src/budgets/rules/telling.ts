/** What a step of a campaign's book tells of its budgets: alerts, and that one is used up, for the log and the campaign's events. */
import type { Db } from "../../store/rules/db.ts"
import { encode, numberOf, textOf } from "../../store/rules/native.ts"
import {
  type BookEffects,
  type BookKeys,
  type BudgetWindow,
  type HoldPart,
  ledgerField,
  ledgerOf,
  standingOf,
} from "./book.ts"
import { type Rounding, secondsFor } from "./units.ts"

/** What a step does besides its answer, at this time. */
export interface Telling {
  readonly now: number
  readonly effects: BookEffects
  /** the campaign reports events */
  readonly events?: true | undefined
}

/** Appends an event of a budget to the campaign's log, in the step that makes it happen. */
export const appendBudgetEvent = (db: Db, book: BookKeys, now: number, event: object): void => {
  // a caller's book has no log
  if (book.events === book.ledger) return
  const seq = db.hincrby(book.meta, "events", 1)
  db.zadd(book.events, seq, encode({ ...event, seq, at: now }))
}

/** Alerts once a window when a share of the cap is settled or held. */
export const noteAlerts = (
  db: Db,
  book: BookKeys,
  window: Pick<BudgetWindow, "from" | "name" | "shared">,
  cap: number,
  shares: ReadonlyArray<number>,
  { effects, events, now }: Telling,
): void => {
  if (shares.length === 0) return
  const { adjusted, held, settled } = standingOf(db, book, window)
  let share = 0
  for (const each of shares) if (each > share && settled + held >= each * (cap + adjusted)) share = each
  const ledger = ledgerOf(book, window)
  const name = ledgerField("alerted", window)
  // in hundredths of a percent, since a stored number is whole
  const reached = Math.floor(share * 10_000)
  if (reached <= numberOf(db.hget(ledger, name))) return
  db.hset(ledger, name, textOf(reached))
  effects.alerts.push({ name: window.name, from: window.from, share, settled, held, adjusted })
  if (events === true) appendBudgetEvent(db, book, now, { type: "budget.alert", budget: window.name, share })
}

/** When a budget is used up: when what is settled alone leaves less than a call may begin with. */
export interface UsedUp extends Pick<Rounding, "roundUp"> {
  readonly cap: number
  /** the least with which a call may begin (s) */
  readonly least: number
}

/**
 * Tells that a budget is used up, when it becomes so. What running calls hold does not count, since they may give it back. Where that is no
 * longer so, after a correction, an adjustment or a higher cap, it may be told again.
 */
export const noteExhausted = (
  db: Db,
  book: BookKeys,
  window: Pick<HoldPart, "from" | "name" | "perMinute" | "shared">,
  { cap, least, roundUp }: UsedUp,
  { effects, events, now }: Telling,
): void => {
  const { adjusted, settled } = standingOf(db, book, window)
  const isUsedUp = secondsFor(cap + adjusted - settled, window.perMinute, { roundUp, minimum: 0 }) < least
  const ledger = ledgerOf(book, window)
  const name = ledgerField("exhausted", window)
  const isTold = db.hget(ledger, name) !== undefined
  if (isUsedUp === isTold) return
  if (!isUsedUp) {
    db.hdel(ledger, name)
    return
  }
  db.hset(ledger, name, textOf(now))
  effects.exhausted.push(window.name)
  if (events === true) appendBudgetEvent(db, book, now, { type: "budget.exhausted", budget: window.name })
}
