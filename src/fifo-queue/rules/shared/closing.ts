/**
 * Ends the tickets that still wait when their campaign has been closed for as long as those who wait are served, and gives their quota back.
 * Who is called, starts or is in a call is left alone.
 *
 * Each gate judges by its own settings, and gates reload at different times. So nobody is ended while a gate says that the campaign is open,
 * and what has been closed by a reload counts as closed from then on.
 */
import type { HoursNow } from "../../inputs.ts"
import { dequeue, endTicket } from "./line.ts"
import { loadWaiting } from "./load.ts"
import { meta, type Step } from "./step.ts"

/** For how long the word of a gate counts that says that the campaign is open (ms). It sweeps every second. */
export const OPEN_MILLIS = 5_000

/** How many tickets one step ends, so that Redis is kept for milliseconds only. */
const MAX_CLOSED_PER_STEP = 100

/**
 * The newest tickets are ended first: a slot that comes free meanwhile is the oldest one's. True when there is more to do.
 * @lazy
 */
export const endWaiting = (s: Step, hours: HoursNow): boolean => {
  const { db, keys, now } = s
  if (hours._tag === "open") {
    db.hset(keys.meta, "openAt", `${now}`)
    return false
  }
  const waiting = db.zcard(keys.waiting)
  if (waiting === 0) return false
  const openAt = meta(s, "openAt")
  // one in the future was noted before a clock was set back
  const closedSince = openAt > now + OPEN_MILLIS ? hours.since : Math.max(hours.since, openAt + OPEN_MILLIS)
  if (now < closedSince + hours.servedMillis) return false
  for (const id of db.zrange(keys.waiting, Math.max(0, waiting - MAX_CLOSED_PER_STEP), MAX_CLOSED_PER_STEP)) {
    const ticket = loadWaiting(s, id)
    if (ticket !== undefined) {
      dequeue(s, id, ticket)
      endTicket(s, id, ticket, "closed", "refund")
    }
  }
  return waiting > MAX_CLOSED_PER_STEP
}
