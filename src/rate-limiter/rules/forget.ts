/**
 * Forgets what a caller has used of the limits, or counts it. Units of open tickets stay until those are over, so that a caller who waits or is
 * in a call does not get further ones.
 */
import type { Db } from "../../store/rules/db.ts"
import { LOWEST } from "../../store/rules/native.ts"
import type { ForgottenUnits } from "../answers.ts"
import { OPEN } from "./units.ts"

/** The most units that one step removes. */
const MAX_UNITS_PER_STEP = 500

export interface ForgetUnits {
  /** remove what is found; otherwise it is counted */
  readonly remove?: true
  /** on this channel the log's key is published, so that no gate repeats a refusal of the caller */
  readonly channel: string
}

/** Keys: a caller's log and refunds. */
export const forgetUnits = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { channel, remove }: ForgetUnits,
): ForgottenUnits => {
  const [log, refunds] = [keys[0] ?? "", keys[1] ?? ""]
  const open = db.zcountFrom(log, OPEN)
  const units = db.zcard(log) - open
  const given = db.zcard(refunds)
  if (remove !== true) return { units: units + given, open, more: false }
  let removed = 0
  for (const unit of db.zrangebyscore(log, LOWEST, OPEN - 1, MAX_UNITS_PER_STEP)) {
    db.zrem(log, unit)
    removed++
  }
  for (const token of db.zrange(refunds, 0, MAX_UNITS_PER_STEP)) {
    db.zrem(refunds, token)
    removed++
  }
  if (removed > 0) db.publish(channel, log)
  return { units: removed, open, more: units + given > removed }
}
