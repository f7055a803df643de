/**
 * The newest web sessions of a business, read page by page: they tell whether a start that may have happened has. All questions
 * of a moment share one reading, since each page is one of the key's requests, which may be few.
 */
import { Clock, DateTime, Effect } from "effect"
import type { Campaign } from "../Settings.ts"
import type { PlatformError } from "./errors.ts"
import type { HistoryPage, ListedSession } from "./wire.ts"

/** Sessions of one page. */
export const PAGE_LIMIT = 100
/** Pages that are read at most. */
export const PAGES_MOST = 10
/** How long a reading serves further questions (ms). */
export const SHARED_MILLIS = 2_000

/** What was read at a moment: every session that began at `from` (ms) or later; `most` when that is as far as is read. */
interface Reading {
  readonly at: number
  readonly sessions: ReadonlyArray<ListedSession>
  readonly from: number
  readonly most: boolean
}

/** The business's sessions that began at `from` (ms since 1970, by the platform's clock) or later, and perhaps older ones; undefined where they are too many. */
export type Newest = (
  campaign: Campaign,
  from: number,
) => Effect.Effect<ReadonlyArray<ListedSession> | undefined, PlatformError>

const timesOf = (sessions: ReadonlyArray<ListedSession>): ReadonlyArray<number> =>
  sessions.map(({ createdAt }) => DateTime.toEpochMillis(createdAt))

/** `read` answers the page behind a cursor, the newest one without. */
export const makeNewest = (
  read: (campaign: Campaign, cursor: string | undefined) => Effect.Effect<typeof HistoryPage.Type, PlatformError>,
): Newest => {
  const readings = new Map<string, Reading>()

  const readFrom = Effect.fnUntraced(function* (campaign: Campaign, from: number, at: number) {
    const sessions: Array<ListedSession> = []
    let cursor: string | undefined
    for (let pages = 1; ; pages++) {
      const page = yield* read(campaign, cursor)
      const times = timesOf(page.items)
      // one that begins with the oldest says nothing of the newest
      if ((times[0] ?? 0) < (times.at(-1) ?? 0)) return { at, sessions, from: Number.POSITIVE_INFINITY, most: true }
      sessions.push(...page.items)
      cursor = page.nextCursor ?? ""
      if (cursor === "") return { at, sessions, from: Number.NEGATIVE_INFINITY, most: true }
      // of the moment of the oldest one there may be more
      const reached = Math.min(...times) + 1
      if (reached <= from || pages === PAGES_MOST) return { at, sessions, from: reached, most: pages === PAGES_MOST }
    }
  })

  return Effect.fnUntraced(function* (campaign, from) {
    const now = yield* Clock.currentTimeMillis
    let reading: Reading | undefined = readings.get(campaign.name)
    const serves = reading !== undefined && now - reading.at < SHARED_MILLIS && (reading.from <= from || reading.most)
    if (reading === undefined || !serves) {
      reading = yield* readFrom(campaign, from, now)
      readings.set(campaign.name, reading)
    }
    return reading.from <= from ? reading.sessions : undefined
  })
}
