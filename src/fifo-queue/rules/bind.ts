/**
 * The platform has started the session: the lease becomes live, unless it is stale (then nothing changes) or the
 * session's end was reported before. A repeated bind, after a lost answer, is still `live`. A bind that arrives after
 * the start was put in doubt resolves the doubt: the ticket becomes live if it still waits, else the slot is held until
 * the session ends.
 *
 * With `offerMillis` the session has not begun: it begins with the offer that the page of the ticket makes within this
 * time (`offer.ts`), and otherwise the slot is freed. Such a bind does not show that the platform can be reached.
 */

import type { Binding } from "../answers.ts"
import { nextDue } from "./lengths.ts"
import { callNext, markPlatformReachable } from "./shared/call-next.ts"
import { closeDoubt, countDoubts, doubtOf } from "./shared/doubt.ts"
import { earlyMillis, endBeforeLease, endOrphan } from "./shared/ending.ts"
import { appendTicketEvent } from "./shared/events.ts"
import { clearBackoff, dequeue, endSession } from "./shared/line.ts"
import { load, save } from "./shared/load.ts"
import { noteRoom } from "./shared/platform-limit.ts"
import { noteStarted } from "./shared/platform-state.ts"
import type { Step } from "./shared/step.ts"
import { doubtId, type Ticket } from "./shared/ticket.ts"

export interface Bound {
  readonly id: string
  readonly lease: string
  /** returned to the holder, JSON */
  readonly data: string
  /** at least one */
  readonly sessions: ReadonlyArray<string>
  /** of a session that begins with its page's offer: how long the page has for the offer (ms) */
  readonly offerMillis?: number
  /** when the call ends, if it has a time limit of its own; not with `offerMillis`, since its call has not begun */
  readonly endsAt?: number
  /** the slot is free by then at the latest, if the call ends without the gate; not later than at the maximum length of any call */
  readonly heldUntil?: number
  /** until when budgets have time for the call, where they have no more: it ends then, if not before at `endsAt` */
  readonly paidUntil?: number
}

/**
 * By when the slot of a call with a time limit of its own is free at the latest. The gate ends the call at its limit, and asks again until the
 * lease ends; so that lease ends later by at least the time in which the gate ends calls of the maximum length.
 */
const limitedDeadline = (s: Step, endsAt: number, heldUntil: number | undefined): number => {
  const longest = s.now + s.context.callMillis
  const latest = heldUntil === undefined ? longest : Math.min(heldUntil, longest)
  return Math.max(latest, endsAt + earlyMillis(s.context.callMillis))
}

/** What the session is bound to: the starting ticket, or the start's doubt. */
const holderOf = (
  s: Step,
  id: string,
  lease: string,
  ticket: Ticket | undefined,
): { readonly id: string; readonly ticket: Ticket } | undefined => {
  const isCurrentLease = ticket !== undefined && ticket.lease === lease
  if (isCurrentLease && ticket.state === "starting") return { id, ticket }
  const doubt = doubtOf(s, id, lease)
  if (doubt === undefined) return undefined
  const slotId = doubtId(lease)
  countDoubts(s, -1)
  if (!isCurrentLease || ticket.state !== "waiting") {
    closeDoubt(s, slotId, doubt)
    return { id: slotId, ticket: doubt }
  }
  dequeue(s, id, ticket)
  s.db.zrem(s.keys.leases, slotId)
  s.db.hdel(s.keys.tickets, slotId)
  s.db.hdel(s.keys.data, slotId)
  if (doubt.since !== undefined) ticket.since = doubt.since
  ticket.billed = doubt.billed
  return { id, ticket }
}

export const bind = (
  s: Step,
  { data, endsAt, heldUntil, id, lease, offerMillis, paidUntil, sessions }: Bound,
): Binding => {
  const known = load(s, id)
  if (known !== undefined && known.state === "live" && known.lease === lease) return "live"
  // the page has used the session of this repeated bind
  if (offerMillis !== undefined && known !== undefined && known.lease === lease && known.offered === true)
    return "stale"
  const holder = holderOf(s, id, lease, known)
  if (holder === undefined) return "stale"
  const { db, keys } = s
  const { ticket } = holder
  ticket.state = "live"
  ticket.sessions = sessions
  const isLimited = endsAt !== undefined && holder.id === id
  const deadline = isLimited ? limitedDeadline(s, endsAt, heldUntil) : s.now + (offerMillis ?? s.context.callMillis)
  if (isLimited) {
    const isSpent = paidUntil !== undefined && paidUntil < endsAt
    const end = isSpent ? paidUntil : endsAt
    ticket.endsAt = end
    ticket.spent = isSpent ? true : undefined
    ticket.limitedAt = isSpent ? endsAt : undefined
    db.zadd(keys.limits, nextDue(s.now, end), id)
  }
  if (ticket.billed !== undefined && offerMillis === undefined) ticket.billed = s.now
  if ((s.context.events === true || isLimited) && offerMillis === undefined) ticket.began = s.now
  if (offerMillis !== undefined) {
    ticket.offerBefore = deadline
    // the end of a session without its offer measures from here how long its caller held the slot
    ticket.since = s.now
  }
  save(s, holder.id, ticket)
  db.hset(keys.data, holder.id, data)
  db.zadd(keys.leases, deadline, holder.id)
  // nobody has the credential of a session that a doubt holds; a session that awaits its offer does not run yet
  if (holder.id !== id) endOrphan(s, holder.id, ticket)
  else if (offerMillis === undefined) {
    endBeforeLease(s, id)
    if (s.context.openMillis !== undefined) db.zadd(keys.unopened, s.now + s.context.openMillis, id)
  }
  db.hincrby(keys.meta, "live", 1)
  if (offerMillis === undefined) {
    db.hincrby(keys.meta, "started", 1)
    clearBackoff(s)
    noteRoom(s)
  }
  if (s.context.events === true && offerMillis === undefined) {
    appendTicketEvent(s, "call.started", holder.id, ticket, { session: sessions[0] })
  }
  let ended = false
  for (const session of sessions) {
    db.hset(keys.sessions, session, holder.id)
    if (db.zscore(keys.endedSessions, session) !== undefined) ended = true
  }
  if (ended) endSession(s, holder.id, ticket, "failed")
  if (offerMillis === undefined) noteStarted(s)
  const becameReachable = offerMillis === undefined && markPlatformReachable(s)
  if (becameReachable || ended || holder.id !== id) callNext(s)
  if (holder.id !== id) return "stale"
  return ended ? "ended" : "live"
}
