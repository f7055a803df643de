/**
 * What is held against nobody: a time in which a gate could not reach the store, or stood still. The rules, stated here once:
 *
 * - A gate is heard of with every sweep, once a second (`gates`). One that is not for `DEAD_MILLIS` is dead; one that goes says so.
 * - A turn is missed only when every gate that is not dead was heard of after the end of the start window: the start could have come
 *   through any of them.
 * - A look at a turn that has just ended finds other gates whose next sweep is not due yet. That is no outage: the turn lasts a second
 *   longer, until they were heard of (`LATE_MILLIS`), up to `MOST_WINDOWS` windows.
 * - A waiting ticket is absent only when the gate of its connection has shown who is connected (its tick) after the end of the
 *   ticket's presence, which that gate's own sweep says; a ticket without a connection, when every gate was heard of since; at
 *   once, when its gate is dead.
 * - A gate that could not reach the store, for however short, says so before anything else when it can again (`queue/gates.ts`). Then
 *   whoever is called has the start window anew, and nobody counts as absent for the grace. So it is too when nobody had swept
 *   for `UNATTENDED_MILLIS`, whoever is first.
 * - That report also withdraws the tickets which the gate answered 503. Calls are then held until every gate that is not dead was heard
 *   of again, for `HOLD_MILLIS` at most, so that no other gate's withdrawn ticket is called. Only so often (`HOLD_EVERY_MILLIS`) that a gate
 *   which comes and goes does not delay everybody's calls. A step that was on its way for `STALL_MILLIS` came through an outage that may
 *   not be reported yet: it calls nobody, and calls are held as after a report.
 * - While the platform cannot be reached nobody misses a turn, since nobody could start: a called ticket that does not start goes back
 *   to its own place, and others are called before it to find out (`MISSED_PARK_MILLIS`).
 * - A gate whose machine stood still may not know it for a second, and is behind the others by as long: a start that it lets begin has
 *   its time from the latest sweep on.
 * - Without the time of outages a turn lasts `MOST_WINDOWS` windows at most, and one such grace must end before there is another. Of
 *   outages of single gates `DEAD_MILLIS` count as such time in one turn: a gate that comes and goes does not hold slots and places for ever.
 */
import { endTicket, freeSlot, isDisrupted, park, requeue } from "./line.ts"
import { loadHolder, save } from "./load.ts"
import { ALL } from "./native.ts"
import { meta, type Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"

/**
 * When nobody has swept for so long, the store or every gate was away, and nobody could show presence: that is not held
 * against those who wait, who get the grace anew.
 */
export const UNATTENDED_MILLIS = 5_000
/**
 * A gate that was not heard of for so long is dead (ms). Long enough for a path, a failover or a machine that is away for a while;
 * until then a dead gate's callers who do not come back hold their places and slots.
 */
export const DEAD_MILLIS = 45_000
/** A gate sweeps every second; one that was heard of within this time (ms) is not silent. */
export const LATE_MILLIS = 2_500
/** The most start windows of one turn. */
export const MOST_WINDOWS = 3
/** A ticket that did not start while the platform could not be reached is not called again for so long (ms). */
export const MISSED_PARK_MILLIS = 15_000
/**
 * So much of each outage counts as time of the turn (ms), so that outages which follow each other do not hold a slot for ever. The
 * shortest window is as long, so that a single outage never shortens one.
 */
export const COUNTED_MILLIS = 1_000
/** How long calls are held at most after an outage was reported, until the other gates have reported it too (ms). */
export const HOLD_MILLIS = 1_000
/** A step that was on its way for so long came through an outage of the store (ms). */
export const STALL_MILLIS = 500
/** Calls are held again for another outage only so long after the last hold began (ms). */
export const HOLD_EVERY_MILLIS = 5_000

/** Nobody has swept for long. */
export const isUnattended = (s: Step): boolean => {
  const sweptAt = meta(s, "sweptAt")
  return sweptAt > 0 && s.now - sweptAt > UNATTENDED_MILLIS
}

/** Absence is held against nobody. */
export const isGrace = (s: Step): boolean => isUnattended(s) || meta(s, "graceUntil") > s.now

/**
 * Since when a gate was silent that was not heard of since this moment, the longest silent one, or since when nobody swept;
 * undefined when all were heard of. This gate is heard of now.
 */
export const silentSince = (s: Step, moment: number): number | undefined => {
  if (isUnattended(s)) return meta(s, "sweptAt")
  for (const gate of s.db.zrangebyscore(s.keys.gates, s.now - DEAD_MILLIS, moment - 1, 2)) {
    if (gate !== s.context.instance) return s.db.zscore(s.keys.gates, gate)
  }
  return undefined
}

/** How far this gate's time is behind the latest sweep's (ms); 0 where that is too far to be an outage's work. */
export const behindMillis = (s: Step): number => {
  const by = meta(s, "sweptAt") - s.now
  return by > 0 && by <= DEAD_MILLIS ? by : 0
}

/** Whether a waiting ticket that was present until `seen` is absent. */
export const isAbsent = (s: Step, ticket: Ticket, seen: number): boolean => {
  if (seen >= s.now || isGrace(s)) return false
  const gate = ticket.instance ?? ""
  if (gate === s.context.instance && s.shown !== undefined) return seen <= s.shown
  if (gate === "") return silentSince(s, seen) === undefined
  const heard = s.db.zscore(s.keys.gates, gate)
  return heard === undefined || heard < s.now - DEAD_MILLIS
}

/**
 * Gives a called ticket its start window anew, after an outage (`ofAll` gates, or of one) of which nothing was forgiven since then, and
 * answers when it ends.
 */
const renewWindow = (s: Step, id: string, ticket: Ticket, since: number, ofAll: boolean): number => {
  const lost = s.now - since - COUNTED_MILLIS
  const lasts = ticket.since ?? s.now
  if (lost > 0) {
    const calledAt = ticket.calledAt ?? lasts
    const called = ofAll ? Math.min(calledAt + lost, s.now) : calledAt
    ticket.calledAt = called
    ticket.since = Math.max(lasts, Math.min(lasts + lost, s.now, called + DEAD_MILLIS))
    save(s, id, ticket)
  }
  const ends = s.db.zscore(s.keys.leases, id) ?? 0
  const anew = Math.min(s.now + s.context.windowMillis, (ticket.since ?? s.now) + MOST_WINDOWS * s.context.windowMillis)
  if (anew <= ends) return ends
  s.db.zadd(s.keys.leases, anew, id)
  return anew
}

/** The start window of a called ticket has passed: its turn is missed, or it waits again, present until then. */
export const missTurn = (s: Step, id: string, ticket: Ticket, presentUntil: number): void => {
  freeSlot(s, id, ticket)
  if (isDisrupted(s)) {
    requeue(s, id, ticket, presentUntil)
    park(s, id, s.now + MISSED_PARK_MILLIS)
  } else {
    endTicket(s, id, ticket, "missed", "missed")
  }
}

/** When the start window of a called ticket ends, which is never in the past; undefined for a turn that has passed, and is over now. */
export const turnEnds = (s: Step, id: string, ticket: Ticket, presentUntil: number): number | undefined => {
  let ends = s.db.zscore(s.keys.leases, id) ?? 0
  const since = ends < s.now ? silentSince(s, ends) : undefined
  if (since !== undefined && s.now - since <= LATE_MILLIS) {
    // bounded, since gates whose clocks differ by as much are never heard of in time
    const longest = (ticket.since ?? s.now) + MOST_WINDOWS * s.context.windowMillis
    ends = Math.max(ends, Math.min(s.now + COUNTED_MILLIS, longest))
    s.db.zadd(s.keys.leases, ends, id)
  } else if (since !== undefined) {
    ends = renewWindow(s, id, ticket, Math.max(since, ends), isUnattended(s))
  }
  if (ends >= s.now) return ends
  missTurn(s, id, ticket, presentUntil)
  return undefined
}

/** Holds calls from a moment on, after an outage that began at `since`. */
const holdFrom = (s: Step, moment: number, since: number): number => {
  const from = meta(s, "heldFrom")
  const lasted = moment - from
  // a report that its gate repeats, because it heard no answer, is of the same outage
  const isRepeated = since < from && moment - since <= DEAD_MILLIS
  const isDue = from === 0 || lasted >= (isRepeated ? HOLD_MILLIS : HOLD_EVERY_MILLIS) || lasted < -DEAD_MILLIS
  if (!isDue) return from
  s.db.hset(s.keys.meta, "heldFrom", `${moment}`)
  return moment
}

/**
 * How long this step was on its way (ms), if that was long enough to have come through an outage, and not too long to be true; else 0.
 */
const stallMillis = (s: Step): number => {
  const delay = s.db.time() - s.now
  return delay >= STALL_MILLIS && delay <= DEAD_MILLIS ? delay : 0
}

/** Holds calls after an outage that a gate reports. */
export const holdCalls = (s: Step, since: number): void => {
  holdFrom(s, s.now + stallMillis(s), since)
}

/**
 * Whether nobody is called now, because an outage was reported and a gate that is not dead was not heard of since. That can be the
 * gate of this step: one that was on its way during the outage was sent before its gate knew of it.
 */
export const isHeld = (s: Step, heldFrom: number): boolean => {
  const lasted = s.now - heldFrom
  if (lasted >= HOLD_MILLIS || lasted < -DEAD_MILLIS) return false
  return s.db.zrangebyscore(s.keys.gates, s.now - DEAD_MILLIS, heldFrom - 1, 1).length > 0
}

/**
 * Whether this step calls nobody because it was on its way for long: the store stood still, and of those who came before it some were
 * answered 503. Calls are held then as after a report.
 */
export const isOverdue = (s: Step): boolean => {
  const stalled = stallMillis(s)
  return stalled > 0 && isHeld(s, holdFrom(s, s.now + stalled, s.now))
}

/** After an outage since then: start windows anew, and nobody counts as absent for the grace. */
export const forgiveOutage = (s: Step, since: number): void => {
  const from = Math.max(since, meta(s, "forgivenAt"))
  const ofAll = isUnattended(s)
  s.db.hset(s.keys.meta, "forgivenAt", `${s.now}`)
  if (meta(s, "graceUntil") <= s.now) s.db.hset(s.keys.meta, "graceUntil", `${s.now + s.context.seenMillis}`)
  for (const id of s.db.zrange(s.keys.leases, 0, ALL)) {
    const ticket = loadHolder(s, id)
    if (ticket !== undefined && ticket.state === "called") renewWindow(s, id, ticket, from, ofAll)
  }
}
