/**
 * Takes back tickets of which nobody knows: their callers were answered that the store is away, or could not be answered. A place
 * is given up and a slot is free again, also one whose start was never asked for; quota is given back. All of them go before the
 * free slots call the next, so that none of them is called. An id that is not known is remembered, so that its admission is
 * refused if it still comes. One whose session runs is left to its end. Repeated, all of it changes nothing.
 */
import { callNext } from "../call-next.ts"
import { dequeue, endTicket, freeSlot, RETENTION_MILLIS } from "../line.ts"
import { load } from "../load.ts"
import { meta, type Step } from "../step.ts"

/** At most so many tickets are withdrawn in one step. */
export const WITHDRAW_LIMIT = 200

/** Ends these tickets and calls nobody. Answers how many this ended. */
export const endWithdrawn = (s: Step, ids: ReadonlyArray<string>): number => {
  const forgotten = s.now + RETENTION_MILLIS
  let ended = 0
  for (const id of ids) {
    const ticket = load(s, id)
    if (ticket === undefined) {
      s.db.zadd(s.keys.forget, forgotten, id)
      if (forgotten > meta(s, "withdrawnUntil")) s.db.hset(s.keys.meta, "withdrawnUntil", `${forgotten}`)
    } else if (ticket.state === "waiting" || ticket.state === "called" || ticket.state === "starting") {
      if (ticket.state === "waiting") dequeue(s, id, ticket)
      else freeSlot(s, id, ticket)
      endTicket(s, id, ticket, "left", "refund")
      ended++
    }
  }
  return ended
}

/** Answers how many tickets this ended. */
export const withdraw = (s: Step, { ids }: { readonly ids: ReadonlyArray<string> }): number => {
  const ended = endWithdrawn(s, ids)
  callNext(s)
  return ended
}
