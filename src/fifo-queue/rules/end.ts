/**
 * A session has ended: its slot goes to the oldest waiting ticket. A repeated, late or unknown end frees nothing. An
 * end that arrives before its session was bound is remembered for the bind, under every id it names.
 *
 * The end of a session that still awaits its offer means that its caller left: it says nothing about the platform, and
 * after `FREE_LEAVE_MILLIS` it costs a missed turn, as leaving a called ticket does. Otherwise a caller could hold a
 * slot for nearly the whole window, without a call, at the price of one.
 *
 * The attempt that frees a slot is remembered. When a gate has had no answer to it, it told nobody that the slot was freed; a later attempt
 * that names it as lost takes its place, and that one only. So of all reports of one end, at most one is told that it freed the slot.
 */

import type { SessionEnd } from "../answers.ts"
import type { EndAttempt, EndReporter } from "../inputs.ts"
import { FREE_LEAVE_MILLIS } from "./leave.ts"
import { callNext } from "./shared/call-next.ts"
import { missOffer } from "./shared/expiry.ts"
import { clearBackoff, endSession, isDisrupted } from "./shared/line.ts"
import { loadBySession } from "./shared/load.ts"
import { isGracePeriod } from "./shared/outage.ts"
import { clearUnreported, countUnreported } from "./shared/platform-state.ts"
import type { Step } from "./shared/step.ts"
import type { Ticket } from "./shared/ticket.ts"

/** The entry of an attempt that has freed a slot, among the ids of ended sessions; no platform gives a session such an id. */
const attemptEntry = (attempt: string): string => `=${attempt}`

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

/** Without an attempt, nobody asks later who freed the slot. */
export interface ReportedEnd extends Partial<EndAttempt> {
  /** all ids of one session; none if this attempt only takes the place of a lost one */
  readonly sessions: ReadonlyArray<string>
  /** absent if the end tells nothing of the platform's reports */
  readonly by?: EndReporter
  /** how long the call was, in whole seconds, if the platform says it */
  readonly seconds?: number
}

/** It is forgotten with the ids of the session. */
const rememberAttempt = (s: Step, attempt: string | undefined): void => {
  if (attempt !== undefined) s.db.zadd(s.keys.endedSessions, s.now, attemptEntry(attempt))
}

/** Puts this attempt in the place of a lost one that has freed the slot. False if none of them has. */
const takeOver = (s: Step, attempt: string | undefined, lost: ReadonlyArray<string>): boolean => {
  for (const each of lost) {
    if (s.db.zrem(s.keys.endedSessions, attemptEntry(each))) {
      rememberAttempt(s, attempt)
      return true
    }
  }
  return false
}

export const endOfSession = (s: Step, { attempt, by, lost, seconds, sessions }: ReportedEnd): SessionEnd => {
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
    if (takeOver(s, attempt, lost ?? [])) return "again"
    return repeated ? "repeat" : "unknown"
  }
  found.ticket.lasted = seconds
  endReported(s, found.id, found.ticket)
  rememberAttempt(s, attempt)
  callNext(s)
  return "released"
}
