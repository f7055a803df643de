/** Reads events in the order of their numbers. */
import type { Db } from "../../store/rules/db.ts"
import { HIGHEST } from "../../store/rules/native.ts"
import type { EventTexts } from "../answers.ts"
import { firstsOf, lastSeq, logOf, stateOf } from "./shared/log.ts"

export interface Reading {
  /** the number of the last event that is known already */
  readonly after: number
  readonly limit: number
}

export const readEvents = (db: Db, keys: ReadonlyArray<string>, now: number, { after, limit }: Reading): EventTexts => {
  const log = logOf(db, keys, now)
  const events = db.zrangebyscore(log.keys.events, after + 1, HIGHEST, limit)
  const firsts = firstsOf(log, events)
  const last = lastSeq(log)
  // numbers are missing where events were forgotten
  const until = events.length < limit ? last : (db.zscore(log.keys.events, events[events.length - 1] ?? "") ?? last)
  return {
    last,
    until: Math.max(until, after),
    dropped: stateOf(log, "dropped"),
    ...(events.length === 0 ? {} : { events }),
    ...(firsts.length === 0 ? {} : { firsts }),
  }
}
