/**
 * Withdraws tickets whose callers do not know of them: they were answered that the store is unavailable, or the answer
 * could not be delivered. Places and slots are freed, including the slot of a start that the platform was never asked
 * for, and quota is given back. All are withdrawn before free slots call the next ticket, so none of them is called. An
 * unknown id is remembered, so that its admission is refused if it still arrives. A ticket with a running session is
 * not withdrawn: it ends with the session. Idempotent.
 */
import { callNext } from "./shared/call-next.ts"
import { dequeue, endTicket, freeSlot, RETENTION_MILLIS } from "./shared/line.ts"
import { load } from "./shared/load.ts"
import { meta, type Step } from "./shared/step.ts"

/** Ends these tickets and calls nobody. Returns how many it ended. */
export const endWithdrawn = (s: Step, ids: ReadonlyArray<string>): number => {
  const forgetAt = s.now + RETENTION_MILLIS
  let ended = 0
  for (const id of ids) {
    const ticket = load(s, id)
    if (ticket === undefined) {
      s.db.zadd(s.keys.forget, forgetAt, id)
      if (forgetAt > meta(s, "withdrawnUntil")) s.db.hset(s.keys.meta, "withdrawnUntil", `${forgetAt}`)
    } else if (ticket.state === "waiting" || ticket.state === "called" || ticket.state === "starting") {
      if (ticket.state === "waiting") dequeue(s, id, ticket)
      else freeSlot(s, id, ticket)
      endTicket(s, id, ticket, "left", "refund")
      ended++
    }
  }
  return ended
}

/** Returns how many tickets it ended. */
export const withdraw = (s: Step, { ids }: { readonly ids: ReadonlyArray<string> }): number => {
  const ended = endWithdrawn(s, ids)
  callNext(s)
  return ended
}
