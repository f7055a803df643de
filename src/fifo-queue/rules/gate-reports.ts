/** A gate's reports about itself: that it could not reach the store, and that it stops. See `./shared/outage.ts`. */
import { holdCalls } from "./shared/hold.ts"
import { forgiveOutage } from "./shared/outage.ts"
import { letGoOfAll } from "./shared/presence.ts"
import type { Step } from "./shared/step.ts"
import { type StartAttempt, takeBackStart } from "./start.ts"
import { endWithdrawn } from "./withdraw.ts"

export const MAX_TAKEN_BACK = 500

export interface OutageReport {
  /** since when the gate could not reach the store or was stalled (ms since 1970) */
  readonly since: number
  /** tickets that the gate withdraws because their callers were answered with 503; at most `MAX_WITHDRAWN_PER_STEP` */
  readonly ids?: ReadonlyArray<string>
  /** starts that the gate takes back because it got no answer to them; at most `MAX_TAKEN_BACK` */
  readonly starts?: ReadonlyArray<StartAttempt>
  /** another report follows with further tickets; until then the gate does not count as back */
  readonly more?: true
}

/**
 * A gate that could not reach the store reports it before its next step, since that step may judge callers whom the
 * outage prevented from acting. The report withdraws the tickets that were answered with 503, takes back the starts that
 * were, and holds calls until the other gates have reported too. A repeated report gives back only the time since the
 * first. Returns how many tickets the report ended.
 */
export const reportOutage = (s: Step, { ids, more, since, starts }: OutageReport): number => {
  if (starts !== undefined) for (const each of starts) takeBackStart(s, each)
  const ended = ids === undefined ? 0 : endWithdrawn(s, ids)
  holdCalls(s, since)
  if (more !== true) s.db.zadd(s.keys.gates, s.now, s.context.instance)
  forgiveOutage(s, since)
  return ended
}

/** This gate stops: it holds no connection, and no rule waits for it any more. True when there is more to let go of. */
export const gateGone = (s: Step): boolean => {
  if (letGoOfAll(s)) return true
  s.db.zrem(s.keys.gates, s.context.instance)
  return false
}
