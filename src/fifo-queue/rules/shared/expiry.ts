/**
 * Handles deadlines of a campaign, both while a gate serves it (`../sweep.ts`) and after its removal
 * (`../clear.ts`).
 */

import type { Charge, Settlement } from "../../../protocol/settlements.ts"
import { LOWEST, numberOf, wordsOf } from "../../../store/rules/native.ts"
import { chargeEntry, UNKNOWN } from "./charges.ts"
import { dropDoubt, holdInDoubt } from "./doubt.ts"
import { endSession, park, requeue } from "./line.ts"
import { quarantine } from "./load.ts"
import { isGracePeriod } from "./outage.ts"
import type { Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"

/** Maximum entries of each kind that one step handles. */
export const MAX_PER_STEP = 60
/** After this time the process that owed a settlement is assumed to have died (ms). */
export const SETTLE_AFTER_MILLIS = 5_000

/**
 * The session of a live ticket has not begun, because its page has made no offer or not opened it in time: its turn is missed. During
 * the grace after an outage that costs the caller nothing, because the outage may have prevented the offer.
 */
export const missOffer = (s: Step, id: string, ticket: Ticket): void =>
  endSession(s, id, ticket, "missed", isGracePeriod(s) ? "release" : "missed")

/**
 * Handles a lease past its deadline, except a called one: a session that exceeded the maximum length of a call, a
 * doubt, or a start whose gate died.
 */
export const expire = (s: Step, id: string, ticket: Ticket, presentUntil: number): void => {
  if (ticket.state === "live" && ticket.offerBefore !== undefined) {
    missOffer(s, id, ticket)
  } else if (ticket.state === "live") {
    endSession(s, id, ticket, "reclaimed")
  } else if (ticket.state === "doubt") {
    dropDoubt(s, id, ticket)
  } else if (ticket.state === "starting") {
    // the session may have started
    const parkedUntil = holdInDoubt(s, id, ticket)
    requeue(s, id, ticket, presentUntil)
    park(s, id, parkedUntil)
  }
}

/** Forgets ended tickets whose retention is over; returns how many. */
export const forgetOld = (s: Step): number => {
  const forgotten = s.db.zrangebyscore(s.keys.forget, LOWEST, s.now - 1, MAX_PER_STEP)
  for (const id of forgotten) {
    s.db.hdel(s.keys.tickets, id)
    s.db.zrem(s.keys.forget, id)
  }
  return forgotten.length
}

/** Settlements that the process which owed them did not carry out. */
export const overdueSettlements = (s: Step): ReadonlyArray<Settlement> => {
  const owed: Array<Settlement> = []
  for (const entry of s.db.zrangebyscore(s.keys.settlements, LOWEST, s.now - SETTLE_AFTER_MILLIS, MAX_PER_STEP)) {
    const words = wordsOf(entry)
    const [kind, ticket, caller] = [words[0], words[1], words[2]]
    const known = kind === "refund" || kind === "release" || kind === "missed"
    if (known && ticket !== undefined && caller !== undefined && `${kind} ${ticket} ${caller}` === entry) {
      owed.push({ kind, ticket, caller })
    } else {
      s.db.zrem(s.keys.settlements, entry)
      quarantine(s, "settlements", entry, "")
    }
  }
  return owed
}

/** Charges that the process which owed them did not carry out. */
export const overdueCharges = (s: Step): ReadonlyArray<Charge> => {
  const owed: Array<Charge> = []
  for (const entry of s.db.zrangebyscore(s.keys.charges, LOWEST, s.now - SETTLE_AFTER_MILLIS, MAX_PER_STEP)) {
    const words = wordsOf(entry)
    const [hold = "", seconds, doubt, caller] = [words[0], words[1], words[2], words[3]]
    const sessions: Array<string> = []
    for (let i = 4; i < words.length; i++) sessions.push(words[i] as string)
    const charge: Charge = {
      hold,
      seconds: numberOf(seconds),
      ...(doubt === "1" ? { doubt: true } : {}),
      ...(caller === undefined || caller === UNKNOWN ? {} : { caller }),
      ...(sessions.length === 0 ? {} : { sessions }),
    }
    if (chargeEntry(charge) === entry) {
      owed.push(charge)
    } else {
      s.db.zrem(s.keys.charges, entry)
      quarantine(s, "charges", entry, "")
    }
  }
  return owed
}
