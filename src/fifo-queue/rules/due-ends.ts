/** Returns the running sessions that are to be ended at the platform now, and claims them for the asking gate (`./shared/ending.ts`). */

import { LOWEST } from "../../store/rules/native.ts"
import type { Sessions } from "../answers.ts"
import { applySilenceLimit, earlyMillis, endsAtOnce } from "./shared/ending.ts"
import { MAX_PER_STEP } from "./shared/expiry.ts"
import { load } from "./shared/load.ts"
import type { Step } from "./shared/step.ts"

export interface DueEnds {
  /** how long the asking gate may take to end them, before any gate is given them again (ms) */
  readonly claimMillis: number
  /** do not return sessions that reach the maximum length: the platform itself ends them */
  readonly atOnceOnly?: true
  /** how long nobody may speak in a call (ms); absent when a call may be silent */
  readonly silenceMillis?: number
}

/** Returns what was bound to each session, as JSON. */
export const dueEnds = (s: Step, { atOnceOnly, claimMillis, silenceMillis }: DueEnds): Sessions => {
  const { db, keys } = s
  const found: Array<string> = []
  for (const id of db.zrangebyscore(keys.ending, LOWEST, s.now, MAX_PER_STEP)) {
    const ticket = load(s, id)
    if (ticket !== undefined) applySilenceLimit(s, id, ticket, silenceMillis)
    const early = (db.zscore(keys.leases, id) ?? 0) - earlyMillis(s.context.callMillis)
    if (ticket === undefined || ticket.state !== "live") {
      db.zrem(keys.ending, id)
    } else if (!endsAtOnce(s, ticket) && early > s.now) {
      // the lease, or the maximum length of a call, has changed since, or somebody has spoken
      db.zadd(keys.ending, Math.min(early, ticket.silentUntil ?? early), id)
    } else if (!endsAtOnce(s, ticket) && atOnceOnly === true) {
      db.zrem(keys.ending, id)
    } else {
      db.zadd(keys.ending, s.now + claimMillis, id)
      found.push(db.hget(keys.data, id) ?? "")
    }
  }
  return found.length === 0 ? {} : { sessions: found }
}
