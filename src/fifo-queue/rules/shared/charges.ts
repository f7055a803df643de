/**
 * What a call has used is owed to the budgets that have held its time, from the step that frees its slot on: so a gate that dies owes it
 * still, and any other gate charges it. A start that came to nothing has used nothing, and is owed too: its hold is given back. The start in
 * doubt has a hold of its own, that of the lease, which is owed when the doubt is resolved or its session has ended.
 *
 * Nobody learns when a call ends while no gate serves the campaign. So what a call may have used beyond its limit in that time is not owed: it
 * was to be over by then, and a vendor that says otherwise is believed.
 */

import type { Charge } from "../../../protocol/settlements.ts"
import { textOf } from "../../../store/rules/native.ts"
import { shortHash } from "../../short-hash.ts"
import type { Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"
import { unattendedSince } from "./unattended.ts"

/** How the time is named that budgets hold for a call: by a hash of its ticket, and the lease of its slot. */
export const holdName = (ticket: string, lease: string): string => `${shortHash(ticket)}.${lease}`

/** A start begins; the campaign's budgets hold time for it. */
export const beginBilling = (s: Step, ticket: Ticket): void => {
  ticket.billed = s.context.charges === true ? 0 : undefined
  ticket.lasted = undefined
  ticket.began = undefined
}

/** In place of a caller who is not known. */
export const UNKNOWN = "-"

/** As it is stored. */
export const chargeEntry = ({ caller = UNKNOWN, doubt, hold, seconds, sessions }: Charge): string => {
  let entry = `${hold} ${textOf(seconds)} ${doubt === true ? 1 : 0} ${caller}`
  for (const session of sessions ?? []) entry = `${entry} ${session}`
  return entry
}

/** When a call is over at the latest if all goes as it should (ms): at its time limit, or when its slot is taken back. */
const limitOf = (s: Step, id: string, { endsAt, limitedAt, spent }: Ticket): number => {
  const deadline = s.db.zscore(s.keys.leases, id) ?? s.now
  const limit = spent === true ? limitedAt : endsAt
  return limit === undefined ? deadline : Math.min(limit, deadline)
}

/**
 * When a call that began at `since` and is over now counts as over (ms): without the time beyond its limit in which no gate served the campaign.
 * To be asked before the slot is free, because the limit is forgotten then.
 */
export const overAt = (s: Step, id: string, ticket: Ticket, since: number): number => {
  const limit = limitOf(s, id, ticket)
  return limit < s.now ? s.now - unattendedSince(s, Math.max(limit, since)) : s.now
}

/**
 * The slot is about to be free: what its call has used is owed.
 * @lazy
 */
export const oweCharge = (s: Step, id: string, ticket: Ticket, since: number): void => {
  const seconds =
    since === 0 ? 0 : (ticket.lasted ?? Math.ceil(Math.max(0, overAt(s, id, ticket, since) - since) / 1000))
  const hold = holdName(ticket.ticket ?? id, ticket.lease ?? "")
  const caller = ticket.payer ?? ticket.caller
  const { sessions } = ticket
  const charge: Charge = {
    hold,
    seconds,
    ...(ticket.seq === 0 ? { doubt: true } : {}),
    ...(caller === undefined ? {} : { caller }),
    ...(sessions === undefined || sessions.length === 0 ? {} : { sessions }),
  }
  s.db.zadd(s.keys.charges, s.now, chargeEntry(charge))
  if (s.charges === undefined) s.charges = [charge]
  else s.charges.push(charge)
  ticket.billed = undefined
}

/** Removes charges that were carried out. Returns how many of them were still owed. */
export const acknowledgeCharges = (s: Step, charges: ReadonlyArray<Charge>): number => {
  let done = 0
  for (const charge of charges) if (s.db.zrem(s.keys.charges, chargeEntry(charge))) done++
  return done
}
