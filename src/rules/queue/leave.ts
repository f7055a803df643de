/**
 * The caller gives up a waiting or called ticket. One that is starting or live ends with its session. Quota is given back to
 * whoever waited. Whoever was called pays as for a call, and after `LEAVE_FREELY_MILLIS` of the start window as for a missed
 * turn: else a slot could be held for nearly all of the window at the price of a call. The window is counted from its
 * deadline, since it begins anew when the store was away; while it is away, or the platform cannot be reached,
 * nobody is late.
 */
import { callNext } from "../call-next.ts"
import { dequeue, endTicket, freeSlot, isDisrupted } from "../line.ts"
import { load } from "../load.ts"
import { isUnattended } from "../outage.ts"
import type { Step } from "../step.ts"

/** A caller who leaves later than this after being called has missed the turn (ms). */
export const LEAVE_FREELY_MILLIS = 5_000

/** `busy`: it is starting or live. */
export type Leaving = "left" | "busy" | "over" | "unknown"

export const leave = (s: Step, { id }: { readonly id: string }): Leaving => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state === "doubt") return "unknown"
  if (ticket.state === "starting" || ticket.state === "live") return "busy"
  if (ticket.state === "waiting") {
    dequeue(s, id, ticket)
    endTicket(s, id, ticket, "left", "refund")
  } else if (ticket.state === "called") {
    const calledAt = (s.db.zscore(s.keys.leases, id) ?? 0) - s.context.windowMillis
    const isLate = s.now - calledAt > LEAVE_FREELY_MILLIS && !isUnattended(s) && !isDisrupted(s)
    freeSlot(s, id, ticket)
    endTicket(s, id, ticket, "left", isLate ? "missed" : "release")
  } else {
    return "over"
  }
  callNext(s)
  return "left"
}
