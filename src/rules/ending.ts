/**
 * Running sessions that the gate ends at the platform: those about to reach the longest call, and those without a caller. Their ids are
 * in `ending`, by the time from which a gate ends them. A gate that takes one moves this time on (`queue/due-ends.ts`), so no two
 * gates end the same session at once, and another one tries again if that gate dies or the platform does not confirm the end. When
 * the session ends, or its lease does, the entry is removed.
 */
import { save } from "./load.ts"
import type { Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"

/** How long before the end of its lease a session is ended (ms): a tenth of the longest call, between these bounds. */
export const MIN_EARLY_MILLIS = 10_000
export const MAX_EARLY_MILLIS: number = 60_000

export const earlyMillis = (callMillis: number): number =>
  Math.min(MAX_EARLY_MILLIS, Math.max(MIN_EARLY_MILLIS, Math.floor(callMillis / 10)))

/** The session is ended shortly before its lease ends, as the lease is now. */
export const endBeforeLease = (s: Step, id: string): void => {
  const deadline = s.db.zscore(s.keys.leases, id) ?? 0
  s.db.zadd(s.keys.ending, deadline - earlyMillis(s.context.callMillis), id)
}

/** The session has no caller: nobody has its credential, so it is ended at once. */
export const endOrphan = (s: Step, id: string, ticket: Ticket): void => {
  ticket.orphan = true
  save(s, id, ticket)
  s.db.zadd(s.keys.ending, s.now, id)
}
