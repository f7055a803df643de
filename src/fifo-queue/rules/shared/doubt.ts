/**
 * A start is in doubt when nobody knows whether its session runs. It has its own record and slot under the id `?` +
 * lease, so the slot stays held whether its ticket keeps waiting or leaves.
 */

import { encode } from "../../../store/rules/native.ts"
import { DOUBT_MILLIS } from "../../bounds.ts"
import { MAX_PARK_MILLIS } from "./call-next.ts"
import { freeSlot, park } from "./line.ts"
import { load, save } from "./load.ts"
import { noteDoubt } from "./platform-limit.ts"
import { type Step, settle } from "./step.ts"
import { doubtId, type Ticket } from "./ticket.ts"

/**
 * How long a ticket is parked after its first failed start (ms). Doubled after each further failure, up to
 * `MAX_PARK_MILLIS`.
 */
export const INITIAL_PARK_MILLIS = 1_000

export const countDoubts = (s: Step, by: number): void => {
  if (s.db.hincrby(s.keys.meta, "doubts", by) < 1) s.db.hdel(s.keys.meta, "doubts")
}

/**
 * Moves the slot of a start to its doubt. Returns until when the ticket is parked, unless the doubt is resolved earlier
 * (ms).
 */
export const holdInDoubt = (s: Step, id: string, ticket: Ticket): number => {
  const lease = ticket.lease ?? ""
  const slotId = doubtId(lease)
  const deadline = s.now + DOUBT_MILLIS
  const doubt: Ticket = { state: "doubt", seq: 0, lease, ticket: id, accepted: ticket.accepted }
  if (ticket.since !== undefined) doubt.since = ticket.since
  if (ticket.network !== undefined) doubt.network = ticket.network
  if (ticket.trace !== undefined) doubt.trace = ticket.trace
  if (ticket.billed !== undefined) {
    doubt.billed = ticket.billed
    doubt.payer = ticket.caller
  }
  ticket.billed = undefined
  save(s, slotId, doubt)
  s.db.hset(s.keys.data, slotId, s.db.hget(s.keys.data, id) ?? "")
  s.db.zrem(s.keys.leases, id)
  s.db.zadd(s.keys.leases, deadline, slotId)
  countDoubts(s, 1)
  noteDoubt(s)
  return deadline + MAX_PARK_MILLIS
}

export const doubtOf = (s: Step, id: string, lease: string): Ticket | undefined => {
  const doubt = load(s, doubtId(lease))
  return doubt !== undefined && doubt.state === "doubt" && doubt.ticket === id ? doubt : undefined
}

/** How long a ticket is not called after its latest failed start (ms). */
export const parkMillis = (ticket: Ticket): number =>
  Math.min(INITIAL_PARK_MILLIS * 2 ** Math.min((ticket.failures ?? 0) - 1, 20), MAX_PARK_MILLIS)

/**
 * The outcome of a start in doubt is known, so its ticket may be called again. After a second failure it stays parked
 * for a while: otherwise a ticket whose starts always end in doubt would keep the slot from those behind it. Also
 * settles the caller's units if the ticket has ended meanwhile.
 */
export const closeDoubt = (s: Step, slotId: string, doubt: Ticket): void => {
  const id = doubt.ticket ?? ""
  settle(s, "release", id, doubt)
  doubt.caller = undefined
  doubt.holds = undefined
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state !== "waiting" || doubtId(ticket.lease ?? "") !== slotId) return
  if ((ticket.failures ?? 0) > 1) park(s, id, s.now + parkMillis(ticket))
  else s.db.zrem(s.keys.parked, id)
}

/** No session runs: frees the slot of the doubt. */
export const dropDoubt = (s: Step, slotId: string, doubt: Ticket): void => {
  closeDoubt(s, slotId, doubt)
  freeSlot(s, slotId, doubt)
  s.db.hdel(s.keys.tickets, slotId)
  s.db.hdel(s.keys.data, slotId)
  countDoubts(s, -1)
}

const isKnown = (s: Step, sessions: ReadonlyArray<string>): boolean => {
  for (const session of sessions) {
    if (s.db.hget(s.keys.sessions, session) !== undefined) return true
    if (s.db.zscore(s.keys.endedSessions, session) !== undefined) return true
  }
  return false
}

/** The first of these sessions, each given by its ids, that belongs to no ticket and has not ended. */
export const firstUnknown = (
  s: Step,
  candidates: ReadonlyArray<ReadonlyArray<string>>,
): ReadonlyArray<string> | undefined => {
  for (const sessions of candidates) if (!isKnown(s, sessions)) return sessions
  return undefined
}

/** The start began the session with these ids. The session has no caller; it holds the slot for at most the maximum length of a call. */
export const bindDoubt = (s: Step, slotId: string, doubt: Ticket, sessions: ReadonlyArray<string>): void => {
  closeDoubt(s, slotId, doubt)
  countDoubts(s, -1)
  doubt.state = "live"
  doubt.sessions = sessions
  // it may run since its slot was taken
  if (doubt.billed !== undefined) doubt.billed = doubt.since ?? s.now
  save(s, slotId, doubt)
  s.db.hset(s.keys.data, slotId, encode({ s: sessions }))
  s.db.zadd(s.keys.leases, s.now + s.context.callMillis, slotId)
  s.db.hincrby(s.keys.meta, "live", 1)
  for (const session of sessions) s.db.hset(s.keys.sessions, session, slotId)
}
