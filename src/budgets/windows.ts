/**
 * The windows of a budget: an hour, a day or a month by the clock of a time zone. Every moment is in exactly one window of each kind. A
 * window is known by the moment at which it begins, so the hour that comes twice when clocks are set back is two windows, and a changed
 * zone begins new ones.
 */
import { DateTime } from "effect"
import type { Period } from "../settings/groups/budgets.ts"

/** Begins at `from` and ends before `until` (ms since 1970). */
export interface WindowOf {
  readonly from: number
  readonly until: number
}

const HOUR = 3_600_000

/** The moment at which a day begins. Where midnight is skipped, it begins with the first moment after; where it comes twice, with the first. */
const startOfDay = (timeZone: DateTime.TimeZone, year: number, month: number, day: number): number =>
  DateTime.toEpochMillis(
    DateTime.makeZonedUnsafe(
      { year, month, day, hour: 0, minute: 0, second: 0, millisecond: 0 },
      { timeZone, adjustForTimeZone: true, disambiguation: "compatible" },
    ),
  )

/** An hour is one of 60 minutes since the clock showed a full hour, and shorter only where clocks change by less than an hour. */
const hourOf = (zoned: DateTime.Zoned, now: number): WindowOf => {
  const { millisecond, minute, second } = DateTime.toParts(zoned)
  const from = now - (minute * 60 + second) * 1000 - millisecond
  return { from, until: from + HOUR }
}

export const windowOf = (period: Period, timeZone: DateTime.TimeZone, now: number): WindowOf => {
  const zoned = DateTime.makeZonedUnsafe(now, { timeZone })
  if (period === "hour") return hourOf(zoned, now)
  const { day, month, year } = DateTime.toParts(zoned)
  if (period === "month") {
    const [nextYear, nextMonth] = month === 12 ? [year + 1, 1] : [year, month + 1]
    return { from: startOfDay(timeZone, year, month, 1), until: startOfDay(timeZone, nextYear, nextMonth, 1) }
  }
  // the day after the last of a month is found by the calendar, whatever the clock does
  const next = DateTime.toParts(DateTime.add(DateTime.makeUnsafe({ year, month, day }), { days: 1 }))
  return {
    from: startOfDay(timeZone, year, month, day),
    until: startOfDay(timeZone, next.year, next.month, next.day),
  }
}
