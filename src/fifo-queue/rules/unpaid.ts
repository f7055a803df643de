/**
 * Tickets that wait for budgets of their callers (`./shared/own-budgets.ts`): how a newcomer comes to wait for one, which tickets a gate must
 * look after, and what it has found. One gate at a time claims the look; when it dies, the next one looks after the claim.
 */
import type { Failed, UnpaidTickets } from "../answers.ts"
import { callNext } from "./shared/call-next.ts"
import { dequeue, endTicket, isParked, place } from "./shared/line.ts"
import { load } from "./shared/load.ts"
import { awaitOwn, mayAwaitOwn, payFor } from "./shared/own-budgets.ts"
import { meta, type Step } from "./shared/step.ts"

export interface OwnWait {
  readonly id: string
  /** when the last of the budgets that have too little begins anew (ms since 1970) */
  readonly until: number
}

/**
 * A waiting ticket's caller has too little left of a budget of his own. It has failed where too many wait for theirs; its quota is given back. One
 * whose start has failed is left alone: its next start finds what the budget has. `stale`: it does not wait any more.
 */
export const awaitBudget = (s: Step, { id, until }: OwnWait): Failed => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state !== "waiting") return { _tag: "stale" }
  const known = s.db.zscore(s.keys.unpaid, id) !== undefined
  if (!known && isParked(s, id)) return place(s, id, ticket)
  if (known || mayAwaitOwn(s)) {
    awaitOwn(s, id, ticket.seq, until)
    return place(s, id, ticket)
  }
  dequeue(s, id, ticket)
  endTicket(s, id, ticket, "budget", "refund")
  return { _tag: "failed" }
}

/** The oldest waiting ticket of each caller who waits for a budget of his own. Empty when another gate has claimed the look. */
export const findUnpaid = (s: Step, { claimMillis }: { readonly claimMillis: number }): UnpaidTickets => {
  const ids = s.db.zrange(s.keys.unpaid, 0, s.db.zcard(s.keys.unpaid))
  if (ids.length === 0) return {}
  const claimed = meta(s, "unpaidUntil")
  // a claim that is further away is one of before the clock was set back
  if (claimed > s.now && claimed - s.now <= claimMillis) return {}
  s.db.hset(s.keys.meta, "unpaidUntil", `${s.now + claimMillis}`)
  const tickets: Array<{ ticket: string; caller: string }> = []
  const known: { [caller: string]: boolean } = {}
  for (const id of ids) {
    const ticket = load(s, id)
    const caller = ticket?.caller ?? ""
    if (ticket === undefined || ticket.state !== "waiting") {
      s.db.zrem(s.keys.unpaid, id)
    } else if (known[caller] !== true) {
      known[caller] = true
      tickets.push({ ticket: id, caller })
    }
  }
  return tickets.length === 0 ? {} : { tickets }
}

/** The budgets of these tickets' callers have enough again. Returns how many of them have waited for that. */
export const pay = (s: Step, { ids }: { readonly ids: ReadonlyArray<string> }): number => {
  let paid = 0
  for (const id of ids) {
    if (s.db.zscore(s.keys.unpaid, id) !== undefined) {
      paid++
      payFor(s, id)
    }
  }
  if (paid > 0) callNext(s)
  return paid
}
