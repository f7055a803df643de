/**
 * Reads the most recent calls of a platform, page by page, to find out whether an uncertain start has happened. Queries within a short
 * time share one reading, because each page is a request of the key and the platform may limit these.
 */

import { Clock, Effect } from "effect"
import { ageOf } from "../../lib/age.ts"
import { boundedCache } from "../../lib/bounded-cache.ts"
import type { PlatformError } from "../errors.ts"

export const PAGE_LIMIT = 100
/** Limit of pages per reading. */
export const MAX_PAGES = 10
/** How long a reading is reused (ms). */
const SHARED_MILLIS = 2_000
/** How far the platform's clock may be behind this machine's (ms). */
export const CLOCK_DIFFERENCE_MILLIS = 60_000
const MAX_READINGS = 100

/** A part of a platform's list. */
export interface Page<Call> {
  readonly items: ReadonlyArray<Call>
  /** what asks for the next page; absent on the last one */
  readonly next?: string | undefined
}

/** One reading, made at `at` (ms): every call that began at `from` (ms) or later; `atLimit` when reading further is not possible. */
interface Reading<Call> {
  readonly at: number
  readonly calls: ReadonlyArray<Call>
  readonly from: number
  readonly atLimit: boolean
}

/**
 * The calls in the list `of` that began at `from` (ms since 1970, by the platform's clock) or later, and perhaps older ones; undefined
 * when there are too many to read, or the newest are not first.
 */
export type RecentCalls<Call> = (
  of: string,
  from: number,
) => Effect.Effect<ReadonlyArray<Call> | undefined, PlatformError>

/**
 * @param read returns a page of the list `of`: the newest calls, or those after a page that had this `next`
 * @param timeOf when a call began (ms); undefined if the list does not tell, which is then read to its end
 */
export const makeRecentCalls = <Call>(
  read: (of: string, next: string | undefined) => Effect.Effect<Page<Call>, PlatformError>,
  timeOf: (call: Call) => number | undefined,
): RecentCalls<Call> => {
  const readings = boundedCache<Reading<Call>>(MAX_READINGS)

  const readFrom = Effect.fnUntraced(function* (of: string, from: number, at: number) {
    const calls: Array<Call> = []
    let next: string | undefined
    for (let pages = 1; ; pages++) {
      const page: Page<Call> = yield* read(of, next)
      const times = page.items.map(timeOf).filter((time) => time !== undefined)
      // this platform lists the oldest first, so the newest are not on this page
      if ((times[0] ?? 0) < (times.at(-1) ?? 0)) return { at, calls, from: Number.POSITIVE_INFINITY, atLimit: true }
      calls.push(...page.items)
      next = page.next
      if (!next) return { at, calls, from: Number.NEGATIVE_INFINITY, atLimit: true }
      // the next page may contain more calls of the same millisecond as the oldest
      const readBackTo = Math.min(...times) + 1
      if (readBackTo <= from || pages === MAX_PAGES)
        return { at, calls, from: readBackTo, atLimit: pages === MAX_PAGES }
    }
  })

  return Effect.fnUntraced(function* (of, from) {
    const now = yield* Clock.currentTimeMillis
    let reading: Reading<Call> | undefined = readings.get(of)
    const isReusable =
      reading !== undefined && ageOf(reading.at, now) < SHARED_MILLIS && (reading.from <= from || reading.atLimit)
    if (reading === undefined || !isReusable) {
      reading = yield* readFrom(of, from, now)
      readings.set(of, reading)
    }
    return reading.from <= from ? reading.calls : undefined
  })
}
