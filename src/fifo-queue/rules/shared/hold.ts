/** Holds calls for a moment after an outage, until the other gates have reported it too. `outage.ts` states the rules. */
import { DEAD_MILLIS } from "./outage.ts"
import { noteDelay } from "./stall.ts"
import { meta, type Step } from "./step.ts"

/** How long calls are held at most after a reported outage, until the other gates have reported too (ms). */
export const MAX_HOLD_MILLIS = 1_000
/**
 * The shortest time between the starts of two holds (ms). Whatever gates report, and however slow the store is, calls are held for a
 * fifth of the time at most.
 */
export const HOLD_INTERVAL_MILLIS = 5_000

/** When this step is carried out. A gate's clock may be ahead of the store's. */
const arrivedAt = (s: Step): number => Math.max(s.now, s.db.time())

/** Holds calls from now on, because of an outage that began at `since`, unless a hold began a moment ago. */
export const holdCalls = (s: Step, since: number): void => {
  const now = arrivedAt(s)
  const from = meta(s, "heldFrom")
  // a hold in the future began before a clock was set back
  if (from !== 0 && now - from < HOLD_INTERVAL_MILLIS && from - now < HOLD_INTERVAL_MILLIS) return
  s.db.hset(s.keys.meta, "heldFrom", `${now}`)
  s.db.hset(s.keys.meta, "heldSince", `${since}`)
}

/**
 * Whether calls are held now: a gate that lived when the outage began was not seen since the hold began. That may be the gate of this
 * step: a step delayed by the outage was sent before its gate knew of it.
 */
export const isHeld = (s: Step, heldFrom: number): boolean => {
  if (heldFrom === 0 || s.now - heldFrom >= MAX_HOLD_MILLIS) return false
  const heldMillis = arrivedAt(s) - heldFrom
  if (heldMillis >= MAX_HOLD_MILLIS || heldMillis < -HOLD_INTERVAL_MILLIS) return false
  return s.db.zrangebyscore(s.keys.gates, meta(s, "heldSince") - DEAD_MILLIS, heldFrom - 1, 1).length > 0
}

/**
 * If this step took long to arrive, notes that and holds calls, because requests before it may have been answered 503. If such steps
 * follow each other, the store is slow, and calls are not held. Returns whether this step was delayed.
 */
export const noteStall = (s: Step): boolean => {
  const delay = noteDelay(s)
  if (delay === "first") holdCalls(s, s.now)
  return delay !== undefined
}
