/**
 * A session has ended: its slot goes to the oldest waiting ticket. A repeat, a late or an unknown end frees nothing; an
 * end that comes before its session was bound is remembered for the bind, by every id that is named with it.
 */
import { callNext } from "../call-next.ts"
import { clearBackoff, endSession } from "../line.ts"
import { idOfSession, load } from "../load.ts"
import type { Step } from "../step.ts"

export type SessionEnd = "released" | "repeat" | "unknown"

/** @param sessions its ids, all of one session */
export const endOfSession = (s: Step, { sessions }: { readonly sessions: ReadonlyArray<string> }): SessionEnd => {
  let id: string | undefined
  let repeated = false
  for (const session of sessions) {
    if (id === undefined) id = idOfSession(s, session)
    if (s.db.zscore(s.keys.endedSessions, session) !== undefined) repeated = true
  }
  const ticket = id === undefined ? undefined : load(s, id)
  if (id === undefined || ticket === undefined) {
    for (const session of sessions) {
      if (s.db.zscore(s.keys.endedSessions, session) === undefined) s.db.zadd(s.keys.endedSessions, s.now, session)
    }
    return repeated ? "repeat" : "unknown"
  }
  endSession(s, id, ticket, "ended")
  clearBackoff(s)
  callNext(s)
  return "released"
}
