/** The console's texts for numbers, times and states. */
import type { HeldSlot, WaitingTicket } from "../../fifo-queue/operator/schemas.ts"
import type { Hours, Queue, UsedUpBudget, View } from "../../operator/shapes.ts"

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

/** A platform that starts nothing for this long (ms), although it answers, is more than a moment's wait. */
const LASTING_MILLIS = 10_000

/** What the platform refuses, and what the operator should check. */
const refusal = ({ code, setting }: NonNullable<Queue["platform"]>): string =>
  `The platform refuses this campaign (${code}): check ${setting === "" ? "the account at the platform" : setting}.`

/** What the hours say of a campaign that is closed. */
const closedBy = ({ opensAt, servedUntil }: Hours, now: number): string => {
  const opens = opensAt === undefined ? "It doesn’t open within a year." : `It opens on ${coming(opensAt, now)}.`
  return servedUntil === undefined
    ? `New callers are turned away, and no one waits. ${opens}`
    : `New callers are turned away; waiting callers are served until ${chosenTime(servedUntil)}. ${opens}`
}

export interface CampaignState {
  /** not every caller is served as usual */
  readonly limited: boolean
  readonly title: string
  /** when that is over by itself (ms since 1970), where it is known */
  readonly until?: number | undefined
  /** what it means for callers */
  readonly meaning: string
}

/** What the state of a campaign depends on, of its queue and beside it. */
export type Served = Pick<
  Queue,
  | "disrupted"
  | "draining"
  | "paused"
  | "pausedUntil"
  | "platform"
  | "probeUntil"
  | "backoffUntil"
  | "resumesAt"
  | "budgets"
>
export type Terms = Pick<View, "hours" | "usedUp">

const usedUpText = ({ budget, endsCalls, until }: UsedUpBudget, now: number): string =>
  `Too little is left of the budget ${budget} until ${coming(until, now)}. New callers are turned away, and waiting callers when their turn comes.${
    endsCalls ? " Running calls are ended." : ""
  }`

/** The state of a campaign. What an operator has ordered, and what its platform does, comes before a budget that is used up. */
export const stateOf = (served: Served, now: number, { hours, usedUp }: Terms = {}): CampaignState => {
  const state = stateOfQueue(served, now, hours)
  if (usedUp === undefined) return state
  const meaning = usedUpText(usedUp, now)
  return state.limited
    ? { ...state, meaning: `${state.meaning} ${meaning}` }
    : { limited: true, title: "Budget used up", until: usedUp.until, meaning }
}

/** Which budgets are waited for, where the gate has named them. */
const awaited = (budgets: ReadonlyArray<string> | undefined): string =>
  budgets === undefined ? "a budget" : `the budget ${budgets.join(" or ")}`

const stateOfQueue = (
  { budgets, disrupted, draining, paused, pausedUntil, platform, probeUntil, backoffUntil, resumesAt }: Served,
  now: number,
  hours: Hours | undefined,
): CampaignState => {
  const end = pausedUntil === undefined ? "" : ` The pause ends on ${coming(pausedUntil, now)}.`
  const rejected = platform?.state === "rejected"
  const outage = rejected ? ` ${refusal(platform)}` : disrupted ? " The platform is unreachable." : ""
  if (hours !== undefined && hours.state !== "open") {
    const also = paused ? ` It is paused too.${end}` : draining ? " It is draining too." : ""
    const title = hours.state === "closed" ? "Closed" : "Closing"
    return { limited: true, title, until: hours.opensAt, meaning: `${closedBy(hours, now)}${also}${outage}` }
  }
  if (paused && draining) {
    return {
      limited: true,
      title: "Paused and draining",
      meaning: `No one is called, and new callers are turned away.${end}${outage}`,
    }
  }
  if (paused) {
    const meaning = `New callers wait; no one is called.${end}${outage}`
    return { limited: true, title: "Paused", until: pausedUntil, meaning }
  }
  if (draining) {
    return {
      limited: true,
      title: "Draining",
      meaning: `New callers are turned away; waiting callers are still served.${outage}`,
    }
  }
  if (resumesAt !== undefined) {
    return {
      limited: true,
      title: "Waiting for a budget",
      until: resumesAt,
      meaning: `Callers wait because ${awaited(budgets)} is used up: until ${coming(resumesAt, now)}, or until it has more again.${outage}`,
    }
  }
  if (disrupted) {
    const seconds = Math.ceil((Math.max(backoffUntil, probeUntil) - now) / 1000)
    const next = seconds > 0 ? ` The next test is in ${seconds} s.` : ""
    const held = "Everyone keeps their place. Callers are tried one at a time until the platform responds."
    const since = platform === undefined ? "" : ` This has lasted for ${duration(now - platform.since)}.`
    return rejected
      ? { limited: true, title: "Platform refuses calls", meaning: `${refusal(platform)} ${held}${next}${since}` }
      : { limited: true, title: "Platform unreachable", meaning: `${held}${next}${since}` }
  }
  const seconds = Math.ceil((backoffUntil - now) / 1000)
  const again = seconds > 0 ? ` Trying again in ${seconds} s.` : ""
  if (platform?.state === "webhooks_missing") {
    return {
      limited: true,
      title: "Webhooks missing",
      meaning: `Calls are taken, but the platform hasn’t reported the end of one for ${duration(now - platform.since)}, so slots come free up to 5 minutes late. Check the webhook’s address and secret at the platform.${again}`,
    }
  }
  if (platform !== undefined && now - platform.since >= LASTING_MILLIS) {
    const what =
      platform.state === "rate_limited" ? "The platform limits the key’s requests" : "The platform has no free slot"
    return {
      limited: true,
      title: platform.state === "rate_limited" ? "Requests limited" : "Platform at capacity",
      meaning: `${what}, and no call has started for ${duration(now - platform.since)}. Everyone keeps their place.${again}`,
    }
  }
  if (seconds > 0) {
    return { limited: false, title: "Backing off", meaning: `The platform is at capacity.${again}` }
  }
  return { limited: false, title: "Taking calls", meaning: "Waiting callers are called as slots become available." }
}

/** Why the waiting callers are not called right now; empty when no one waits. What an operator can change comes first. */
export const whyWaiting = (
  {
    account,
    allowed,
    backoffUntil,
    budgets,
    disrupted,
    held,
    paused,
    platform,
    present,
    probeUntil,
    resumesAt,
    unpaid = 0,
    waiting,
  }: Queue,
  slots: number | null,
  now: number,
  isBudgetUsedUp = false,
): string => {
  if (waiting === 0) return ""
  if (resumesAt !== undefined)
    return `Callers are waiting because ${awaited(budgets)} is used up. It has more again on ${chosenTime(resumesAt)}.`
  if (isBudgetUsedUp) return "Waiting callers are refused when their turn comes, because a budget is used up."
  if (paused) return "Callers are waiting because calls are paused."
  if (unpaid >= waiting) return "Callers are waiting because budgets of their own are used up."
  if (disrupted && (Math.max(backoffUntil, probeUntil) > now || (slots !== null && held >= slots)))
    return platform?.state === "rejected"
      ? "Callers are waiting because the platform refuses this campaign."
      : "Callers are waiting because the platform is unreachable."
  if (backoffUntil > now) return "Callers are waiting because the platform is at capacity."
  if (slots === null && held >= (allowed ?? Number.POSITIVE_INFINITY))
    return "Callers are waiting because the platform refuses more calls."
  if (slots !== null && held >= slots) return "Callers are waiting because all slots are in use."
  if (account?.free === 0) return "Callers are waiting because the other calls of the account are in use or reserved."
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
    const whose = budgets === undefined ? "a budget of their own" : `their budget ${budgets.join(" or ")}`
    return `Waits for ${whose}${resumesAt === undefined ? "" : `, at the latest until ${chosenTime(resumesAt)}`}`
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
    ? "; the platform has not refused a call yet"
    : `; the platform allows ${count(allowed)}, as it last refused more`
}

export const slotState: Readonly<Record<HeldSlot["state"], string>> = {
  called: "Called",
  starting: "Starting",
  in_doubt: "Start unconfirmed",
  live: "In call",
  ending: "Ending",
}
