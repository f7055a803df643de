/**
 * Reads the most recent web sessions of a business, page by page, to find out whether an uncertain start has happened. Queries
 * within a short time share one reading, because each page is a request of the key and the platform may limit these.
 */
import { Clock, DateTime, Effect } from "effect"
import type { Campaign } from "../Settings.ts"
import type { PlatformError } from "./errors.ts"
import type { HistoryPage, ListedSession } from "./wire.ts"

/** Sessions per page. */
export const PAGE_LIMIT = 100
/** Limit of pages per reading. */
export const MAX_PAGES = 10
/** How long a reading is reused (ms). */
export const SHARED_MILLIS = 2_000

/** One reading, made at `at`: every session that began at `from` (ms) or later; `atLimit` when reading further is not possible. */
interface Reading {
  readonly at: number
  readonly sessions: ReadonlyArray<ListedSession>
  readonly from: number
  readonly atLimit: boolean
}

/**
 * The business's sessions that began at `from` (ms since 1970, by the platform's clock) or later, and perhaps older ones;
 * undefined when there are too many to read.
 */
export type RecentSessions = (
  campaign: Campaign,
  from: number,
) => Effect.Effect<ReadonlyArray<ListedSession> | undefined, PlatformError>

const timesOf = (sessions: ReadonlyArray<ListedSession>): ReadonlyArray<number> =>
  sessions.map(({ createdAt }) => DateTime.toEpochMillis(createdAt))

/** @param read returns the page after a cursor, or the newest page without one */
export const makeRecentSessions = (
  read: (campaign: Campaign, cursor: string | undefined) => Effect.Effect<typeof HistoryPage.Type, PlatformError>,
): RecentSessions => {
  const readings = new Map<string, Reading>()

  const readFrom = Effect.fnUntraced(function* (campaign: Campaign, from: number, at: number) {
    const sessions: Array<ListedSession> = []
    let cursor: string | undefined
    for (let pages = 1; ; pages++) {
      const page = yield* read(campaign, cursor)
      const times = timesOf(page.items)
      // this platform lists the oldest first, so the newest are not on this page
      if ((times[0] ?? 0) < (times.at(-1) ?? 0)) return { at, sessions, from: Number.POSITIVE_INFINITY, atLimit: true }
      sessions.push(...page.items)
      cursor = page.nextCursor ?? ""
      if (cursor === "") return { at, sessions, from: Number.NEGATIVE_INFINITY, atLimit: true }
      // the next page may contain more sessions of the same millisecond as the oldest
      const readBackTo = Math.min(...times) + 1
      if (readBackTo <= from || pages === MAX_PAGES)
        return { at, sessions, from: readBackTo, atLimit: pages === MAX_PAGES }
    }
  })

  return Effect.fnUntraced(function* (campaign, from) {
    const now = yield* Clock.currentTimeMillis
    let reading: Reading | undefined = readings.get(campaign.name)
    const isReusable =
      reading !== undefined && now - reading.at < SHARED_MILLIS && (reading.from <= from || reading.atLimit)
    if (reading === undefined || !isReusable) {
      reading = yield* readFrom(campaign, from, now)
      readings.set(campaign.name, reading)
    }
    return reading.from <= from ? reading.sessions : undefined
  })
}
