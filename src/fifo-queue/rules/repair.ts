/**
 * Puts back what a rule has left half-done. Redis does not undo what a rule has written before one of its commands failed: the user has
 * lost a permission, or a key holds another type of value. Such a rule may have taken a ticket out of the queue without giving it the
 * slot. Its record remains, so every record is compared with the sets that it belongs to, one page a step.
 *
 * A campaign of which no rule has failed is not changed.
 */

import type { Repaired } from "../answers.ts"
import { DOUBT_MILLIS } from "../bounds.ts"
import { nextDue } from "./lengths.ts"
import { isRecountable, recount } from "./recount.ts"
import { enqueue, RETENTION_MILLIS, requeue } from "./shared/line.ts"
import { load } from "./shared/load.ts"
import { type Step, settle } from "./shared/step.ts"
import type { Ticket } from "./shared/ticket.ts"

/** About how many records one step compares. */
export const REPAIR_PAGE = 200

/** Where the next page begins: the store's own text; `0` is the beginning, and the end. */
export interface RepairFrom {
  readonly cursor: string
}

/** Its slot and its sessions are known again. */
const repairHolder = (s: Step, id: string, ticket: Ticket, until: number): boolean => {
  let repaired = false
  if (s.db.zscore(s.keys.leases, id) === undefined) {
    s.db.zadd(s.keys.leases, until, id)
    repaired = true
  }
  if (ticket.endsAt !== undefined && s.db.zscore(s.keys.limits, id) === undefined) {
    s.db.zadd(s.keys.limits, nextDue(s.now, ticket.endsAt), id)
    repaired = true
  }
  for (const session of ticket.sessions ?? []) {
    if (s.db.hget(s.keys.sessions, session) === undefined) {
      s.db.hset(s.keys.sessions, session, id)
      repaired = true
    }
  }
  return repaired
}

const repairTicket = (s: Step, id: string, ticket: Ticket): boolean => {
  const { db, keys, now } = s
  const presentUntil = now + s.context.seenMillis
  if (ticket.state === "waiting") {
    if (db.zscore(keys.waiting, id) !== undefined) return false
    db.zrem(keys.leases, id)
    enqueue(s, id, ticket, presentUntil)
    return true
  }
  if (ticket.state === "live") return repairHolder(s, id, ticket, ticket.offerBefore ?? now + s.context.callMillis)
  if (ticket.state === "doubt") return repairHolder(s, id, ticket, now + DOUBT_MILLIS)
  if (ticket.state === "called" || ticket.state === "starting") {
    if (db.zscore(keys.leases, id) !== undefined) return false
    // nobody was told of this slot
    requeue(s, id, ticket, presentUntil)
    return true
  }
  if (db.zscore(keys.forget, id) !== undefined) return false
  db.zadd(keys.forget, now + RETENTION_MILLIS, id)
  settle(s, "release", id, ticket)
  return true
}

/** Compares one page of the records. The first page also rebuilds the counts, where they are not too many. */
export const repair = (s: Step, { cursor }: RepairFrom): Repaired => {
  if (cursor === "0" && isRecountable(s)) recount(s)
  const [next, entries] = s.db.hscan(s.keys.tickets, cursor, REPAIR_PAGE)
  let repaired = 0
  for (let i = 0; i < entries.length; i += 2) {
    const id = entries[i] as string
    const ticket = load(s, id)
    if (ticket !== undefined && repairTicket(s, id, ticket)) repaired++
  }
  return { cursor: next, repaired }
}
