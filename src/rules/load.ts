/**
 * Reads and writes tickets, and takes out records that are none: written by hand, by a faulty program, or cut off. One of them must
 * not stop the campaign: every rule checks what it reads, takes such a record out of where it stands, and goes on.
 *
 * - A ticket's record that is no ticket ends that ticket: its holder is told that it is unknown, and its slot is free.
 * - An id in a sorted set, or of a session, that names no ticket of a fitting state is removed from there.
 * - What was taken out is kept in `quarantine`, the last `KEPT`; each is counted, and a sweep says how many there were and which was
 *   the last, for the log. Counts that it belonged to are made anew by the next sweep.
 *
 * A key of another type than it should have is not repaired: every command on it is refused and logged (`store/redis-faults.ts`).
 */
import { beginning, decode, encode } from "./native.ts"
import type { Step } from "./step.ts"
import { holdsSlot, isTicket, type Ticket } from "./ticket.ts"

/** So many records are kept, and of each the id and so much of what stood there (characters). */
export const KEPT = 100
const KEPT_ID = 200
const KEPT_RECORD = 1_000

/** Keeps and counts what was taken out of a key. */
export const quarantine = (s: Step, key: string, id: string, record: string): void => {
  const n = s.db.hincrby(s.keys.meta, "quarantined", 1)
  const short = beginning(id, KEPT_ID)
  s.db.hset(s.keys.meta, "junk", encode({ at: s.now, key, id: short }))
  s.db.hset(s.keys.meta, "recount", "1")
  s.db.zadd(s.keys.quarantine, n, encode({ n, at: s.now, key, id: short, record: beginning(record, KEPT_RECORD) }))
  s.db.zkeepLast(s.keys.quarantine, KEPT)
}

export const save = (s: Step, id: string, ticket: Ticket): void => s.db.hset(s.keys.tickets, id, encode(ticket))

/** A ticket's record; undefined where there is none, or none that is a ticket. */
export const load = (s: Step, id: string): Ticket | undefined => {
  const record = s.db.hget(s.keys.tickets, id)
  if (record === undefined) return undefined
  const ticket = decode(record)
  if (isTicket(ticket)) return ticket
  s.db.hdel(s.keys.tickets, id)
  s.db.hdel(s.keys.data, id)
  quarantine(s, "tickets", id, record)
  return undefined
}

/** The record of an id out of `waiting` or `presence`; undefined where it does not belong there, and stands there no more. */
export const loadWaiting = (s: Step, id: string): Ticket | undefined => {
  const ticket = load(s, id)
  if (ticket !== undefined && ticket.state === "waiting") return ticket
  s.db.zrem(s.keys.waiting, id)
  s.db.zrem(s.keys.presence, id)
  s.db.zrem(s.keys.parked, id)
  quarantine(s, "waiting", id, ticket === undefined ? "" : ticket.state)
  return undefined
}

/** The record of an id out of `leases`; undefined where it holds no slot, and stands there no more. */
export const loadHolder = (s: Step, id: string): Ticket | undefined => {
  const ticket = load(s, id)
  if (ticket !== undefined && holdsSlot(ticket.state)) return ticket
  s.db.zrem(s.keys.leases, id)
  quarantine(s, "leases", id, ticket === undefined ? "" : ticket.state)
  return undefined
}

/** The live ticket of a session; undefined where none is known by this id. */
export const loadBySession = (
  s: Step,
  session: string,
): { readonly id: string; readonly ticket: Ticket } | undefined => {
  const id = s.db.hget(s.keys.sessions, session)
  if (id === undefined) return undefined
  const ticket = load(s, id)
  if (ticket !== undefined && ticket.state === "live") return { id, ticket }
  s.db.hdel(s.keys.sessions, session)
  quarantine(s, "sessions", session, id)
  return undefined
}
