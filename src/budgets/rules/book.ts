/**
 * A book keeps the budgets of one caller, or of one campaign and its account. All its keys share a hash tag.
 *
 *   ledger    hash  what each budget has in each window, by `<field> <budget> <window>`; the window is the time (ms since 1970) at which
 *                   it begins, so that an hour which comes twice is two windows:
 *                   `settled` and `held`, amounts; `adjusted`, what an operator has added to the cap; `alerted`, the share of the cap
 *                   at which was alerted last; `exhausted`, that nothing is left; `until`, when the window ends; `adjustment`, with its id as a fourth word: it was made
 *                   then; and `made <budget> 0 <id>`, the window in which that adjustment was made
 *   records   hash  hold → record, JSON (`HeldTime`). A settled one remembers what was settled, for repeats and corrections; and `@session`
 *                   → hold, JSON, by which a vendor's report finds it; and `?session` → reports that came before (`early-reports.ts`)
 *   holds     zset  hold by the time when the next thing is due of it: in a campaign's book the extension, in a caller's its expiry;
 *                   of a settled one when it is forgotten
 *   shared    hash  a ledger of the account, of which its campaigns' books have a part each
 *   events    zset  and `meta`, hash: the campaign's log of events (`fifo-queue/rules/shared/events.ts`); of a caller's book not used
 *   reports   zset  the sessions of early reports, by the time when each came; of a caller's book not used
 *
 * `settled + held` of a budget and window changes only together with the record that says why, in one step. So the sum of the records
 * is `held`, whatever was repeated, lost or late.
 */
import type { Db } from "../../store/rules/db.ts"
import {
  decode,
  encode,
  isNumber,
  isObject,
  isText,
  LOWEST,
  numberOf,
  textOf,
  textsIn,
  wordsOf,
} from "../../store/rules/native.ts"
import type { Alert, BudgetEffects, Overrun } from "../answers.ts"
import type { Rounding } from "./units.ts"

/** How long a settled hold, and a window that is over, are remembered for repeats and corrections (ms). */
export const REMEMBERED_MILLIS: number = 48 * 3_600_000
/** How long a book is kept after its last step (ms): longer than any call. */
export const KEPT_MILLIS: number = 4 * 24 * 3_600_000
/** Old holds that one step forgets in passing. */
export const MAX_FORGOTTEN = 20

export interface BookKeys {
  readonly ledger: string
  readonly records: string
  readonly holds: string
  readonly shared: string
  readonly events: string
  readonly meta: string
  readonly reports: string
}

export const BOOK_KEY_COUNT = 7

/** The books of a step, which a rule is given as a list of keys. */
export const booksOf = (keys: ReadonlyArray<string>): ReadonlyArray<BookKeys> => {
  const books: Array<BookKeys> = []
  for (let i = 0; i + BOOK_KEY_COUNT <= keys.length; i += BOOK_KEY_COUNT) {
    books.push({
      ledger: keys[i] as string,
      records: keys[i + 1] as string,
      holds: keys[i + 2] as string,
      shared: keys[i + 3] as string,
      events: keys[i + 4] as string,
      meta: keys[i + 5] as string,
      reports: keys[i + 6] as string,
    })
  }
  return books
}

/** What steps are told besides their calls. */
export interface BookContext {
  /** how far the time of day, by which windows begin and end, is behind the time of the step, as after a clock was set back (ms) */
  readonly behindMillis?: number
}

/** A budget in one window, as a step is told of it. */
export interface BudgetWindow {
  readonly name: string
  /** when it begins and ends (ms since 1970) */
  readonly from: number
  readonly until: number
  /** it is the account's */
  readonly shared?: true
}

/** What a budget has in a window. */
export interface BudgetStanding {
  readonly settled: number
  readonly held: number
  readonly adjusted: number
}

/** What a hold has of a budget: of a settled one, what was settled. */
export interface HoldPart extends Omit<BudgetWindow, "until"> {
  /** the price in millionths a minute; absent where the unit is the second */
  readonly perMinute?: number
  readonly cap: number
  amount: number
}

/** A hold. */
export interface HeldTime extends Rounding {
  /** how many seconds of the call are held; of a settled one, how many were billed */
  seconds: number
  /** the budgets of this book that it counts in */
  parts: Array<HoldPart>
  /** what the gate needs to go on with it; empty in a caller's book */
  readonly data: string
  /** when a caller's hold is given back, if its campaign never settles it (ms since 1970) */
  readonly expires: number
  settled: boolean
  /** the corrections that were made, separated by spaces */
  corrected: string
  /** of a settled one in a campaign's book: the ids of its session */
  sessions: ReadonlyArray<string>
}

/** A part as it is stored: its words. */
const textOfPart = ({ amount, cap, from, name, perMinute = 0, shared }: HoldPart): string =>
  `${name} ${textOf(from)} ${shared === true ? "shared" : "own"} ${textOf(perMinute)} ${textOf(cap)} ${textOf(amount)}`

const partOf = (text: string): HoldPart | undefined => {
  const words = wordsOf(text)
  const [name, from, whose, perMinute, cap, amount] = [words[0], words[1], words[2], words[3], words[4], words[5]]
  if (name === undefined || amount === undefined) return undefined
  const price = numberOf(perMinute)
  return {
    name,
    from: numberOf(from),
    ...(whose === "shared" ? { shared: true } : {}),
    ...(price > 0 ? { perMinute: price } : {}),
    cap: numberOf(cap),
    amount: numberOf(amount),
  }
}

const partsIn = (stored: unknown): Array<HoldPart> => {
  const parts: Array<HoldPart> = []
  for (const text of textsIn(stored)) {
    const part = partOf(text)
    if (part !== undefined) parts.push(part)
  }
  return parts
}

/** A record that is none counts as absent: what it held is freed when its window ends. */
export const loadHold = (db: Db, book: BookKeys, id: string): HeldTime | undefined => {
  const stored = db.hget(book.records, id)
  const found = stored === undefined ? undefined : decode(stored)
  if (!isObject(found)) return undefined
  const { corrected, data, expires, minimum, parts, roundUp, seconds, sessions, settled } = found
  if (!isNumber(seconds) || !isNumber(roundUp) || !isNumber(minimum) || !isNumber(expires)) return undefined
  return {
    seconds,
    roundUp,
    minimum,
    expires,
    parts: partsIn(parts),
    data: isText(data) ? data : "",
    settled: settled === true,
    corrected: isText(corrected) ? corrected : "",
    sessions: textsIn(sessions),
  }
}

/** @param due when the next thing is due of it (ms since 1970) */
export const saveHold = (db: Db, book: BookKeys, id: string, hold: HeldTime, due: number): void => {
  const { parts, sessions, ...others } = hold
  const fields = sessions.length === 0 ? others : { ...others, sessions }
  const texts: Array<string> = []
  for (const part of parts) texts.push(textOfPart(part))
  db.hset(book.records, id, encode(texts.length === 0 ? fields : { ...fields, parts: texts }))
  db.zadd(book.holds, due, id)
  db.pexpire(book.records, KEPT_MILLIS)
  db.pexpire(book.holds, KEPT_MILLIS)
}

/** Under which the records have the hold of a session, JSON. */
const sessionField = (session: string): string => `@${session}`

export const noteSessions = (db: Db, book: BookKeys, sessions: ReadonlyArray<string>, id: string): void => {
  for (const session of sessions) db.hset(book.records, sessionField(session), encode({ hold: id }))
}

/** The hold of a session with any of these ids. */
export const holdOfSession = (db: Db, book: BookKeys, sessions: ReadonlyArray<string>): string | undefined => {
  for (const session of sessions) {
    const stored = db.hget(book.records, sessionField(session))
    const found = stored === undefined ? undefined : decode(stored)
    if (isObject(found) && isText(found.hold)) return found.hold
  }
  return undefined
}

export const forgetHold = (db: Db, book: BookKeys, id: string): void => {
  for (const session of loadHold(db, book, id)?.sessions ?? []) db.hdel(book.records, sessionField(session))
  db.hdel(book.records, id)
  db.zrem(book.holds, id)
}

export const ledgerOf = (book: BookKeys, { shared }: { readonly shared?: true | undefined }): string =>
  shared === true ? book.shared : book.ledger

export const ledgerField = (what: string, { from, name }: { readonly name: string; readonly from: number }): string =>
  `${what} ${name} ${textOf(from)}`

export const standingOf = (
  db: Db,
  book: BookKeys,
  window: Pick<BudgetWindow, "name" | "from" | "shared">,
): BudgetStanding => {
  const found = db.hgetNumbers(ledgerOf(book, window), [
    ledgerField("settled", window),
    ledgerField("held", window),
    ledgerField("adjusted", window),
  ])
  return { settled: found[0] as number, held: found[1] as number, adjusted: found[2] as number }
}

/**
 * Forgets windows that were over long ago, and has the store drop the ledger when the last one is.
 * @param today the time of day where it is behind the time of the step, else the time of the step (ms since 1970)
 * @lazy
 */
const forgetWindows = (db: Db, ledger: string, today: number): void => {
  const all = db.hgetall(ledger)
  const over: { [window: string]: boolean } = {}
  let last = today
  for (let i = 0; i + 1 < all.length; i += 2) {
    const words = wordsOf(all[i] as string)
    const until = numberOf(all[i + 1] as string)
    if (words[0] === "until" && until + REMEMBERED_MILLIS <= today) over[`${words[1]} ${words[2]}`] = true
    else if (words[0] === "until" && until > last) last = until
  }
  for (let i = 0; i + 1 < all.length; i += 2) {
    const words = wordsOf(all[i] as string)
    const from = words[0] === "made" ? all[i + 1] : words[2]
    if (over[`${words[1]} ${from}`] === true) db.hdel(ledger, all[i] as string)
  }
  db.pexpire(ledger, last - today + REMEMBERED_MILLIS)
}

/** Notes that a budget has this window. */
export const openWindow = (
  db: Db,
  book: BookKeys,
  window: BudgetWindow,
  now: number,
  { behindMillis = 0 }: BookContext,
): void => {
  const ledger = ledgerOf(book, window)
  const name = ledgerField("until", window)
  if (db.hget(ledger, name) !== undefined) return
  db.hset(ledger, name, textOf(window.until))
  forgetWindows(db, ledger, now - behindMillis)
}

/** What a step has changed of budgets, besides its result. */
export interface BookEffects {
  readonly alerts: Array<Alert>
  readonly overruns: Array<Overrun>
  readonly exhausted: Array<string>
}

export const noEffects = (): BookEffects => ({ alerts: [], overruns: [], exhausted: [] })

export const budgetEffectsOf = ({ alerts, exhausted, overruns }: BookEffects): BudgetEffects => ({
  ...(alerts.length === 0 ? {} : { alerts }),
  ...(overruns.length === 0 ? {} : { overruns }),
  ...(exhausted.length === 0 ? {} : { exhausted }),
})

const beyondCap = ({ adjusted, held, settled }: BudgetStanding, cap: number): number =>
  Math.max(0, settled + held - cap - adjusted)

/** Adds to what a budget has settled and holds in a window, and notes what of that is beyond its cap. */
export const changeBudget = (
  db: Db,
  book: BookKeys,
  part: Pick<HoldPart, "cap" | "from" | "name" | "perMinute" | "shared">,
  settled: number,
  held: number,
  effects: BookEffects,
): void => {
  if (settled === 0 && held === 0) return
  const ledger = ledgerOf(book, part)
  const before = standingOf(db, book, part)
  if (settled !== 0) db.hincrby(ledger, ledgerField("settled", part), settled)
  if (held !== 0) db.hincrby(ledger, ledgerField("held", part), held)
  const after = { settled: before.settled + settled, held: before.held + held, adjusted: before.adjusted }
  const more = beyondCap(after, part.cap) - beyondCap(before, part.cap)
  if (more <= 0) return
  const overrun = { name: part.name, amount: more }
  effects.overruns.push(part.perMinute === undefined ? overrun : { ...overrun, money: true })
}

/** Gives a hold's amounts back, and remembers it as settled. */
export const settleHold = (
  db: Db,
  book: BookKeys,
  id: string,
  hold: HeldTime,
  billed: number,
  now: number,
  amountFor: (part: HoldPart) => number,
  effects: BookEffects,
): void => {
  for (const part of hold.parts) {
    const amount = amountFor(part)
    changeBudget(db, book, part, amount, -part.amount, effects)
    part.amount = amount
  }
  hold.settled = true
  hold.seconds = billed
  saveHold(db, book, id, hold, now + REMEMBERED_MILLIS)
}

/** In a caller's book: forgets settled holds, and gives back those whose campaign has lost them. Returns how many, at most `MAX_FORGOTTEN`. */
export const dropOldHolds = (db: Db, book: BookKeys, now: number, effects: BookEffects): number => {
  const ids = db.zrangebyscore(book.holds, LOWEST, now, MAX_FORGOTTEN)
  for (const id of ids) {
    const hold = loadHold(db, book, id)
    if (hold === undefined || hold.settled) forgetHold(db, book, id)
    else settleHold(db, book, id, hold, 0, now, () => 0, effects)
  }
  return ids.length
}
