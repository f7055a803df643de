/**
 * Forgets a caller in budgets, or counts: the caller's own book, and the calls in a campaign's book. Calls for which time is held are kept with
 * their windows, since they are charged when they end; and so is what campaign and account have used, which names nobody.
 */
import { isNamed } from "../../fifo-queue/rules/operator/forget.ts"
import type { Db } from "../../store/rules/db.ts"
import { beginsWith, decode, encode, isObject } from "../../store/rules/native.ts"
import type { Run } from "../../store/rules/run.ts"
import type { ForgottenBook, ForgottenCalls } from "../answers.ts"
import { type BookKeys, booksOf, forgetHold, loadHold } from "./book.ts"

/** The most calls that one step looks at. */
const MAX_CALLS_PER_STEP = 200

export interface ForgetBook {
  /** calls for which time is held, as the steps before have found; they come first */
  readonly skip: number
  /** remove what is found; otherwise it is counted */
  readonly remove?: true
}

const windowsIn = (db: Db, ledger: string): number => {
  const all = db.hgetall(ledger)
  let windows = 0
  for (let i = 0; i < all.length; i += 2) if (beginsWith(all[i] ?? "", "until ")) windows++
  return windows
}

const forgetBook = (db: Db, book: BookKeys, { remove, skip }: ForgetBook): ForgottenBook => {
  const found = { calls: 0, windows: 0, open: 0 }
  const ids = db.zrange(book.holds, skip, MAX_CALLS_PER_STEP)
  for (const id of ids) {
    const hold = loadHold(db, book, id)
    if (hold !== undefined && !hold.settled) found.open++
    else {
      found.calls++
      if (remove === true) forgetHold(db, book, id)
    }
  }
  const more = ids.length === MAX_CALLS_PER_STEP
  const next = remove === true ? skip + found.open : skip + ids.length
  if (!more && (remove !== true || next === 0)) {
    found.windows = windowsIn(db, book.ledger)
    if (remove === true) for (const key of [book.ledger, book.records, book.holds]) db.del(key)
  }
  return { ...found, more, next }
}

/** Keys: those of a caller's book. */
export const runForgetBook: Run<object, ForgetBook, ForgottenBook> = (db, keys, _now, _context, calls) => {
  const answers: Array<ForgottenBook> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) answers.push(forgetBook(db, book, call))
  return answers
}

export interface ForgetCalls {
  readonly names: ReadonlyArray<string>
  /** where the last page ended; `0` begins */
  readonly cursor: string
  readonly remove?: true
}

const forgetCalls = (db: Db, book: BookKeys, { cursor, names, remove }: ForgetCalls): ForgottenCalls => {
  const [next, fields] = db.hscan(book.records, cursor, MAX_CALLS_PER_STEP)
  let calls = 0
  let open = 0
  for (let i = 0; i < fields.length; i += 2) {
    const id = fields[i] ?? ""
    const hold = loadHold(db, book, id)
    const data = hold === undefined ? undefined : decode(hold.data)
    if (hold !== undefined && isObject(data) && isNamed({ names }, data.caller)) {
      if (!hold.settled) open++
      else {
        calls++
        const record = decode(fields[i + 1] ?? "")
        if (remove === true && isObject(record)) db.hset(book.records, id, encode({ ...record, data: "" }))
      }
    }
  }
  return { calls, open, cursor: next }
}

/** Keys: those of a campaign's book. */
export const runForgetCalls: Run<object, ForgetCalls, ForgottenCalls> = (db, keys, _now, _context, calls) => {
  const answers: Array<ForgottenCalls> = []
  const book = booksOf(keys)[0] as BookKeys
  for (const call of calls) answers.push(forgetCalls(db, book, call))
  return answers
}
