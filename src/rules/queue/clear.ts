/**
 * Brings a campaign to its end that no gate serves any more: who waits or is called is sent away with the quota given back; starts
 * under way and running sessions go on until their ends or deadlines free their slots; what is over is forgotten in its time; and
 * when nothing is left, so are the ended sessions. Nobody is called.
 *
 * A gate that serves a campaign sweeps it every second, and this never does: as long as somebody has swept within `unservedMillis`,
 * nothing happens. A gate that has begun to serve it a moment ago may not have swept yet, so whoever was accepted or called since is
 * left alone. Repeated, it changes nothing.
 */
import { expire, forgetOld, LIMIT, leftOwed } from "../expiry.ts"
import { dequeue, endTicket, freeSlot } from "../line.ts"
import { loadHolder, loadWaiting } from "../load.ts"
import { ALL, LOWEST } from "../native.ts"
import { meta, type Settlement, type Step } from "../step.ts"

export type Cleared =
  /** a gate serves the campaign, and nothing was done */
  | { readonly _tag: "served" }
  | {
      readonly _tag: "cleared"
      /** another step has work at once */
      readonly more: boolean
      /** tickets that this step sent away */
      readonly sent: number
      /** a ticket is left, one that is over and remembered included, or something is owed to a caller */
      readonly left: boolean
      readonly waiting: number
      readonly leases: number
      /** leases with a running session */
      readonly live: number
      /** settlements that the process which caused them did not carry out */
      readonly owed?: ReadonlyArray<Settlement>
    }

const sendWaitingAway = (s: Step, since: number): number => {
  let sent = 0
  for (const id of s.db.zrange(s.keys.waiting, 0, LIMIT)) {
    const ticket = loadWaiting(s, id)
    if (ticket !== undefined && ticket.accepted <= since) {
      dequeue(s, id, ticket)
      endTicket(s, id, ticket, "removed", "refund")
      sent++
    }
  }
  return sent
}

const sendCalledAway = (s: Step, since: number): number => {
  let sent = 0
  // leases that are not live are few, and for a moment
  if (s.db.zcard(s.keys.leases) <= meta(s, "live")) return 0
  for (const id of s.db.zrange(s.keys.leases, 0, ALL)) {
    const ticket = loadHolder(s, id)
    if (ticket !== undefined && ticket.state === "called" && (ticket.since ?? 0) <= since) {
      freeSlot(s, id, ticket)
      endTicket(s, id, ticket, "removed", "refund")
      sent++
    }
  }
  return sent
}

const endExpired = (s: Step): boolean => {
  const expired = s.db.zrangebyscore(s.keys.leases, LOWEST, s.now - 1, LIMIT)
  for (const id of expired) {
    const ticket = loadHolder(s, id)
    // a ticket whose start is in doubt is sent away by the next step
    if (ticket !== undefined && ticket.state === "called") {
      freeSlot(s, id, ticket)
      endTicket(s, id, ticket, "removed", "refund")
    } else if (ticket !== undefined) {
      expire(s, id, ticket, s.now)
    }
  }
  return expired.length === LIMIT
}

export const clear = (s: Step, { unservedMillis }: { readonly unservedMillis: number }): Cleared => {
  const { db, keys, now } = s
  const since = now - unservedMillis
  const sweptAt = meta(s, "sweptAt")
  if (sweptAt > 0 && sweptAt > since) return { _tag: "served" }
  const waitingSent = sendWaitingAway(s, since)
  const calledSent = sendCalledAway(s, since)
  const moreExpired = endExpired(s)
  const moreOld = forgetOld(s) === LIMIT
  const owed = leftOwed(s)
  const waiting = db.zcard(keys.waiting)
  const leases = db.zcard(keys.leases)
  const left = waiting + leases + db.zcard(keys.settlements) + db.zcard(keys.forget) > 0
  if (!left) {
    // a record that stands nowhere is nobody's
    db.del(keys.endedSessions)
    db.del(keys.tickets)
    db.del(keys.data)
  }
  return {
    _tag: "cleared",
    more: waitingSent === LIMIT || moreExpired || moreOld,
    sent: waitingSent + calledSent,
    left,
    waiting,
    leases,
    live: meta(s, "live"),
    ...(owed.length === 0 ? {} : { owed }),
  }
}
