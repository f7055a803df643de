/**
 * Sessions that nobody may have opened. A session is in `unopened` from its start, by the time from which a gate asks the platform about
 * it: `Queue.OpenSeconds` after the start. A gate that takes one postpones this time, so no two gates ask at once. What the platform says
 * is noted here:
 *
 * - The session was opened, or the platform cannot tell: it is not asked about again.
 * - Nobody has opened it: it is to be ended at once (`./shared/ending.ts`), whoever opens it now. Its slot is free when the platform has ended it,
 *   and the turn of its caller is missed.
 *
 * A session is named by its id, so a late answer never ends the session of another ticket.
 */

import { LOWEST } from "../../store/rules/native.ts"
import type { Sessions } from "../answers.ts"
import { load, loadBySession, save } from "./shared/load.ts"
import type { Step } from "./shared/step.ts"

/** Sessions that one step returns. */
const MAX_ASKED = 20
/** After this time a session is not asked about any more (ms): its credential expired long before. */
const GIVE_UP_MILLIS: number = 10 * 60_000

export interface FindUnopened {
  /** how long the asking gate may take, before any gate is given them again (ms) */
  readonly claimMillis: number
}

/** One id of each session to ask about now. */
export const findUnopened = (s: Step, { claimMillis }: FindUnopened): Sessions => {
  const { db, keys } = s
  const found: Array<string> = []
  for (const id of db.zrangebyscore(keys.unopened, LOWEST, s.now, MAX_ASKED)) {
    const ticket = load(s, id)
    const session = ticket === undefined || ticket.state !== "live" ? undefined : (ticket.sessions ?? [])[0]
    if (ticket === undefined || session === undefined || s.now - (ticket.since ?? 0) > GIVE_UP_MILLIS) {
      db.zrem(keys.unopened, id)
    } else {
      db.zadd(keys.unopened, s.now + claimMillis, id)
      found.push(session)
    }
  }
  return found.length === 0 ? {} : { sessions: found }
}

export interface Opening {
  readonly session: string
  /** whether it was opened, or the platform cannot tell */
  readonly opened: boolean
}

/**
 * Notes what the platform says of a session. Answers with the ticket if the session is to be ended because nobody has opened it; empty if
 * not, or if that was noted before.
 */
export const noteOpening = (s: Step, { opened, session }: Opening): string => {
  const found = loadBySession(s, session)
  if (found === undefined) return ""
  const { id, ticket } = found
  const wasAsked = s.db.zrem(s.keys.unopened, id)
  if (opened || !wasAsked || ticket.unopened === true) return ""
  ticket.unopened = true
  save(s, id, ticket)
  s.db.zadd(s.keys.ending, s.now, id)
  return id
}
