/**
 * A session has ended: its slot goes to the oldest waiting ticket. A repeated, late or unknown end frees nothing. An
 * end that arrives before its session was bound is remembered for the bind, under every id it names.
 *
 * The end of a session that still awaits its offer means that its caller left: it says nothing about the platform, and
 * after `FREE_LEAVE_MILLIS` it costs a missed turn, as leaving a called ticket does. Otherwise a caller could hold a
 * slot for nearly the whole window, without a call, at the price of one.
 */
import { callNext } from "../call-next.ts"
import { missOffer } from "../expiry.ts"
import { clearBackoff, endSession, isDisrupted } from "../line.ts"
import { loadBySession } from "../load.ts"
import { isGracePeriod } from "../outage.ts"
import { clearUnreported, countUnreported } from "../platform-state.ts"
import type { Step } from "../step.ts"
import type { Ticket } from "../ticket.ts"
import { FREE_LEAVE_MILLIS } from "./leave.ts"

export type SessionEnd = "released" | "repeat" | "unknown"

/** The end of a live ticket's session is known. */
export const endReported = (s: Step, id: string, ticket: Ticket): void => {
  if (ticket.offerBefore === undefined) {
    // a session that nobody has opened was not a call
    if (ticket.unopened === true) missOffer(s, id, ticket)
    else endSession(s, id, ticket, "ended")
    clearBackoff(s)
    return
  }
  const isLate = s.now - (ticket.since ?? s.now) > FREE_LEAVE_MILLIS && !isGracePeriod(s) && !isDisrupted(s)
  endSession(s, id, ticket, "ended", isLate ? "missed" : "release")
}

/**
 * - `webhook`: the platform has reported the end.
 * - `audit`: a gate has asked the platform, which should have reported the end and has not.
 * - `audit_alone`: a gate has asked the platform, which is not set up to report ends.
 */
export type EndReporter = "webhook" | "audit" | "audit_alone"

export interface ReportedEnd {
  /** all ids of one session */
  readonly sessions: ReadonlyArray<string>
  /** absent if the end tells nothing of the platform's reports */
  readonly by?: EndReporter
}

export const endOfSession = (s: Step, { by, sessions }: ReportedEnd): SessionEnd => {
  let found: ReturnType<typeof loadBySession>
  let repeated = false
  for (const session of sessions) {
    if (found === undefined) found = loadBySession(s, session)
    if (s.db.zscore(s.keys.endedSessions, session) !== undefined) repeated = true
  }
  if (by === "audit" && found !== undefined) countUnreported(s)
  // a webhook that comes late is a repeat
  if (by === "audit_alone" || (by === "webhook" && (found !== undefined || repeated))) clearUnreported(s)
  if (found === undefined) {
    for (const session of sessions) {
      if (s.db.zscore(s.keys.endedSessions, session) === undefined) s.db.zadd(s.keys.endedSessions, s.now, session)
    }
    return repeated ? "repeat" : "unknown"
  }
  endReported(s, found.id, found.ticket)
  callNext(s)
  return "released"
}
