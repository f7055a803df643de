/**
 * Whether opening hours say open at a time, and until when. Times are on the clocks of a zone, and Effect's `DateTime` decides what they are
 * when clocks change: a time that does not exist is as much later as the clocks have jumped, an opening at a time that comes twice is the
 * first of the two, and a closing the second.
 *
 * A closed day has no opening of its own: what has opened the evening before closes at its usual time.
 */
import { DateTime } from "effect"
import type { ClosedDays, OpeningRange } from "./texts.ts"

export interface OpeningHours {
  readonly zone: DateTime.TimeZone
  readonly open: ReadonlyArray<OpeningRange>
  readonly closed: ReadonlyArray<ClosedDays>
}

/** What holds at a time (ms since 1970). */
export interface Opening {
  readonly isOpen: boolean
  /** since when; absent when that is longer ago than anybody asks for (`PAST_DAYS`) */
  readonly since?: number
  /**
   * until when; absent when it is open for longer than `OPEN_DAYS`, or closed for longer than `CLOSED_DAYS`
   */
  readonly until?: number
}

/** How many days are looked at: before today, for the end of what is open, and for the next opening. */
const PAST_DAYS = 3
const OPEN_DAYS = 15
const CLOSED_DAYS = 366

interface Span {
  readonly start: number
  readonly end: number
}

const DAY_MINUTES = 24 * 60

/** A day of the calendar, without a zone: UTC's midnight stands for it. */
type Day = DateTime.Utc

const dayAfter = (day: Day, days: number): Day => DateTime.add(day, { days })

const isClosed = (day: Day, closed: ReadonlyArray<ClosedDays>): boolean => {
  const date = DateTime.formatIsoDateUtc(day)
  return closed.some(({ first, last }) => {
    const each = date.slice(-first.length)
    return first <= last ? first <= each && each <= last : first <= each || each <= last
  })
}

/** When the clocks of the zone show so many minutes of a day, which may be those of the next one. */
const instantOf = (day: Day, minutes: number, timeZone: DateTime.TimeZone, disambiguation: "compatible" | "later") => {
  const { day: date, month, year } = DateTime.toPartsUtc(dayAfter(day, Math.floor(minutes / DAY_MINUTES)))
  const ofDay = minutes % DAY_MINUTES
  const parts = { year, month, day: date, hour: Math.floor(ofDay / 60), minute: ofDay % 60 }
  return DateTime.makeZonedUnsafe(parts, { timeZone, adjustForTimeZone: true, disambiguation }).epochMilliseconds
}

const spansOf = (day: Day, { closed, open, zone }: OpeningHours): ReadonlyArray<Span> => {
  // 0 is Sunday there, and Monday here
  const weekDay = (DateTime.getPartUtc(day, "weekDay") + 6) % 7
  const ranges = open.filter(({ days }) => days.includes(weekDay))
  if (ranges.length === 0 || isClosed(day, closed)) return []
  return ranges
    .map(({ from, to }) => ({
      start: instantOf(day, from, zone, "compatible"),
      end: instantOf(day, to, zone, "later"),
    }))
    .sort((a, b) => a.start - b.start)
}

const dayOf = (millis: number, zone: DateTime.TimeZone): Day =>
  DateTime.removeTime(DateTime.makeZonedUnsafe(millis, { timeZone: zone }))

/** What holds at `now`. */
export const openingAt = (hours: OpeningHours, now: number): Opening => {
  const first = dayAfter(dayOf(now, hours.zone), -PAST_DAYS)
  let closedSince: number | undefined
  let span: Span | undefined
  /** undefined while the span is over at `now` */
  const found = ({ end, start }: Span): Opening | undefined => {
    if (now < start)
      return { isOpen: false, until: start, ...(closedSince === undefined ? {} : { since: closedSince }) }
    if (now < end) return { isOpen: true, since: start, until: end }
    closedSince = end
    return undefined
  }
  for (let n = 0; n <= PAST_DAYS + CLOSED_DAYS; n++) {
    if (span !== undefined && span.start <= now && now < span.end && n > PAST_DAYS + OPEN_DAYS) {
      return { isOpen: true, since: span.start }
    }
    for (const next of spansOf(dayAfter(first, n), hours)) {
      if (span !== undefined && next.start <= span.end) {
        span = { start: span.start, end: Math.max(span.end, next.end) }
      } else {
        const opening: Opening | undefined = span && found(span)
        if (opening !== undefined) return opening
        span = next
      }
    }
  }
  const last = span && found(span)
  return last ?? { isOpen: false, ...(closedSince === undefined ? {} : { since: closedSince }) }
}

/** How long what was found last may be used for, where it has no end (ms). */
const KEEP_MILLIS = 3_600_000

/** Whether it is open at a time, computed anew only when something may have changed. */
export const schedule = (hours: OpeningHours): ((now: number) => Opening) => {
  let from = Number.POSITIVE_INFINITY
  let to = Number.NEGATIVE_INFINITY
  let known: Opening = { isOpen: false }
  return (now) => {
    if (now < from || now >= to) {
      known = openingAt(hours, now)
      from = now
      to = known.until ?? now + KEEP_MILLIS
    }
    return known
  }
}
