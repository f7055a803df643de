/**
 * What budgets need to know of the calls whose time they hold, and what they do when no more is left: the call ends at the time up to which
 * it is paid (`./lengths.ts` warns its page and has a gate end it), unless it ends before because of another limit.
 */
import type { CallTimes } from "../answers.ts"
import { nextDue } from "./lengths.ts"
import { load, save } from "./shared/load.ts"
import { notify, type Step } from "./shared/step.ts"
import { doubtId, type Ticket } from "./shared/ticket.ts"

/** A slot: the ticket that was started in it, and its lease. */
export interface Slot {
  readonly ticket: string
  readonly lease: string
}

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
  const since: Array<number> = []
  for (const slot of slots) {
    const holder = holderOfSlot(s, slot)
    if (holder === undefined) since.push(-1)
    else since.push(holder.ticket.state === "live" ? (holder.ticket.billed ?? 0) : 0)
  }
  return { since }
}

export interface SpentCall extends Slot {
  readonly endsAt: number
}

/** A budget has no more for this call. False when it does not run any more. */
export const endAtBudget = (s: Step, { endsAt, ...slot }: SpentCall): boolean => {
  const holder = holderOfSlot(s, slot)
  if (holder === undefined || holder.ticket.state !== "live") return false
  const { id, ticket } = holder
  if (ticket.endsAt !== undefined && ticket.endsAt <= endsAt) return true
  ticket.endsAt = endsAt
  ticket.spent = true
  save(s, id, ticket)
  s.db.zadd(s.keys.limits, nextDue(s.now, endsAt), id)
  if (ticket.seq !== 0) notify(s, ticket, { ticket: id, kind: { _tag: "warning", endsAt, reason: "budget" } })
  return true
}
