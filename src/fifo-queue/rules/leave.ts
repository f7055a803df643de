/**
 * The caller gives up a waiting or called ticket. A starting or live ticket ends with its session instead. The request
 * stays used, or an address could have any number accepted in an hour. A called caller pays for a missed turn after
 * `FREE_LEAVE_MILLIS` of the start window: otherwise a caller could hold a slot for nearly the whole window at the
 * price of a call. The window is measured back from its deadline, because outages renew it. While no gate sweeps or the platform cannot be reached,
 * leaving is never late.
 */
import type { LeaveResult } from "../answers.ts"
import { callNext } from "./shared/call-next.ts"
import { dequeue, endTicket, freeSlot, isDisrupted } from "./shared/line.ts"
import { load } from "./shared/load.ts"
import { windowBegan } from "./shared/outage.ts"
import type { Step } from "./shared/step.ts"
import { isUnattended } from "./shared/unattended.ts"

/** A caller who leaves later than this after being called has missed the turn (ms). */
export const FREE_LEAVE_MILLIS = 5_000

export const leave = (s: Step, { id }: { readonly id: string }): LeaveResult => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state === "doubt") return "unknown"
  if (ticket.state === "starting" || ticket.state === "live") return "busy"
  if (ticket.state === "waiting") {
    dequeue(s, id, ticket)
    endTicket(s, id, ticket, "left")
  } else if (ticket.state === "called") {
    const isLate = s.now - windowBegan(s, id, ticket) > FREE_LEAVE_MILLIS && !isUnattended(s) && !isDisrupted(s)
    freeSlot(s, id, ticket)
    endTicket(s, id, ticket, "left", isLate ? "missed" : "release")
  } else {
    return "ended"
  }
  callNext(s)
  return "left"
}
