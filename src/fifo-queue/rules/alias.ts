/**
 * Adds further ids of a running session: its end may be reported under any of them. If the end of one of them was
 * reported before, the session ends now. The known id is the fence: it belongs to this running session only.
 */

import type { Aliased } from "../answers.ts"
import { endReported } from "./end.ts"
import { callNext } from "./shared/call-next.ts"
import { loadBySession, save } from "./shared/load.ts"
import type { Step } from "./shared/step.ts"

export const alias = (
  s: Step,
  { known, further }: { readonly known: string; readonly further: ReadonlyArray<string> },
): Aliased => {
  const found = loadBySession(s, known)
  if (found === undefined) return "stale"
  const { id, ticket } = found
  const sessions: Array<string> = []
  for (const session of ticket.sessions ?? []) sessions.push(session)
  let ended = false
  for (const session of further) {
    if (s.db.hget(s.keys.sessions, session) === undefined) {
      s.db.hset(s.keys.sessions, session, id)
      sessions.push(session)
      if (s.db.zscore(s.keys.endedSessions, session) !== undefined) ended = true
    }
  }
  ticket.sessions = sessions
  save(s, id, ticket)
  if (!ended) return "kept"
  endReported(s, id, ticket)
  callNext(s)
  return "ended"
}
