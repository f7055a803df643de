/**
 * Clears a campaign that no gate serves any more. Waiting and called tickets are removed with a refund. Starts in
 * flight and running sessions continue until they end or reach their deadlines. Ended tickets are forgotten after their
 * retention, and once nothing is left, the ended sessions are too. Events are dropped apart (`events/rules/fade.ts`). Nobody is called.
 *
 * A gate that serves a campaign sweeps it every second, and this rule never records a sweep: if any gate has swept
 * within `unservedMillis`, nothing happens. A gate that has just started to serve the campaign may not have swept yet,
 * so tickets accepted or called within that time are left alone. Idempotent.
 */

import { ALL, LOWEST } from "../../store/rules/native.ts"
import type { Cleared } from "../answers.ts"
import { expire, forgetOld, MAX_PER_STEP, overdueCharges, overdueSettlements } from "./shared/expiry.ts"
import { dequeue, endTicket, freeSlot } from "./shared/line.ts"
import { loadHolder, loadWaiting } from "./shared/load.ts"
import { releaseUnpaid } from "./shared/own-budgets.ts"
import { meta, type Step } from "./shared/step.ts"

const sendWaitingAway = (s: Step, since: number): number => {
  let sent = 0
  for (const id of s.db.zrange(s.keys.waiting, 0, MAX_PER_STEP)) {
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
  // the scan below is rare: leases that are not live are few and short-lived
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
  const expired = s.db.zrangebyscore(s.keys.leases, LOWEST, s.now - 1, MAX_PER_STEP)
  for (const id of expired) {
    const ticket = loadHolder(s, id)
    // `expire` puts a ticket whose start is now in doubt back in the queue; the next step removes it
    if (ticket !== undefined && ticket.state === "called") {
      freeSlot(s, id, ticket)
      endTicket(s, id, ticket, "removed", "refund")
    } else if (ticket !== undefined) {
      expire(s, id, ticket, s.now)
    }
  }
  return expired.length === MAX_PER_STEP
}

export const clear = (s: Step, { unservedMillis }: { readonly unservedMillis: number }): Cleared => {
  const { db, keys, now } = s
  const since = now - unservedMillis
  const sweptAt = meta(s, "sweptAt")
  if (sweptAt > 0 && sweptAt > since) return { _tag: "served" }
  if (db.zcard(keys.unpaid) > 0) releaseUnpaid(s)
  const waitingSent = sendWaitingAway(s, since)
  const calledSent = sendCalledAway(s, since)
  const moreExpired = endExpired(s)
  const moreOld = forgetOld(s) === MAX_PER_STEP
  const owed = overdueSettlements(s)
  const uncharged = overdueCharges(s)
  const waiting = db.zcard(keys.waiting)
  const leases = db.zcard(keys.leases)
  const left = waiting + leases + db.zcard(keys.settlements) + db.zcard(keys.charges) + db.zcard(keys.forget) > 0
  if (!left) {
    // records without any ticket left
    db.del(keys.endedSessions)
    db.del(keys.tickets)
    db.del(keys.ending)
    db.del(keys.limits)
    db.del(keys.data)
    db.del(keys.changes)
    db.del(keys.holders)
  }
  return {
    _tag: "cleared",
    more: waitingSent === MAX_PER_STEP || moreExpired || moreOld,
    sent: waitingSent + calledSent,
    left,
    waiting,
    leases,
    live: meta(s, "live"),
    ...(owed.length === 0 ? {} : { owed }),
    ...(uncharged.length === 0 ? {} : { uncharged }),
  }
}
