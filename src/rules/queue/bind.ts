/**
 * The platform has started the session: the lease goes live, unless it is no longer this one (then nothing is touched),
 * or the session's end was heard before its start. Repeated, because the first answer was lost, it is live still. An answer that
 * came when the start was in doubt already ends the doubt: the ticket is live where it still waits, else the slot is held until the
 * session ends.
 */
import { callNext, platformReached } from "../call-next.ts"
import { countDoubts, doubtDecided, doubtOf } from "../doubt.ts"
import { clearBackoff, dequeue, endSession } from "../line.ts"
import { load, save } from "../load.ts"
import type { Step } from "../step.ts"
import { doubtId, type Ticket } from "../ticket.ts"

export interface Bound {
  readonly id: string
  readonly lease: string
  /** what the holder is told, JSON */
  readonly data: string
  /** the ids of the session, at least one */
  readonly sessions: ReadonlyArray<string>
}

/** `stale`: the lease is no longer this ticket's; `ended`: the session's end was heard already. */
export type Binding = "live" | "ended" | "stale"

/** What the session is bound to: the starting ticket, or what its doubt has become. */
const holderOf = (
  s: Step,
  id: string,
  lease: string,
  ticket: Ticket | undefined,
): { readonly id: string; readonly ticket: Ticket } | undefined => {
  const own = ticket !== undefined && ticket.lease === lease
  if (own && ticket.state === "starting") return { id, ticket }
  const doubt = doubtOf(s, id, lease)
  if (doubt === undefined) return undefined
  const held = doubtId(lease)
  countDoubts(s, -1)
  if (!own || ticket.state !== "waiting") {
    doubtDecided(s, held, doubt)
    return { id: held, ticket: doubt }
  }
  dequeue(s, id, ticket)
  s.db.zrem(s.keys.leases, held)
  s.db.hdel(s.keys.tickets, held)
  s.db.hdel(s.keys.data, held)
  if (doubt.since !== undefined) ticket.since = doubt.since
  return { id, ticket }
}

export const bind = (s: Step, { data, id, lease, sessions }: Bound): Binding => {
  const known = load(s, id)
  if (known !== undefined && known.state === "live" && known.lease === lease) return "live"
  const holder = holderOf(s, id, lease, known)
  if (holder === undefined) return "stale"
  const { db, keys } = s
  const { ticket } = holder
  ticket.state = "live"
  ticket.sessions = sessions
  save(s, holder.id, ticket)
  db.hset(keys.data, holder.id, data)
  db.zadd(keys.leases, s.now + s.context.callMillis, holder.id)
  db.hincrby(keys.meta, "live", 1)
  db.hincrby(keys.meta, "started", 1)
  clearBackoff(s)
  let ended = false
  for (const session of sessions) {
    db.hset(keys.sessions, session, holder.id)
    if (db.zscore(keys.endedSessions, session) !== undefined) ended = true
  }
  if (ended) endSession(s, holder.id, ticket, "failed")
  const reached = platformReached(s)
  if (reached || ended || holder.id !== id) callNext(s)
  if (holder.id !== id) return "stale"
  return ended ? "ended" : "live"
}
