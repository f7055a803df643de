/**
 * A start of which nobody knows whether its session runs is a doubt: it has a record and a slot of its own under `?` and its fence, so
 * that the slot stays held while the ticket waits at its place, or leaves.
 */
import { PARK_LONGEST_MILLIS } from "./call-next.ts"
import { freeSlot, park } from "./line.ts"
import { load, save } from "./load.ts"
import { type Step, settle } from "./step.ts"
import { doubtId, type Ticket } from "./ticket.ts"

/** How long a ticket whose start failed is parked the first time, doubled each time up to `PARK_LONGEST_MILLIS`. */
export const PARK_FIRST_MILLIS = 1_000
/**
 * How long a slot is held at most for a start that may have happened: the platform's URL can be opened for about five minutes, so
 * that nobody talks in such a session later.
 */
export const DOUBT_MILLIS: number = 5 * 60_000

export const countDoubts = (s: Step, by: number): void => {
  if (s.db.hincrby(s.keys.meta, "doubts", by) < 1) s.db.hdel(s.keys.meta, "doubts")
}

/** The slot of a start passes to its doubt; says until when its ticket is parked, unless it is decided before (ms). */
export const holdInDoubt = (s: Step, id: string, ticket: Ticket): number => {
  const lease = ticket.lease ?? ""
  const held = doubtId(lease)
  const deadline = s.now + DOUBT_MILLIS
  const doubt: Ticket = { state: "doubt", seq: 0, lease, ticket: id, accepted: ticket.accepted }
  if (ticket.since !== undefined) doubt.since = ticket.since
  if (ticket.network !== undefined) doubt.network = ticket.network
  save(s, held, doubt)
  s.db.hset(s.keys.data, held, s.db.hget(s.keys.data, id) ?? "")
  s.db.zrem(s.keys.leases, id)
  s.db.zadd(s.keys.leases, deadline, held)
  countDoubts(s, 1)
  return deadline + PARK_LONGEST_MILLIS
}

/** The doubt about this lease of a ticket. */
export const doubtOf = (s: Step, id: string, lease: string): Ticket | undefined => {
  const doubt = load(s, doubtId(lease))
  return doubt !== undefined && doubt.state === "doubt" && doubt.ticket === id ? doubt : undefined
}

/** How long a ticket whose start failed is not called: longer each time (ms). */
export const parkMillis = (ticket: Ticket): number =>
  Math.min(PARK_FIRST_MILLIS * 2 ** Math.min((ticket.failures ?? 0) - 1, 20), PARK_LONGEST_MILLIS)

/**
 * What became of a start in doubt is known. Its ticket may be called again, after a second failure those behind it first: else one
 * whose starts are always in doubt would keep the slot from them. What a ticket that is over left to it is settled.
 */
export const doubtDecided = (s: Step, held: string, doubt: Ticket): void => {
  const id = doubt.ticket ?? ""
  settle(s, "release", id, doubt)
  doubt.caller = undefined
  doubt.holds = undefined
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state !== "waiting" || doubtId(ticket.lease ?? "") !== held) return
  if ((ticket.failures ?? 0) > 1) park(s, id, s.now + parkMillis(ticket))
  else s.db.zrem(s.keys.parked, id)
}

/** No session runs: the slot of the doubt is free. */
export const dropDoubt = (s: Step, held: string, doubt: Ticket): void => {
  doubtDecided(s, held, doubt)
  freeSlot(s, held, doubt)
  s.db.hdel(s.keys.tickets, held)
  s.db.hdel(s.keys.data, held)
  countDoubts(s, -1)
}
