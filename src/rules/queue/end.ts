/**
 * A session has ended: its slot goes to the oldest waiting ticket. A repeated, late or unknown end frees nothing. An
 * end that arrives before its session was bound is remembered for the bind, under every id it names.
 */
import { callNext } from "../call-next.ts"
import { clearBackoff, endSession } from "../line.ts"
import { loadBySession } from "../load.ts"
import type { Step } from "../step.ts"

export type SessionEnd = "released" | "repeat" | "unknown"

/** @param sessions all ids of one session */
export const endOfSession = (s: Step, { sessions }: { readonly sessions: ReadonlyArray<string> }): SessionEnd => {
  let found: ReturnType<typeof loadBySession>
  let repeated = false
  for (const session of sessions) {
    if (found === undefined) found = loadBySession(s, session)
    if (s.db.zscore(s.keys.endedSessions, session) !== undefined) repeated = true
  }
  if (found === undefined) {
    for (const session of sessions) {
      if (s.db.zscore(s.keys.endedSessions, session) === undefined) s.db.zadd(s.keys.endedSessions, s.now, session)
    }
    return repeated ? "repeat" : "unknown"
  }
  endSession(s, found.id, found.ticket, "ended")
  clearBackoff(s)
  callNext(s)
  return "released"
}
