/** The console's texts for numbers and times, and for why callers wait. */
import type { HeldSlot, WaitingTicket } from "../../fifo-queue/operator/schemas.ts"
import type { Queue } from "../../operator/shapes.ts"

const numbers = new Intl.NumberFormat("en")
export const count = (n: number): string => numbers.format(n)

const padded = (n: number): string => String(n).padStart(2, "0")

/** A duration: `0:07`, `12:30`, `3 h 05 min`, `4 d 2 h`. */
export const duration = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  if (hours > 0) return `${hours} h ${padded(minutes % 60)} min`
  return `${minutes}:${padded(seconds % 60)}`
}

const TO_MINUTES = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const
const year = new Intl.DateTimeFormat("en", { year: "numeric" })

/** Writes times, with their year when that is not the present one. */
const writer = (options: Intl.DateTimeFormatOptions): ((at: number) => string) => {
  const ofThisYear = new Intl.DateTimeFormat("en", options)
  const ofAny = new Intl.DateTimeFormat("en", { ...options, year: "numeric" })
  return (at) => (year.format(at) === year.format() ? ofThisYear : ofAny).format(at)
}

export const dateTime = writer({ ...TO_MINUTES, second: "2-digit" })

/** A time that somebody chose, to the minute. */
export const chosenTime = writer(TO_MINUTES)

const minutes = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
/** A time that comes, with its date where that is not within half a day. */
const clockTime = (at: number, now: number): string => (at - now < 12 * 3_600_000 ? minutes.format(at) : chosenTime(at))

const clock = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" })
/** When it was: `02:10:05, 3:20 ago`, with the date where that is not within a day. */
export const moment = (at: number, now: number): string =>
  `${now - at < 12 * 3_600_000 ? clock.format(at) : chosenTime(at)}, ${duration(now - at)} ago`

/** How far away a time is, to the minute: `5 min`, `3 h 05 min`, `4 d 2 h`. */
const distance = (millis: number): string => {
  const minutes = Math.ceil(Math.max(0, millis) / 60_000)
  return minutes < 60 ? `${minutes} min` : duration(minutes * 60_000)
}

/** A time that comes, and how soon: `Nov 28, 01:00 (in 5 min)`. */
export const coming = (at: number, now: number): string => `${chosenTime(at)} (in ${distance(at - now)})`

/** A text of the gate, with its times in the time zone of the page. */
export const localized = (text: string): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => dateTime(Date.parse(time)))

/**
 * Why the waiting callers are not called right now; empty when no one waits, and where the headline says it: calls are paused, a budget is used
 * up, or the platform serves nobody.
 */
export const whyWaiting = (
  { account, allowed, backoffUntil, disrupted, held, paused, present, resumesAt, unpaid = 0, waiting }: Queue,
  slots: number | null,
  now: number,
  isBudgetUsedUp = false,
): string => {
  if (waiting === 0 || paused || disrupted || resumesAt !== undefined || isBudgetUsedUp) return ""
  if (unpaid >= waiting) return "Their own budgets are used up."
  if (backoffUntil > now) return "The platform is at capacity."
  if (slots === null && held >= (allowed ?? Number.POSITIVE_INFINITY)) return "The platform refuses more calls."
  if (slots !== null && held >= slots) return "All slots are in use."
  if (account?.free === 0) return "The other calls of the account are in use or reserved."
  return present === 0 ? "No waiting caller is present." : "The next caller is being called."
}

/** A time in seconds, as the axes and values of the charts have it: `8 s`, `2:30`, `1 h 05 min`. */
export const seconds = (value: number): string =>
  value < 60 ? `${value < 10 && value % 1 !== 0 ? value.toFixed(1) : Math.round(value)} s` : duration(value * 1000)

/** Why this caller is not called right now. */
export const whyRow = (
  { budgets, passedOver, position, presentUntil, resumesAt }: WaitingTicket,
  now: number,
): string => {
  if (passedOver === "budget") {
    const whose = budgets === undefined ? "Own budget" : `Budget ${budgets.join(" or ")}`
    return `${whose} used up${resumesAt === undefined ? "" : ` until ${clockTime(resumesAt, now)}`}`
  }
  if (passedOver === "parked") return "Start failed, tried again"
  if (presentUntil < now) return "Absent"
  if (passedOver === "network") return "Network has its share"
  if (position === undefined) return ""
  return position <= 1 ? "Next" : `${count(position - 1)} ahead`
}

/** The slots that are held, and of how many where that is known. */
export const heldOf = (held: number, slots: number | null): string =>
  slots === null ? count(held) : `${count(held)} of ${count(slots)}`

/** Why no number of slots is shown; empty when there is one. */
export const unknownSlots = (slots: number | null, allowed: number | undefined): string => {
  if (slots !== null) return ""
  return allowed === undefined
    ? "The platform has not refused a call yet"
    : `The platform allows ${count(allowed)}, as it last refused more`
}

export const slotState: Readonly<Record<HeldSlot["state"], string>> = {
  called: "Called",
  starting: "Starting",
  in_doubt: "Start unconfirmed",
  live: "In call",
  ending: "Ending",
}
