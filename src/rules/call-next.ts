/**
 * Who is called when a slot is free.
 *
 * Networks (IPv6 /48, IPv4 /24): a network that holds its share of the slots is passed over while a ticket of a network below
 * its share waits. `callUpTo` finds who is called without looking at the same ticket twice:
 *   - every waiting ticket is in `waiting`, whether it was passed over or not: there its position is its rank;
 *   - waiting tickets up to the place `passedSeq` (meta) were looked at and are in `passed` (the sorted set), sorted by network;
 *     a ticket that comes back to a place before it joins them; whoever stops waiting leaves both;
 *   - called is the oldest in `passed` whose network is below its share, else the first after `passedSeq` whose network is below
 *     its share, those before it being passed over, else the oldest of all: a free slot is never kept from the only ones who wait.
 * Whatever is in `passed` is older than what was not looked at, so that no network is added while one of it may be called, and
 * there are never more networks in it than held their share at one time: at most `slots / share of the slots`.
 *
 * A ticket whose start failed keeps its place and is `parked` there: those behind it are called meanwhile. While the platform
 * cannot be reached (`disrupted`), one ticket is called at a time, to find out whether it can be reached again.
 */
import { dequeue, endTicket, isBelowShare, isDisrupted, isParked, passedEntry, takeSlot } from "./line.ts"
import { loadWaiting } from "./load.ts"
import { HIGHEST, LOWEST, wordsOf } from "./native.ts"
import { isAbsent, isHeld, isOverdue } from "./outage.ts"
import { meta, metaMany, notify, type Step } from "./step.ts"

/** While the platform cannot be reached, so long passes between two calls, unless the first was answered. */
export const PROBE_MILLIS = 5_000
/** How long a ticket whose start failed is parked at most. */
export const PARK_LONGEST_MILLIS = 15_000
/** At most so many parked tickets of a network are passed over in looking for the next to call. */
const PARKED_LIMIT = 200
/** At most so many tickets are cleared as absent or passed over in one step; the rest follows in the next. */
export const CLEAR_LIMIT = 200

/**
 * When it has looked at so many that were passed over, a step calls nobody further: to find one costs as many looks as there are parked,
 * and Redis does nothing else meanwhile.
 */
const LOOK_LIMIT = 5_000

const oldestPassed = (s: Step): string | undefined => {
  let oldest: string | undefined
  let first: string | undefined
  let from = ""
  let looked = 0
  for (;;) {
    const member = s.db.zlexAfter(s.keys.passed, from)
    if (member === undefined) return oldest
    looked++
    s.looks++
    const words = wordsOf(member)
    const id = words[words.length - 1] ?? ""
    const seq = words[words.length - 2] ?? ""
    const network = words.length > 2 ? (words[0] ?? "") : ""
    if (`${network} ${seq} ${id}` !== member || s.db.zscore(s.keys.waiting, id) === undefined) {
      // it never was a ticket; an entry of another form could also lead back to itself
      s.db.zrem(s.keys.passed, member)
    } else {
      // behind all of this network: a blank comes before an exclamation mark, and both before what networks are written with
      from = `${network}!`
      // whoever is parked is passed over, but not for longer than a step may take
      if (isParked(s, id)) {
        if (looked < PARKED_LIMIT) from = member
        else looked = 0
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

/**
 * Calls waiting tickets to free slots, at most so many; true when it has looked at its most and there are more to look at.
 * @param anyway also in a step that was on its way for long
 */
export const callUpTo = (s: Step, most: number, anyway: boolean): boolean => {
  const { context, db, keys, now } = s
  let looked = 0
  let called = 0
  /** Of those who were passed over none can be called: in this step their networks only take more slots, and nobody is unparked. */
  let isNonePassed = false
  while (called < most && db.zcard(keys.leases) < context.slots) {
    const indexed = context.share < 1 || db.zcard(keys.parked) > 0
    let id = indexed && !isNonePassed ? oldestPassed(s) : undefined
    if (indexed && id === undefined) isNonePassed = true
    let isNew = false
    if (id === undefined && indexed) {
      id = db.zrangebyscore(keys.waiting, meta(s, "passedSeq") + 1, HIGHEST, 1)[0]
      isNew = id !== undefined
    }
    if (id === undefined) id = oldestOfAll(s)
    if (id === undefined) return false
    if (looked === CLEAR_LIMIT) return true
    if (called > 0 && s.looks > LOOK_LIMIT) return true
    const ticket = loadWaiting(s, id)
    if (ticket === undefined) {
      looked++
    } else if (isAbsent(s, ticket, db.zscore(keys.presence, id) ?? 0)) {
      looked++
      dequeue(s, id, ticket)
      endTicket(s, id, ticket, "abandoned")
    } else if (isNew && (!isBelowShare(s, ticket.network) || isParked(s, id))) {
      looked++
      db.hset(keys.meta, "passedSeq", `${db.zscore(keys.waiting, id) ?? 0}`)
      db.zadd(keys.passed, 0, passedEntry(id, ticket))
    } else if (!anyway && called === 0 && isOverdue(s)) {
      return false
    } else {
      dequeue(s, id, ticket)
      const startBefore = now + context.windowMillis
      const lease = takeSlot(s, id, ticket, "called", startBefore)
      notify(s, ticket, { ticket: id, kind: { _tag: "called", startBefore, lease } })
      called++
      s.lastCalled = id
    }
  }
  return false
}

const CALL_FIELDS: ReadonlyArray<string> = ["backoffUntil", "paused", "disrupted", "probeUntil", "heldFrom"]

/** Calls the next tickets to free slots; true when there are more to look at. */
export const callNext = (s: Step): boolean => {
  const [backoffUntil = 0, paused = 0, disrupted = 0, probeUntil = 0, heldFrom = 0] = metaMany(s, CALL_FIELDS)
  if (backoffUntil > s.now || paused === 1 || isHeld(s, heldFrom)) return false
  if (disrupted !== 1) return callUpTo(s, s.context.slots, false)
  // somebody was called a moment ago to find out whether the platform can be reached: nobody else is
  if (probeUntil > s.now) return false
  const before = s.lastCalled
  const more = callUpTo(s, 1, false)
  if (s.lastCalled !== before) s.db.hset(s.keys.meta, "probeUntil", `${s.now + PROBE_MILLIS}`)
  return more
}

/** The platform has answered. Whoever was parked for a moment only may be called again. Says whether that is news. */
export const platformReached = (s: Step): boolean => {
  const was = isDisrupted(s) || meta(s, "probeUntil") > 0
  s.db.hdel(s.keys.meta, "disrupted")
  s.db.hdel(s.keys.meta, "probeUntil")
  if (was) s.db.zremrangebyscore(s.keys.parked, LOWEST, s.now + PARK_LONGEST_MILLIS)
  return was
}
