/**
 * Reports of vendors about calls that are not charged yet: a vendor may be faster than the gate that owes the charge. They are kept until the
 * call is charged, and are carried out then (`budgets/settlement.ts`), since not every vendor sends a report again. Sessions that are not the
 * gate's are kept too, because nobody can tell them apart, so the oldest go.
 */
import type { Db } from "../../store/rules/db.ts"
import { decode, encode, isObject, LOWEST, numberOf, textOf, textsIn, wordsOf } from "../../store/rules/native.ts"
import type { KeptReport } from "../answers.ts"
import { type BookKeys, KEPT_MILLIS, REMEMBERED_MILLIS } from "./book.ts"

/** Sessions of which a campaign's book keeps reports. */
const MAX_REPORTED_SESSIONS = 1_000
/** Reports that it keeps of one. */
const MAX_REPORTS_OF_SESSION = 4
/** In place of a number that the report does not have. */
const NOT_SAID = -1

const reportField = (session: string): string => `?${session}`

/** Without the report, its seconds and its cost, where the report has them. */
const reportIn = (text: string): KeptReport | undefined => {
  const words = wordsOf(text)
  const [report, seconds, cost] = [words[0], numberOf(words[1]), numberOf(words[2])]
  if (report === undefined) return undefined
  return { report, ...(seconds === NOT_SAID ? {} : { seconds }), ...(cost === NOT_SAID ? {} : { cost }) }
}

const reportTexts = (db: Db, book: BookKeys, session: string): ReadonlyArray<string> => {
  const stored = db.hget(book.records, reportField(session))
  const found = stored === undefined ? undefined : decode(stored)
  return isObject(found) ? textsIn(found.reports) : []
}

/** A caller's book keeps none: its campaign's has them. */
const keepsReports = (book: BookKeys): boolean => book.reports !== book.ledger

export const forgetReports = (db: Db, book: BookKeys, sessions: ReadonlyArray<string>): void => {
  if (!keepsReports(book)) return
  for (const session of sessions) {
    db.hdel(book.records, reportField(session))
    db.zrem(book.reports, session)
  }
}

/**
 * Keeps a report of a session with these ids; a repeated one once.
 * @lazy
 */
export const keepReport = (
  db: Db,
  book: BookKeys,
  now: number,
  sessions: ReadonlyArray<string>,
  { cost = NOT_SAID, report, seconds = NOT_SAID }: KeptReport,
): void => {
  if (!keepsReports(book)) return
  const added = `${report} ${textOf(seconds)} ${textOf(cost)}`
  for (const session of sessions) {
    const texts: Array<string> = []
    for (const text of reportTexts(db, book, session)) if (text !== added) texts.push(text)
    if (texts.length < MAX_REPORTS_OF_SESSION) texts.push(added)
    db.hset(book.records, reportField(session), encode({ reports: texts }))
    db.zadd(book.reports, now, session)
  }
  forgetReports(db, book, db.zrangebyscore(book.reports, LOWEST, now - REMEMBERED_MILLIS, MAX_REPORTS_OF_SESSION))
  const beyond = db.zcard(book.reports) - MAX_REPORTED_SESSIONS
  if (beyond > 0) forgetReports(db, book, db.zrange(book.reports, 0, beyond))
  db.pexpire(book.reports, KEPT_MILLIS)
  db.pexpire(book.records, KEPT_MILLIS)
}

/** What is kept of a session with any of these ids, each report once. */
export const keptReports = (db: Db, book: BookKeys, sessions: ReadonlyArray<string>): ReadonlyArray<KeptReport> => {
  const found: Array<KeptReport> = []
  for (const session of sessions) {
    for (const text of reportTexts(db, book, session)) {
      const kept = reportIn(text)
      let isNew = kept !== undefined
      for (const { report } of found) if (report === kept?.report) isNew = false
      if (kept !== undefined && isNew) found.push(kept)
    }
  }
  return found
}
