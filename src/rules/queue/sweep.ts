/**
 * Upholds what time decides: leases past their deadline are freed (called → missed, live → reclaimed, doubt → gone), except that a
 * start whose gate died may have happened: its slot is held in doubt, and its ticket goes back to its place;
 * absent tickets are abandoned, free slots call the next, and what is over is forgotten. What an outage brought about is held against
 * nobody (`../outage.ts`). Every `RECOUNT_MILLIS` what networks have, live sessions and doubts are counted anew, and so they are after a
 * record was found that was none (`../load.ts`). Any gate may run it at any moment, as often as it likes.
 */
import { callNext } from "../call-next.ts"
import { expire, forgetOld, LIMIT, leftOwed } from "../expiry.ts"
import { dequeue, endTicket, isDisrupted } from "../line.ts"
import { loadHolder, loadWaiting } from "../load.ts"
import { decode, isNumber, isObject, isText, LOWEST } from "../native.ts"
import { DEAD_MILLIS, forgiveOutage, isAbsent, isGrace, isUnattended, missTurn, silentSince } from "../outage.ts"
import { meta, type Settlement, type Step } from "../step.ts"
import type { Ticket } from "../ticket.ts"
import { isRecountDue, recount } from "./recount.ts"

/** At most so many times as many are looked at for it, when others are still to be waited for. */
const PAGES = 5
/** The end of a session that nobody knows is remembered for so many at most, and so long (ms). */
const ENDED_MAX = 100_000
export const ENDED_SESSION_MILLIS: number = 24 * 3_600_000

export interface Swept {
  /** another sweep has work at once */
  readonly more: boolean
  readonly waiting: number
  readonly leases: number
  /** leases with a running session */
  readonly live: number
  /** leases of starts that may have happened */
  readonly doubts: number
  readonly averageMillis: number
  /** settlements that the process which caused them did not carry out */
  readonly owed?: ReadonlyArray<Settlement>
  /** the platform cannot be reached: one ticket at a time is called to find out */
  readonly disrupted: boolean
  /** how many records were ever found that were none; when the last was (ms), and its key and id */
  readonly quarantined: number
  readonly junk?: { readonly at: number; readonly key: string; readonly id: string }
}

/** Ends what is overdue, unless it is still to be waited for; true when there is more. */
const overdue = (
  s: Step,
  key: string,
  read: (s: Step, id: string) => Ticket | undefined,
  ends: (s: Step, id: string, ticket: Ticket, score: number) => boolean,
): boolean => {
  let ended = 0
  let waitedFor = 0
  for (let page = 0; page < PAGES; page++) {
    const ids = s.db.zrangebyscore(key, LOWEST, s.now - 1, LIMIT, waitedFor)
    for (const id of ids) {
      const score = s.db.zscore(key, id) ?? 0
      const ticket = read(s, id)
      if (ticket === undefined || ends(s, id, ticket, score)) ended++
      else waitedFor++
    }
    if (ended >= LIMIT) return true
    if (ids.length < LIMIT) return false
  }
  return false
}

const endsSlot = (s: Step, id: string, ticket: Ticket, deadline: number): boolean => {
  const presentUntil = s.now + s.context.seenMillis
  if (ticket.state !== "called") {
    expire(s, id, ticket, presentUntil)
    return true
  }
  if (silentSince(s, deadline) !== undefined) return false
  missTurn(s, id, ticket, presentUntil)
  return true
}

const endsPresence = (s: Step, id: string, ticket: Ticket, seen: number): boolean => {
  if (!isAbsent(s, ticket, seen)) return false
  dequeue(s, id, ticket)
  endTicket(s, id, ticket, "abandoned")
  return true
}

/** Forgets what is over; true when there is more. */
const forget = (s: Step): boolean => {
  const forgotten = forgetOld(s)
  const withdrawn = meta(s, "withdrawnUntil")
  if (withdrawn > 0 && withdrawn < s.now && forgotten < LIMIT) s.db.hdel(s.keys.meta, "withdrawnUntil")
  s.db.zremrangebyscore(s.keys.endedSessions, LOWEST, s.now - ENDED_SESSION_MILLIS)
  if (s.db.zcard(s.keys.endedSessions) > ENDED_MAX) s.db.zkeepLast(s.keys.endedSessions, ENDED_MAX)
  return forgotten === LIMIT
}

/** What was found last that was no record. */
const lastJunk = (s: Step): Swept["junk"] => {
  const found = decode(s.db.hget(s.keys.meta, "junk") ?? "")
  if (!isObject(found)) return undefined
  const { at, id, key } = found
  return isNumber(at) && isText(key) && isText(id) ? { at, key, id } : undefined
}

/** @param shown until when this gate has shown who is connected to it (ms); now where it does not say */
export const sweep = (s: Step, call: { readonly shown?: number }): Swept => {
  const { db, keys, now } = s
  const sweptAt = meta(s, "sweptAt")
  if (isRecountDue(s, sweptAt)) recount(s)
  if (isUnattended(s)) forgiveOutage(s, sweptAt)
  // a sweep that was on its way for long is no step back
  if (now > sweptAt || sweptAt - now > DEAD_MILLIS) db.hset(keys.meta, "sweptAt", `${now}`)
  db.zadd(keys.gates, now, s.context.instance)
  db.zremrangebyscore(keys.gates, LOWEST, now - DEAD_MILLIS - 1)
  s.shown = call.shown ?? now
  const moreSlots = overdue(s, keys.leases, loadHolder, endsSlot)
  db.zremrangebyscore(keys.parked, LOWEST, now - 1)
  const moreWaiting = isGrace(s) ? false : overdue(s, keys.presence, loadWaiting, endsPresence)
  const moreOld = forget(s)
  const moreCalls = callNext(s)
  const owed = leftOwed(s)
  const junk = lastJunk(s)
  const swept: Swept = {
    more: moreSlots || moreWaiting || moreOld || moreCalls,
    waiting: db.zcard(keys.waiting),
    leases: db.zcard(keys.leases),
    live: meta(s, "live"),
    doubts: meta(s, "doubts"),
    averageMillis: meta(s, "averageMillis"),
    disrupted: isDisrupted(s),
    quarantined: meta(s, "quarantined"),
  }
  return { ...swept, ...(owed.length === 0 ? {} : { owed }), ...(junk === undefined ? {} : { junk }) }
}
