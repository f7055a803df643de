/**
 * The history of each campaign, for the charts of the console: counts per minute for two hours, per ten minutes for a day and per hour for
 * a week. Each length of bucket is a ring in the campaign's hash, so the size is bounded. Every instance adds what it has counted since its
 * last report to the same three buckets: counts are summed and maxima are compared, so any number of instances add up exactly.
 *
 * A report has a number. One that is sent again, because its answer was lost, is not added twice.
 *
 * Keys: the number of the instance's last report (text) · then the history of each campaign of the report (hash: ring and slot → bucket
 * and counts, JSON)
 */
import type { Db } from "../../store/rules/db.ts"
import {
  beginsWith,
  decode,
  encode,
  isNumber,
  isObject,
  namesIn,
  numberOf,
  numbersByName,
  textOf,
} from "../../store/rules/native.ts"

/** A ring: its name in the hash, the length of its buckets (ms) and their number. */
export interface Ring {
  readonly name: string
  readonly millis: number
  readonly buckets: number
}

export const HISTORY_RINGS: ReadonlyArray<Ring> = [
  { name: "m", millis: 60_000, buckets: 120 },
  { name: "t", millis: 600_000, buckets: 156 },
  { name: "h", millis: 3_600_000, buckets: 192 },
]
/** A campaign without a report for this long is forgotten (ms): as long as its longest ring. */
export const HISTORY_MILLIS = 691_200_000
/** How long the number of an instance's last report is remembered (ms). */
const NUMBER_MILLIS = 3_600_000

/** The prefix of counts of which a bucket keeps the greatest instead of the sum. */
export const MAXIMUM = "max."

export interface HistoryCounts {
  readonly [name: string]: number
}

export interface HistoryReport {
  /** counts up, from 1 */
  readonly number: number
  /** when it was counted, by the time of day, as the step's `now` (ms since 1970) */
  readonly at: number
  /** of each campaign, in the order of the keys */
  readonly counts: ReadonlyArray<HistoryCounts>
}

const joined = (kept: HistoryCounts, counts: HistoryCounts): HistoryCounts => {
  const all: { [name: string]: number } = {}
  for (const name of namesIn(kept)) all[name] = kept[name] ?? 0
  for (const name of namesIn(counts)) {
    const before = all[name] ?? 0
    const added = counts[name] ?? 0
    if (!beginsWith(name, MAXIMUM)) all[name] = before + added
    else if (added > before) all[name] = added
  }
  return all
}

/** Adds a report of an instance; false when it was added before. */
export const addHistory = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { at, counts, number }: HistoryReport,
): boolean => {
  const last = keys[0] ?? ""
  if (numberOf(db.get(last)) >= number) return false
  db.set(last, textOf(number), NUMBER_MILLIS)
  let campaign = 0
  for (const each of counts) {
    campaign++
    const key = keys[campaign] ?? ""
    for (const ring of HISTORY_RINGS) {
      const bucket = Math.floor(at / ring.millis)
      const field = `${ring.name}${textOf(bucket % ring.buckets)}`
      const stored = decode(db.hget(key, field) ?? "")
      const keptBucket = isObject(stored) && isNumber(stored.bucket) ? stored.bucket : 0
      const kept = isObject(stored) && keptBucket === bucket ? numbersByName(stored.counts) : {}
      // a report that is late by a whole ring does not replace what is newer, unless that was counted before a clock was set back
      const isAhead = keptBucket > Math.floor(now / ring.millis) + 1
      if (keptBucket <= bucket || isAhead) db.hset(key, field, encode({ bucket, counts: joined(kept, each) }))
    }
    db.pexpire(key, HISTORY_MILLIS)
  }
  return true
}

/** The buckets of a ring as they are stored, in no order, also those that have been there for longer than the ring is. */
export const historyOf = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { buckets, name }: Pick<Ring, "buckets" | "name">,
): { readonly stored?: ReadonlyArray<string> } => {
  const stored: Array<string> = []
  for (let slot = 0; slot < buckets; slot++) {
    const text = db.hget(keys[0] ?? "", `${name}${textOf(slot)}`)
    if (text !== undefined) stored.push(text)
  }
  return stored.length === 0 ? {} : { stored }
}
