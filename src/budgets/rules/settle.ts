/**
 * Settles a hold: what the call has used is charged to its budgets, and the rest of what was held is given back. Once: a settled hold is
 * remembered, so a repeated step changes nothing. A hold that is not known is remembered too, so that its step, which comes too late,
 * does not hold anything. Of a call that was, the answer is `lost`: its hold is made first (`budgets/layer.ts`).
 *
 * A correction changes what a settled hold was charged to what its vendor says that it was, in the windows in which it was charged, once
 * by its id.
 */
import type { Db } from "../../store/rules/db.ts"
import { wordsOf } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import type { Corrected, Settled } from "../answers.ts"
import {
  type BookKeys,
  booksOf,
  budgetEffectsOf,
  changeBudget,
  type HeldTime,
  holdOfSession,
  loadHold,
  noEffects,
  noteSessions,
  REMEMBERED_MILLIS,
  saveHold,
  settleHold,
} from "./book.ts"
import { forgetReports, keepReport, keptReports } from "./early-reports.ts"
import { appendBudgetEvent, noteAlerts, noteExhausted, type Telling } from "./telling.ts"
import { amountOf, billedSeconds } from "./units.ts"

/** What is told of a campaign's budgets that are used up; absent in a caller's book. */
export interface TellsUsedUp {
  /** by the names of the budgets */
  readonly caps: Readonly<Record<string, number>>
  /** the least with which a call may begin (s) */
  readonly least: number
}

const noteAllExhausted = (
  db: Db,
  book: BookKeys,
  { parts, roundUp }: HeldTime,
  tells: TellsUsedUp | undefined,
  telling: Telling,
): void => {
  for (const part of parts) {
    const cap = tells?.caps[part.name]
    if (tells !== undefined && cap !== undefined)
      noteExhausted(db, book, part, { cap, least: tells.least, roundUp }, telling)
  }
}

/** At which shares of its cap a budget alerts. */
export interface AlertsAt {
  readonly cap: number
  readonly shares: ReadonlyArray<number>
}

/** By the names of the budgets. */
type Alerting = Readonly<Record<string, AlertsAt>>

/** A charge may be more than what was held: of a call that its vendor says was longer, or that ran beyond the cap. */
const noteAllAlerts = (
  db: Db,
  book: BookKeys,
  { parts }: HeldTime,
  alerts: Alerting | undefined,
  telling: Telling,
): void => {
  for (const part of parts) {
    const at = alerts?.[part.name]
    if (at !== undefined) noteAlerts(db, book, part, at.cap, at.shares, telling)
  }
}

export interface SettleCall {
  readonly id: string
  /** how long the call was, in whole seconds; 0 for a hold whose call has not begun */
  readonly seconds: number
  /** nobody knows how long it was: it has used what it holds */
  readonly unknown?: true
  /** the ids of its session, by which the vendor's report is about it; absent or empty for none */
  readonly sessions?: ReadonlyArray<string>
  /** absent for budgets that do not alert */
  readonly alerts?: Alerting
  readonly tells?: TellsUsedUp
  /** the campaign reports events */
  readonly events?: true
}

/** What is known of a hold that nobody has made. */
const unmade = (expires: number): HeldTime => ({
  seconds: 0,
  roundUp: 1,
  minimum: 0,
  expires,
  parts: [],
  data: "",
  settled: true,
  corrected: "",
  sessions: [],
})

const settleOne = (
  db: Db,
  book: BookKeys,
  now: number,
  { alerts, events, id, seconds, sessions = [], tells, unknown }: SettleCall,
): Settled => {
  const hold = loadHold(db, book, id)
  // a call without its hold: the store has lost the hold
  if (hold === undefined && seconds > 0) return { _tag: "lost" }
  if (hold === undefined) {
    const until = now + REMEMBERED_MILLIS
    saveHold(db, book, id, unmade(until), until)
    return { _tag: "unmade" }
  }
  if (hold.settled) {
    const reports = keptReports(db, book, hold.sessions)
    const again = { _tag: "again" as const, billed: hold.seconds, data: hold.data }
    return reports.length === 0 ? again : { ...again, reports }
  }
  const effects = noEffects()
  if (sessions.length > 0) {
    hold.sessions = sessions
    noteSessions(db, book, sessions, id)
  }
  const billed = unknown === true ? hold.seconds : billedSeconds(seconds, hold)
  settleHold(
    db,
    book,
    id,
    hold,
    billed,
    now,
    ({ amount, perMinute }) => (unknown === true ? amount : amountOf(billed, perMinute)),
    effects,
  )
  noteAllAlerts(db, book, hold, alerts, { now, effects, events })
  noteAllExhausted(db, book, hold, tells, { now, effects, events })
  const reports = keptReports(db, book, sessions)
  const settled = { _tag: "settled" as const, billed, data: hold.data, ...budgetEffectsOf(effects) }
  return reports.length === 0 ? settled : { ...settled, reports }
}

/** Keys: those of one book. */
export const runSettle: Run<object, SettleCall, Settled> = (db, keys, now, _context, calls) => {
  const answers: Array<Settled> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) answers.push(settleOne(db, book, now, call))
  return answers
}

export interface CorrectCall {
  /** the hold; absent where only its session is known */
  readonly id?: string
  /** any ids of its session */
  readonly sessions?: ReadonlyArray<string>
  /** names the vendor's report; has no spaces */
  readonly report: string
  /** how long the call was (s), if the report says so */
  readonly seconds?: number
  /** what it cost, in millionths of the currency, if the report says so */
  readonly cost?: number
  /** the caller's part is not charged yet: the report is kept, and nothing else is done */
  readonly keep?: true
  /** absent for budgets that do not alert */
  readonly alerts?: Alerting
  readonly tells?: TellsUsedUp
  /** the campaign reports events */
  readonly events?: true
}

const correctOne = (db: Db, book: BookKeys, now: number, call: CorrectCall): Corrected => {
  const sessions = call.sessions ?? []
  if (call.keep === true) {
    keepReport(db, book, now, sessions, call)
    return { _tag: "unsettled" }
  }
  const id = call.id ?? holdOfSession(db, book, sessions)
  const hold = id === undefined ? undefined : loadHold(db, book, id)
  if (id === undefined || hold === undefined || !hold.settled) {
    if (sessions.length > 0) keepReport(db, book, now, sessions, call)
    return { _tag: "unsettled" }
  }
  forgetReports(db, book, sessions)
  // a vendor sends a report again, also after a later one
  for (const report of wordsOf(hold.corrected)) {
    if (report === call.report) return { _tag: "again", id, data: hold.data }
  }
  const effects = noEffects()
  const billed = call.seconds === undefined ? hold.seconds : billedSeconds(call.seconds, hold)
  for (const part of hold.parts) {
    const known = call.cost !== undefined && part.perMinute !== undefined ? call.cost : amountOf(billed, part.perMinute)
    changeBudget(db, book, part, known - part.amount, 0, effects)
    part.amount = known
  }
  noteAllAlerts(db, book, hold, call.alerts, { now, effects, events: call.events })
  noteAllExhausted(db, book, hold, call.tells, { now, effects, events: call.events })
  const by = billed - hold.seconds
  hold.seconds = billed
  hold.corrected = hold.corrected === "" ? call.report : `${hold.corrected} ${call.report}`
  saveHold(db, book, id, hold, now + REMEMBERED_MILLIS)
  if (call.events === true && (by !== 0 || call.cost !== undefined)) {
    appendBudgetEvent(db, book, now, {
      type: "call.corrected",
      session: hold.sessions[0],
      billedSeconds: billed,
      ...(call.cost === undefined ? {} : { cost: call.cost / 1_000_000 }),
    })
  }
  return { _tag: "corrected", by, billed, id, data: hold.data, ...budgetEffectsOf(effects) }
}

/** Keys: those of one book. */
export const runCorrect: Run<object, CorrectCall, Corrected> = (db, keys, now, _context, calls) => {
  const answers: Array<Corrected> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) answers.push(correctOne(db, book, now, call))
  return answers
}
