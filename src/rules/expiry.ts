/** What time decides of a campaign, whether a gate serves it (`queue/sweep.ts`) or none does any more (`queue/clear.ts`). */
import { dropDoubt, holdInDoubt } from "./doubt.ts"
import { endSession, park, requeue } from "./line.ts"
import { quarantine } from "./load.ts"
import { LOWEST, wordsOf } from "./native.ts"
import type { Settlement, Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"

/** At most so many of each kind are handled in one step. */
export const LIMIT = 200
/** A settlement this old was not carried out by the process that owed it. */
export const SETTLE_AFTER_MILLIS = 5_000

/** A slot that is not called is past its deadline: a session that runs too long, a doubt, or a start whose gate died. */
export const expire = (s: Step, id: string, ticket: Ticket, presentUntil: number): void => {
  if (ticket.state === "live") {
    endSession(s, id, ticket, "reclaimed")
  } else if (ticket.state === "doubt") {
    dropDoubt(s, id, ticket)
  } else if (ticket.state === "starting") {
    // it may have happened
    const parkedUntil = holdInDoubt(s, id, ticket)
    requeue(s, id, ticket, presentUntil)
    park(s, id, parkedUntil)
  }
}

/** Forgets tickets that were over for long enough; says how many. */
export const forgetOld = (s: Step): number => {
  const forgotten = s.db.zrangebyscore(s.keys.forget, LOWEST, s.now - 1, LIMIT)
  for (const id of forgotten) {
    s.db.hdel(s.keys.tickets, id)
    s.db.zrem(s.keys.forget, id)
  }
  return forgotten.length
}

/** Settlements left behind by a process that died. */
export const leftOwed = (s: Step): ReadonlyArray<Settlement> => {
  const owed: Array<Settlement> = []
  for (const entry of s.db.zrangebyscore(s.keys.settlements, LOWEST, s.now - SETTLE_AFTER_MILLIS, LIMIT)) {
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
