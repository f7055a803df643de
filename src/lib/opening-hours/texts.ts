/**
 * Opening hours as people write them: `Mon-Fri 09:00-12:00, 13:00-18:00`, `Fri-Sat 20:00-02:00`, `Daily 08:00-24:00`; and closed days:
 * `2026-12-24`, `2026-12-24 to 2027-01-01`, `Dec 25` (every year), `Dec 24 to Jan 1`.
 */
import { DateTime, Option } from "effect"

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
const DAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const DAY_MINUTES = 24 * 60

/** Open on these days, from a time until a time. */
export interface OpeningRange {
  /** 0 is Monday */
  readonly days: ReadonlyArray<number>
  /** minutes on the clock of the day */
  readonly from: number
  /** the same; more than a day's when it is a time of the next day */
  readonly to: number
}

/** Closed from one day to another, both included: `2026-12-24`, or `12-24` every year. Then the last may be before the first. */
export interface ClosedDays {
  readonly first: string
  readonly last: string
}

/** What a text means, or what was expected instead of it. */
export type Read<A> = { readonly value: A } | { readonly expected: string }

const dayOf = (name: string): number => {
  const index = DAYS.indexOf(name)
  return index >= 0 ? index : DAY_NAMES.indexOf(name)
}

const daysOf = (text: string): ReadonlyArray<number> | string => {
  if (text === "daily") return [0, 1, 2, 3, 4, 5, 6]
  const days = new Set<number>()
  for (const part of text.split(",")) {
    const [first = "", last = first, ...rest] = part.split("-").map((name) => name.trim())
    const [from, to] = [dayOf(first), dayOf(last)]
    if (from < 0 || to < 0 || rest.length > 0) return "days such as Mon-Fri, Sat or Mon, Wed, or Daily"
    for (let day = from; ; day = (day + 1) % 7) {
      days.add(day)
      if (day === to) break
    }
  }
  return [...days].sort()
}

const minutesOf = (text: string): number | undefined => {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? []
  if (hours === undefined || minutes === undefined || Number(minutes) > 59) return undefined
  const found = Number(hours) * 60 + Number(minutes)
  return found <= DAY_MINUTES ? found : undefined
}

const timesOf = (text: string): Omit<OpeningRange, "days"> | string => {
  const [first = "", last = "", ...rest] = text.split("-").map((time) => time.trim())
  const [from, to] = [minutesOf(first), minutesOf(last)]
  if (from === undefined || to === undefined || rest.length > 0) {
    return "times from 00:00 to 24:00, such as 09:00-18:00"
  }
  if (from === to || from === DAY_MINUTES) return "two different times; 00:00-24:00 is the whole day"
  // it ends on the next day
  return { from, to: to < from ? to + DAY_MINUTES : to }
}

/** The ranges of one item. */
export const readOpening = (text: string): Read<ReadonlyArray<OpeningRange>> => {
  const given = text.trim().toLowerCase()
  const begin = given.search(/\d/)
  const days = begin <= 0 ? "days and times, such as Mon-Fri 09:00-18:00" : daysOf(given.slice(0, begin).trim())
  if (typeof days === "string") return { expected: days }
  const ranges: Array<OpeningRange> = []
  for (const part of given.slice(begin).split(",")) {
    const times = timesOf(part.trim())
    if (typeof times === "string") return { expected: times }
    ranges.push({ days, ...times })
  }
  return { value: ranges }
}

const DATE = "a date such as 2026-12-24, a day of every year such as Dec 25, or two of a kind with to between them"

const padded = (number: number): string => String(number).padStart(2, "0")

/** `2026-12-24`, or `12-25` for `Dec 25`; what was expected, for another text. */
const dateOf = (text: string): { readonly date: string; readonly yearly: boolean } | string => {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []
  if (year !== undefined) {
    const found = DateTime.make(`${text}T00:00:00Z`)
    return Option.isSome(found) && DateTime.formatIsoDateUtc(found.value) === text
      ? { date: text, yearly: false }
      : `a date that exists: there is no ${year}-${month}-${day}`
  }
  const [, name = "", dayOfMonth = ""] = /^([a-z]{3})[a-z]* (\d{1,2})$/.exec(text) ?? []
  const index = MONTHS.indexOf(name)
  if (index < 0) return DATE
  const number = Number(dayOfMonth)
  return number >= 1 && number <= (DAYS_OF_MONTH[index] ?? 0)
    ? { date: `${padded(index + 1)}-${padded(number)}`, yearly: true }
    : `a day that exists: there is no ${text}`
}

export const readClosed = (text: string): Read<ClosedDays> => {
  const parts = text
    .trim()
    .toLowerCase()
    .split(/\s+to\s+/)
  const [first, last = first] = parts.map((part) => dateOf(part.replace(/\s+/g, " ")))
  if (first === undefined || last === undefined || parts.length > 2) return { expected: DATE }
  if (typeof first === "string") return { expected: first }
  if (typeof last === "string") return { expected: last }
  if (first.yearly !== last.yearly) return { expected: "two dates with a year, or two without" }
  if (!first.yearly && last.date < first.date) return { expected: "a last day that is not before the first" }
  return { value: { first: first.date, last: last.date } }
}
