/**
 * Reads and writes tickets, and removes invalid records: written by hand, by a faulty program, or truncated. One
 * invalid record must not stop the campaign, so every rule checks what it reads, removes an invalid record and goes on.
 *
 * - A ticket whose record is invalid ends: its holder is told that it is unknown, and its slot is freed.
 * - An id in a sorted set or of a session is removed if it names no ticket in a matching state.
 * - The last `MAX_QUARANTINED` removed records are kept in `quarantine`. All are counted; a sweep returns the count and
 *   the last one, for the log. The next sweep rebuilds the counts that may have included the record.
 *
 * A key of the wrong type is not repaired: Redis rejects every command on it. The campaign is closed until
 * somebody deletes the key (`../../closed.ts`).
 */
import { beginning, decode, encode } from "../../../store/rules/native.ts"
import type { Step } from "./step.ts"
import { holdsSlot, isTicket, type Ticket } from "./ticket.ts"

/** Maximum quarantined records, and the maximum characters kept of an id and of a record. */
export const MAX_QUARANTINED = 100
const MAX_ID_LENGTH = 200
const MAX_RECORD_LENGTH = 1_000

/** Keeps and counts a removed record. */
export const quarantine = (s: Step, key: string, id: string, record: string): void => {
  const n = s.db.hincrby(s.keys.meta, "quarantined", 1)
  const shortId = beginning(id, MAX_ID_LENGTH)
  s.db.hset(s.keys.meta, "junk", encode({ at: s.now, key, id: shortId }))
  s.db.hset(s.keys.meta, "recount", "1")
  s.db.zadd(
    s.keys.quarantine,
    n,
    encode({ n, at: s.now, key, id: shortId, record: beginning(record, MAX_RECORD_LENGTH) }),
  )
  s.db.zkeepLast(s.keys.quarantine, MAX_QUARANTINED)
}

export const save = (s: Step, id: string, ticket: Ticket): void => {
  const { state } = ticket
  if (state === "stopped" || state === "silent") {
    s.db.hset(s.keys.tickets, id, encode({ ...ticket, state: "ended", ended: state }))
  } else if (state === "closed") {
    s.db.hset(s.keys.tickets, id, encode({ ...ticket, state: "removed", ended: state }))
  } else if (state === "too_long") {
    s.db.hset(s.keys.tickets, id, encode({ ...ticket, state: "ended", tooLong: true }))
  } else if (state === "budget") {
    s.db.hset(s.keys.tickets, id, encode({ ...ticket, state: "ended", spent: true }))
  } else {
    s.db.hset(s.keys.tickets, id, encode(ticket))
  }
}

/** Undefined when there is none or it is invalid. */
export const load = (s: Step, id: string): Ticket | undefined => {
  const record = s.db.hget(s.keys.tickets, id)
  if (record === undefined) return undefined
  const ticket = decode(record)
  if (isTicket(ticket)) {
    const { ended } = ticket
    if (ended !== undefined && ticket.state === (ended === "closed" ? "removed" : "ended")) ticket.state = ended
    if (ticket.tooLong === true && ticket.state === "ended") ticket.state = "too_long"
    if (ticket.spent === true && ticket.state === "ended") ticket.state = "budget"
    return ticket
  }
  s.db.hdel(s.keys.tickets, id)
  s.db.hdel(s.keys.data, id)
  quarantine(s, "tickets", id, record)
  return undefined
}

/** The record of an id in `waiting` or `presence`; undefined when the id does not belong there, and is then removed. */
export const loadWaiting = (s: Step, id: string): Ticket | undefined => {
  const ticket = load(s, id)
  if (ticket !== undefined && ticket.state === "waiting") return ticket
  s.db.zrem(s.keys.waiting, id)
  s.db.zrem(s.keys.presence, id)
  if (s.db.zrem(s.keys.parked, id)) s.db.zrem(s.keys.unpaid, id)
  s.db.zrem(s.keys.near, id)
  quarantine(s, "waiting", id, ticket === undefined ? "" : ticket.state)
  return undefined
}

/** The record of an id in `leases`; undefined when it holds no slot, and is then removed. */
export const loadHolder = (s: Step, id: string): Ticket | undefined => {
  const ticket = load(s, id)
  if (ticket !== undefined && holdsSlot(ticket.state)) return ticket
  s.db.zrem(s.keys.leases, id)
  s.db.zrem(s.keys.ending, id)
  s.db.zrem(s.keys.limits, id)
  quarantine(s, "leases", id, ticket === undefined ? "" : ticket.state)
  return undefined
}

/** The live ticket of a session; undefined when the id is unknown. */
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
