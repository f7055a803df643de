/**
 * Ends the tickets that still wait when their campaign has been closed for as long as those who wait are served, and gives their quota back.
 * Who is called, starts or is in a call is left alone.
 *
 * Each gate judges by its own settings, and gates reload at different times. So nobody is ended while a gate says that the campaign is open,
 * and what has been closed by a reload counts as closed from then on. A gate without hours takes calls at any time, so it says open too: where
 * other gates have hours, and for no cost where none has. For a gate of version 0.1, which knows no hours, the others say so. With the first hours of a campaign the close counts from when a gate first told them.
 */
import type { HoursNow } from "../../inputs.ts"
import { dequeue, endTicket } from "./line.ts"
import { loadWaiting } from "./load.ts"
import { meta, type Step } from "./step.ts"

/** For how long the word of a gate counts that says that the campaign is open (ms). It sweeps every second. */
export const OPEN_MILLIS = 5_000

/**
 * How long after the last word of a gate with hours the campaign counts as one with hours (ms). An outage of all gates that lasts longer gives
 * those who wait their time anew.
 */
export const HOURS_KNOWN_MILLIS: number = 5 * 60_000

/** How many tickets one step ends, so that Redis is kept for milliseconds only. */
const MAX_CLOSED_PER_STEP = 100

const hasKnownHours = (s: Step, toldAt: number): boolean => Math.abs(s.now - toldAt) < HOURS_KNOWN_MILLIS

/** Until when those who wait are served; absent while it is open, and when nobody waits. `more`: another step has tickets to end. */
export interface Closing {
  readonly servedUntil?: number
  readonly more: boolean
}

/** @lazy */
const noteHours = (s: Step, hours: HoursNow, toldAt: number): void => {
  s.db.hset(s.keys.meta, "hoursAt", `${s.now}`)
  const isOpen = hours._tag === "open" || (hours._tag === "closed" && hours.openElsewhere === true)
  if (isOpen || !hasKnownHours(s, toldAt)) s.db.hset(s.keys.meta, "openAt", `${s.now}`)
}

/** @lazy */
const endWaiting = (s: Step, hours: HoursNow, toldAt: number): Closing => {
  const { db, keys, now } = s
  noteHours(s, hours, toldAt)
  const waiting = db.zcard(keys.waiting)
  if (hours._tag !== "closed" || waiting === 0) return { more: false }
  const openAt = meta(s, "openAt")
  // one far in the future was noted before a clock was set back
  const closedSince = openAt > now + HOURS_KNOWN_MILLIS ? hours.since : Math.max(hours.since, openAt + OPEN_MILLIS)
  const servedUntil = closedSince + hours.servedMillis
  if (now < servedUntil) return { servedUntil, more: false }
  for (const id of db.zrange(keys.waiting, Math.max(0, waiting - MAX_CLOSED_PER_STEP), MAX_CLOSED_PER_STEP)) {
    const ticket = loadWaiting(s, id)
    if (ticket !== undefined) {
      dequeue(s, id, ticket)
      endTicket(s, id, ticket, "closed", "refund")
    }
  }
  return { servedUntil, more: waiting > MAX_CLOSED_PER_STEP }
}

/**
 * A gate sweeps. The newest tickets are ended first: a slot that comes free meanwhile is the oldest one's.
 *
 * @param toldAt when a gate with hours swept last (ms); 0 for never
 */
export const followHours = (s: Step, hours: HoursNow, toldAt: number): Closing | undefined => {
  if (hours._tag !== "none") return endWaiting(s, hours, toldAt)
  if (toldAt > 0 && hasKnownHours(s, toldAt)) s.db.hset(s.keys.meta, "openAt", `${s.now}`)
  return undefined
}
