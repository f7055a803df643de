/** Finds the trace of a ticket, or of the ticket that has a session. Changes nothing about a valid ticket. */
import { load, loadBySession } from "./shared/load.ts"
import type { Step } from "./shared/step.ts"

export interface Traced {
  /** absent to look for a session */
  readonly id?: string
  /** ids of one session */
  readonly sessions?: ReadonlyArray<string>
}

/** The trace's context (`Ticket.trace`); empty when there is no such ticket, or when it has none. */
export const traceOf = (s: Step, { id, sessions = [] }: Traced): string => {
  if (id !== undefined) return load(s, id)?.trace ?? ""
  for (const session of sessions) {
    const found = loadBySession(s, session)
    if (found !== undefined) return found.ticket.trace ?? ""
  }
  return ""
}
