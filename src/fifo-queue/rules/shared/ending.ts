/**
 * Running sessions that the gate ends at the platform: those about to reach the maximum length of any call (one with a time limit of its own:
 * `../lengths.ts`), those in which nobody has spoken for the campaign's limit, those without a caller, those that nobody has opened (`../unopened.ts`), and those that an operator ends. The ids
 * of their tickets are in `ending`, by the time from which a gate ends them. A gate that takes one postpones
 * this time (`../due-ends.ts`), so no two gates end the same session at once, and another one tries again if that gate dies or the
 * platform does not confirm the end. When the session ends, or its lease does, the entry is removed.
 */

import type { EndState } from "../../../protocol/ticket.ts"
import { addAuditLine, hashOfHolder } from "../operator/audit-log.ts"
import { save } from "./load.ts"
import type { Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"

/** How long before the end of its lease a session is ended (ms): a tenth of the maximum length of a call, between these bounds. */
export const MIN_EARLY_MILLIS = 10_000
export const MAX_EARLY_MILLIS: number = 60_000

/** How long the slot of a session that an operator ends stays held at most, while the platform does not confirm the end (ms). */
export const STOP_MILLIS = 60_000

export const earlyMillis = (callMillis: number): number =>
  Math.min(MAX_EARLY_MILLIS, Math.max(MIN_EARLY_MILLIS, Math.floor(callMillis / 10)))

/** Has a gate end the session shortly before its present lease ends. */
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

/**
 * An operator ends the session. It is ended at the platform first, so that the next call does not exceed the platform's slots; if the
 * platform does not confirm that in time, the slot is freed anyway. The gate of this step has `claimMillis` (ms) to end it before
 * another gate may. Returns when the slot is freed at the latest (ms).
 */
export const stop = (s: Step, id: string, ticket: Ticket, who: string, claimMillis: number): number => {
  const deadline = Math.min(s.db.zscore(s.keys.leases, id) ?? 0, s.now + STOP_MILLIS)
  ticket.stoppedBy = who
  save(s, id, ticket)
  s.db.zadd(s.keys.leases, deadline, id)
  s.db.zadd(s.keys.ending, s.now + claimMillis, id)
  return deadline
}

/** Whether the session ends whatever is said in it: it has no caller, nobody has opened it, or an operator has ended it. */
export const mustEnd = (ticket: Ticket): boolean =>
  ticket.orphan === true || ticket.unopened === true || ticket.stoppedBy !== undefined

/** Whether nobody has spoken in the call for as long as a call may be silent (`../silence.ts`). */
const isSilent = (s: Step, { silentUntil }: Ticket): boolean => silentUntil !== undefined && silentUntil <= s.now

/**
 * Applies the campaign's present limit to a call in which nobody speaks, since a reload may have changed it.
 *
 * @param silenceMillis how long nobody may speak now; undefined: a call may be silent
 */
export const applySilenceLimit = (s: Step, id: string, ticket: Ticket, silenceMillis: number | undefined): void => {
  const { silentSince, silentUntil } = ticket
  if (silentUntil === undefined) return
  const until = silenceMillis === undefined ? undefined : Math.max(silentUntil, (silentSince ?? 0) + silenceMillis)
  if (until === silentUntil) return
  ticket.silentUntil = until
  save(s, id, ticket)
}

/** Whether the session is to be ended at once, not only shortly before its lease ends. */
export const endsAtOnce = (s: Step, ticket: Ticket): boolean => mustEnd(ticket) || isSilent(s, ticket)

/** A call that ends up to this long before its limit has ended because of the silence (ms): its page has a clock of its own. */
const EARLY_MILLIS = 2_000

/** How a session ends that is reported as ended: `silent` if the time for which nobody may speak was over. */
export const noteSilence = (s: Step, ticket: Ticket, state: EndState): EndState => {
  const { silentUntil } = ticket
  ticket.silentUntil = undefined
  return state === "ended" && silentUntil !== undefined && silentUntil - EARLY_MILLIS <= s.now ? "silent" : state
}

/** How a session ends that is reported as ended: `too_long` at the time limit of its call, `budget` where a budget had no more for it. */
export const noteLength = (ticket: Ticket, now: number, state: EndState): EndState => {
  const { endsAt, spent } = ticket
  ticket.spent = undefined
  ticket.limitedAt = undefined
  if (state !== "ended" || endsAt === undefined || endsAt - EARLY_MILLIS > now) return state
  return spent === true ? "budget" : "too_long"
}

/** How a session ends: as `state`, or `stopped` if an operator ended it. Then the audit log says whether the platform confirmed the end. */
export const noteStop = (s: Step, id: string, ticket: Ticket, state: EndState): EndState => {
  if (ticket.stoppedBy === undefined) return state
  if (ticket.stoppedWithAll !== true)
    addAuditLine(
      s,
      ticket.stoppedBy,
      "end",
      hashOfHolder(id, ticket),
      state === "reclaimed" ? "freed_live" : "ended_at_platform",
    )
  ticket.stoppedBy = undefined
  return "stopped"
}
