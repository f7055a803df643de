/** Holds calls for a moment after an outage, until the other gates have reported it too. `outage.ts` states the rules. */
import { DEAD_MILLIS } from "./outage.ts"
import { meta, type Step } from "./step.ts"

/** How long calls are held at most after a reported outage, until the other gates have reported too (ms). */
export const MAX_HOLD_MILLIS = 1_000
/** A step that took this long to arrive came through an outage of the store (ms). */
export const STALL_MILLIS = 500
/** The shortest time between the starts of two holds (ms). */
export const HOLD_INTERVAL_MILLIS = 5_000

/** Holds calls from `moment` on, after an outage that began at `since`. Returns since when they are held. */
const holdFrom = (s: Step, moment: number, since: number): number => {
  const from = meta(s, "heldFrom")
  const heldMillis = moment - from
  // a report repeated because its answer was lost describes the same outage
  const isRepeated = since < from && moment - since <= DEAD_MILLIS
  const isDue =
    from === 0 || heldMillis >= (isRepeated ? MAX_HOLD_MILLIS : HOLD_INTERVAL_MILLIS) || heldMillis < -DEAD_MILLIS
  if (!isDue) return from
  s.db.hset(s.keys.meta, "heldFrom", `${moment}`)
  return moment
}

/**
 * How long this step took to arrive (ms) if that was long enough to have come through an outage and not implausibly long; else 0.
 */
const delayMillis = (s: Step): number => {
  const delay = s.db.time() - s.now
  return delay >= STALL_MILLIS && delay <= DEAD_MILLIS ? delay : 0
}

/** Holds calls after an outage that a gate reports. */
export const holdCalls = (s: Step, since: number): void => {
  holdFrom(s, s.now + delayMillis(s), since)
}

/**
 * Whether calls are held now: an outage was reported, and a gate that is not dead was not seen since. That may be the gate of this step:
 * a step delayed by the outage was sent before its gate knew of it.
 */
export const isHeld = (s: Step, heldFrom: number): boolean => {
  const heldMillis = s.now - heldFrom
  if (heldMillis >= MAX_HOLD_MILLIS || heldMillis < -DEAD_MILLIS) return false
  return s.db.zrangebyscore(s.keys.gates, s.now - DEAD_MILLIS, heldFrom - 1, 1).length > 0
}

/**
 * Whether this step calls nobody because it took long to arrive: the store was stalled, and some of the requests before this step were
 * answered with 503. Calls are then held as after a report.
 */
export const isDelayed = (s: Step): boolean => {
  const delayed = delayMillis(s)
  return delayed > 0 && isHeld(s, holdFrom(s, s.now + delayed, s.now))
}
