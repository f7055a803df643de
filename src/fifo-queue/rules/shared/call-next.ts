/**
 * Decides who is called when a slot is free.
 *
 * Networks (IPv6 /48, IPv4 /24): a network that holds its share of the slots is passed over while a ticket of a network
 * below its share waits. `callUpTo` finds the next ticket without reading the same ticket twice:
 *   - `waiting` holds every waiting ticket, passed over or not. A ticket's rank there is its position, unless networks have shares (`fair-places.ts`).
 *   - `passedSeq` (meta) is the place up to which waiting tickets have been examined. `passed` holds the examined ones,
 *     sorted by network. A ticket that returns to a place before `passedSeq` is added to it. A ticket that stops
 *     waiting is removed from both sets.
 *   - The ticket called is the oldest in `passed` whose network is below its share; else the first one after
 *     `passedSeq` whose network is below its share (those in between are moved to `passed`); else the oldest of all, so
 *     a slot never stays free while anybody waits.
 * Every ticket in `passed` is older than every unexamined one, so no network is added while a ticket in `passed` can be
 * called. `passed` never holds more networks than have reached their share at one time: at most `slots / share of the
 * slots`.
 *
 * A ticket whose start failed, or whose caller waits for a budget of his own (`own-budgets.ts`), keeps its place and is `parked`: those behind it
 * are called meanwhile. While the platform
 * cannot be reached (`disrupted`), one ticket is called at a time, to probe the platform.
 */

import { HIGHEST, LOWEST, wordsOf } from "../../../store/rules/native.ts"
import { callable } from "./awaited-budgets.ts"
import { appendTicketEvent } from "./events.ts"
import { isHeld, noteStall } from "./hold.ts"
import { clearPause, dequeue, endTicket, isBelowShare, isDisrupted, isParked, isPauseOn, takeSlot } from "./line.ts"
import { loadWaiting } from "./load.ts"
import { isAbsent } from "./outage.ts"
import { unparkOthers } from "./own-budgets.ts"
import { endDisruption } from "./platform-state.ts"
import { meta, notify, type Step } from "./step.ts"
import { networkEntry } from "./ticket.ts"

/** While the platform cannot be reached, the time between two calls (ms); the next call comes sooner if the platform answers the first. */
export const PROBE_MILLIS = 5_000
/** The longest time for which a ticket is parked after a start that is known to have failed (ms). */
export const MAX_PARK_MILLIS = 15_000
/** Maximum parked tickets of one network that are skipped in the search for the next ticket to call. */
const MAX_PARKED_PER_NETWORK = 200
/** Maximum tickets that one step abandons or passes over. The next step continues. */
export const MAX_CLEARED_PER_STEP = 200
/** Maximum tickets that one step calls, as when a pause of a campaign with many slots ends: more would keep the store for too long. A sweep continues. */
export const MAX_CALLED_PER_STEP = 200

/**
 * A step that has scanned this many entries of `passed` calls nobody else: each search scans parked tickets again,
 * and Redis runs nothing else meanwhile.
 */
const MAX_SCANNED = 5_000

const oldestPassed = (s: Step): string | undefined => {
  let oldest: string | undefined
  let first: string | undefined
  let from = ""
  let scanned = 0
  for (;;) {
    const entry = s.db.zlexAfter(s.keys.passed, from)
    if (entry === undefined) return oldest
    scanned++
    s.scanned++
    const words = wordsOf(entry)
    const id = words[words.length - 1] ?? ""
    const seq = words[words.length - 2] ?? ""
    const network = words.length > 2 ? (words[0] ?? "") : ""
    if (`${network} ${seq} ${id}` !== entry || s.db.zscore(s.keys.waiting, id) === undefined) {
      // not an entry of a waiting ticket; a malformed entry could also make this loop endless
      s.db.zrem(s.keys.passed, entry)
    } else {
      // skips the rest of this network: a space sorts before "!", and both before the characters of a network
      from = `${network}!`
      // parked tickets are skipped one by one, up to a bound that keeps the step short
      if (isParked(s, id)) {
        if (scanned < MAX_PARKED_PER_NETWORK) from = entry
        else scanned = 0
      } else if ((first === undefined || seq < first) && isBelowShare(s, network)) {
        oldest = id
        first = seq
      }
    }
  }
}

const oldestOfAll = (s: Step): string | undefined => {
  for (const id of s.db.zrange(s.keys.waiting, 0, s.db.zcard(s.keys.parked) + 1)) {
    if (!isParked(s, id)) return id
  }
  return undefined
}

export const isSlotFree = (s: Step): boolean => s.db.zcard(s.keys.leases) < s.slots

const callWhileSlotsAreFree = (s: Step, max: number, evenIfHeld: boolean): boolean => {
  const { context, db, keys, now } = s
  let cleared = 0
  let called = 0
  /** No ticket in `passed` can be called any more: within a step networks only gain slots and no ticket is unparked. */
  let noneCallableInPassed = false
  while (called < max && isSlotFree(s)) {
    if (called === MAX_CALLED_PER_STEP) return true
    const indexed = context.share < 1 || db.zcard(keys.parked) > 0
    let id = indexed && !noneCallableInPassed ? oldestPassed(s) : undefined
    if (indexed && id === undefined) noneCallableInPassed = true
    let isBeyondPassed = false
    if (id === undefined && indexed) {
      id = db.zrangebyscore(keys.waiting, meta(s, "passedSeq") + 1, HIGHEST, 1)[0]
      isBeyondPassed = id !== undefined
    }
    if (id === undefined) id = oldestOfAll(s)
    if (id === undefined) return false
    if (cleared === MAX_CLEARED_PER_STEP) return true
    if (called > 0 && s.scanned > MAX_SCANNED) return true
    const ticket = loadWaiting(s, id)
    if (ticket === undefined) {
      cleared++
    } else if (isAbsent(s, ticket, db.zscore(keys.presence, id) ?? 0)) {
      cleared++
      dequeue(s, id, ticket)
      endTicket(s, id, ticket, "abandoned")
    } else if (isBeyondPassed && (!isBelowShare(s, ticket.network) || isParked(s, id))) {
      cleared++
      db.hset(keys.meta, "passedSeq", `${db.zscore(keys.waiting, id) ?? 0}`)
      db.zadd(keys.passed, 0, networkEntry(id, ticket))
    } else {
      // the outage that delayed this step may not be reported yet
      const stalled = !evenIfHeld && called === 0 && noteStall(s)
      if (stalled && isHeld(s, meta(s, "heldFrom"))) return false
      dequeue(s, id, ticket)
      const startBefore = now + context.windowMillis
      const lease = takeSlot(s, id, ticket, "called", startBefore)
      notify(s, ticket, { ticket: id, kind: { _tag: "called", startBefore, lease } })
      if (context.events === true) appendTicketEvent(s, "call.called", id, ticket, {})
      called++
      s.lastCalled = id
    }
  }
  return false
}

/**
 * Calls waiting tickets to free slots, at most `max`. True when it stopped at a bound and there is more to do.
 * @param evenIfHeld also in a step that was delayed on its way to the store
 */
export const callUpTo = (s: Step, max: number, evenIfHeld: boolean): boolean =>
  isSlotFree(s) && callWhileSlotsAreFree(s, max, evenIfHeld)

const CALL_FIELDS: ReadonlyArray<string> = [
  "backoffUntil",
  "paused",
  "pausedUntil",
  "disrupted",
  "probeUntil",
  "heldFrom",
]

/**
 * Calls the next tickets to free slots. True when there is more to do.
 * @lazy
 */
export const callNext = (s: Step): boolean => {
  const [backoffUntil = 0, paused = 0, pausedUntil = 0, disrupted = 0, probeUntil = 0, heldFrom = 0] = s.db.hgetNumbers(
    s.keys.meta,
    CALL_FIELDS,
  )
  const pauseOn = isPauseOn(s, paused, pausedUntil)
  // older gates do not know `pausedUntil`: they would stay paused, and a pause that one of them begins would already be
  // over for newer gates
  if (pausedUntil > 0 && !pauseOn) clearPause(s)
  if (backoffUntil > s.now || pauseOn || isHeld(s, heldFrom)) return false
  const most = callable(s, s.slots)
  if (most <= 0) return false
  if (disrupted !== 1) return callUpTo(s, most, false)
  // a ticket was called a moment ago to probe the platform; wait for its result
  if (probeUntil > s.now) return false
  const lastCalledBefore = s.lastCalled
  const more = callUpTo(s, 1, false)
  if (s.lastCalled !== lastCalledBefore) s.db.hset(s.keys.meta, "probeUntil", `${s.now + PROBE_MILLIS}`)
  return more
}

/**
 * The platform has answered. Tickets that are parked for a short time may be called again. True when the platform was
 * unreachable before.
 */
export const markPlatformReachable = (s: Step): boolean => {
  const wasUnreachable = isDisrupted(s) || meta(s, "probeUntil") > 0
  endDisruption(s)
  const until = s.now + MAX_PARK_MILLIS
  if (wasUnreachable && s.context.awaitsOwn === true) unparkOthers(s, until)
  else if (wasUnreachable) s.db.zremrangebyscore(s.keys.parked, LOWEST, until)
  return wasUnreachable
}
