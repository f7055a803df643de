/** What a gate says of itself: that it could not reach the store, and that it stops. See `../outage.ts`. */
import { forgiveOutage, holdCalls } from "../outage.ts"
import type { Step } from "../step.ts"
import { endWithdrawn } from "./withdraw.ts"

export interface OutageReport {
  /** since when the gate could not reach the store, or stood still (ms since 1970) */
  readonly since: number
  /** tickets that the gate withdraws because their callers were answered 503; `WITHDRAW_LIMIT` at most */
  readonly ids?: ReadonlyArray<string>
  /** another report follows with further tickets; until then the gate counts as not yet back */
  readonly more?: true
}

/**
 * A gate that could not reach the store reports it before its next step, which may be what the outage kept somebody from. The report
 * withdraws the tickets that were answered 503, and holds calls until the other gates have reported too. Repeated, it gives little more
 * than it gave. Answers how many tickets this ended.
 */
export const reportOutage = (s: Step, { ids, more, since }: OutageReport): number => {
  const ended = ids === undefined ? 0 : endWithdrawn(s, ids)
  holdCalls(s, since)
  if (more !== true) s.db.zadd(s.keys.gates, s.now, s.context.instance)
  forgiveOutage(s, since)
  return ended
}

/** This gate stops: nothing waits for it any more. */
export const gateGone = (s: Step): true => {
  s.db.zrem(s.keys.gates, s.context.instance)
  return true
}
