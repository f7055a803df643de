/** What a gate says of itself: that it could not reach the store, and that it goes. See `../outage.ts`. */
import { forgiveOutage } from "../outage.ts"
import type { Step } from "../step.ts"

/**
 * This gate could not reach the store since a moment (ms since 1970), or stood still. It says so before its next step, which may be what
 * an outage kept somebody from. Repeated, it gives little more than it gave.
 */
export const reportOutage = (s: Step, { since }: { readonly since: number }): true => {
  s.db.zadd(s.keys.gates, s.now, s.context.instance)
  forgiveOutage(s, since)
  return true
}

/** This gate goes and is waited for no more. */
export const gateGone = (s: Step): true => {
  s.db.zrem(s.keys.gates, s.context.instance)
  return true
}
