/**
 * What is known of a session. Records nothing: an unknown session may be of a gate with another store, or its start may not be bound
 * yet.
 */
import type { SessionState } from "../answers.ts"
import type { Step } from "./shared/step.ts"

export const sessionState = (s: Step, { session }: { readonly session: string }): SessionState => {
  if (s.db.hget(s.keys.sessions, session) !== undefined) return "held"
  return s.db.zscore(s.keys.endedSessions, session) === undefined ? "unknown" : "ended"
}
