/**
 * What budgets need to know of the calls whose time they hold, and what they do when no more is left: the call ends at the time up to which
 * it is paid (`./lengths.ts` warns its page and has a gate end it), unless it ends before at its time limit.
 */
import type { BilledCall, BilledCalls, CallTimes } from "../answers.ts"
import { nextDue } from "./lengths.ts"
import { MAX_PER_STEP } from "./shared/expiry.ts"
import { load, loadHolder, save } from "./shared/load.ts"
import { notify, type Step } from "./shared/step.ts"
import { doubtId, type Ticket } from "./shared/ticket.ts"

/** A slot: the ticket that was started in it, and its lease. */
export interface Slot {
  readonly ticket: string
  readonly lease: string
}

/** The page of a call is told that no end is due any more. */
const NO_END = { _tag: "warning" as const, reason: "budget" as const }

/** Who holds a slot: the ticket, or its start in doubt; undefined when the slot is free. */
const holderOfSlot = (s: Step, { lease, ticket: id }: Slot): { id: string; ticket: Ticket } | undefined => {
  const ticket = load(s, id)
  const { state } = ticket ?? {}
  if (ticket !== undefined && ticket.lease === lease && (state === "starting" || state === "live"))
    return { id, ticket }
  const slotId = doubtId(lease)
  const doubt = load(s, slotId)
  return doubt !== undefined && doubt.ticket === id && (doubt.state === "doubt" || doubt.state === "live")
    ? { id: slotId, ticket: doubt }
    : undefined
}

/** Since when each call is billed (ms since 1970): 0 while it has not begun, -1 when its slot is free. */
export const callTimes = (s: Step, { slots }: { readonly slots: ReadonlyArray<Slot> }): CallTimes => {
  const calls: Array<CallTimes["calls"][number]> = []
  for (const slot of slots) {
    const ticket = holderOfSlot(s, slot)?.ticket
    if (ticket === undefined) calls.push({ since: -1 })
    else if (ticket.state !== "live") calls.push({ since: 0 })
    else if (ticket.spent === true) calls.push({ since: ticket.billed ?? 0, spent: true })
    else calls.push({ since: ticket.billed ?? 0 })
  }
  return { calls }
}

/** One page of the calls that are billed, of which budgets should hold time. */
export const billedCalls = (s: Step, { first }: { readonly first: number }): BilledCalls => {
  const calls: Array<BilledCall> = []
  const ids = s.db.zrange(s.keys.leases, first, MAX_PER_STEP)
  for (const id of ids) {
    const ticket = loadHolder(s, id)
    const { billed = 0, lease = "" } = ticket ?? {}
    if (ticket !== undefined && ticket.state === "live" && billed > 0)
      calls.push({ ticket: ticket.ticket ?? id, lease, since: billed, caller: ticket.payer ?? ticket.caller ?? "" })
  }
  return {
    ...(calls.length === 0 ? {} : { calls }),
    ...(ids.length < MAX_PER_STEP ? {} : { next: first + MAX_PER_STEP }),
  }
}

export interface PaidCall extends Slot {
  /** until when budgets have time for it; absent where they have more again */
  readonly endsAt?: number
}

/**
 * A budget has no more for this call: it ends then, if not before at its time limit. Or the budgets have more again, as when an operator has
 * added some: then its end is its time limit again. False when it does not run any more.
 */
export const endAtBudget = (s: Step, { endsAt, ...slot }: PaidCall): boolean => {
  const holder = holderOfSlot(s, slot)
  if (holder === undefined || holder.ticket.state !== "live") return false
  const { id, ticket } = holder
  const limit = ticket.spent === true ? ticket.limitedAt : ticket.endsAt
  const isSpent = endsAt !== undefined && (limit === undefined || endsAt < limit)
  const end = isSpent ? endsAt : limit
  if (end === ticket.endsAt) return true
  ticket.endsAt = end
  ticket.spent = isSpent ? true : undefined
  ticket.limitedAt = isSpent ? limit : undefined
  save(s, id, ticket)
  if (end === undefined) s.db.zrem(s.keys.limits, id)
  else s.db.zadd(s.keys.limits, nextDue(s.now, end), id)
  if (ticket.seq !== 0) {
    const kind = end === undefined ? NO_END : { _tag: "warning" as const, endsAt: end, reason: "budget" as const }
    notify(s, ticket, { ticket: id, kind })
  }
  return true
}
