/**
 * Time in which a gate could not reach the store, or its process was stalled, must not cost its callers a turn or a place. The rules,
 * stated here once:
 *
 * - A gate is seen with every sweep, once a second (`gates`). A gate not seen for `DEAD_MILLIS` is dead. A gate that stops removes
 *   itself.
 * - A turn is missed only after every gate that is not dead was seen after the end of the start window: the caller could have sent the
 *   start to any of them. A gate is not seen by a step that an outage delayed, because earlier requests of that gate failed (`stall.ts`).
 * - When a turn has just ended, other gates may simply not have swept yet. That is not an outage: the turn is extended by a second at a
 *   time until they were seen (`SILENT_AFTER_MILLIS`), up to `MAX_WINDOWS` windows.
 * - A waiting ticket is absent only in these cases: the gate of its connection has sent the heartbeat of its connected tickets after the
 *   ticket's presence ended, which only that gate's own sweep knows; the ticket has no connection and every gate was seen after its
 *   presence ended; its gate is dead.
 * - A gate that could not reach the store, however briefly, reports that before its next step (`../gate-reports.ts`). Called tickets then get
 *   a new start window, and nobody counts as absent during the grace. The same happens when no gate has swept for `UNATTENDED_MILLIS`,
 *   whichever gate sweeps first.
 * - That report also withdraws the tickets whose callers the gate answered with 503. Calls are then held until every gate that is not
 *   dead was seen again, for at most `MAX_HOLD_MILLIS` (`hold.ts`), so that no ticket is called that another gate is about to withdraw. A
 *   new hold starts at most once per `HOLD_INTERVAL_MILLIS`, so that a flapping gate does not delay all calls. A step that took
 *   `STALL_MILLIS` to arrive came through an outage that may not be reported yet: it calls nobody and holds calls like a report, unless
 *   such steps follow each other, since the store is slow then.
 * - While the platform cannot be reached, a called ticket that does not start returns to its own place and is parked
 *   (`MISSED_PARK_MILLIS`) while others are called to probe the platform. After `MAX_EXCUSED_TURNS` such turns in a row the turn is missed:
 *   only a start ends the outage, so callers who never start could otherwise keep everybody else waiting.
 * - A gate whose machine was suspended may not notice for a second, and its clock lags by as long. A start that it accepts gets its full
 *   time counted from the latest sweep, and so does the presence of a ticket that it admits.
 * - Apart from outages, a turn lasts at most `MAX_WINDOWS` windows, and a grace must end before a new one begins. Of outages of single
 *   gates, at most `DEAD_MILLIS` are excluded per turn, so that a flapping gate cannot hold slots and places forever.
 */

import { LOWEST } from "../../../store/rules/native.ts"
import { endTicket, freeSlot, isDisrupted, park, requeue } from "./line.ts"
import { loadHolder, save } from "./load.ts"
import { isCutOff } from "./stall.ts"
import { meta, type Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"
import { isUnattended } from "./unattended.ts"

/**
 * A gate not seen for this long is dead (ms). Long enough to survive a network fault, a failover or a suspended machine. Until then, the
 * callers of a dead gate who do not return keep their places and slots.
 */
export const DEAD_MILLIS = 45_000
/** A gate sweeps every second; one seen within this time (ms) is not silent. */
export const SILENT_AFTER_MILLIS = 2_500
/** The maximum length of one turn, in start windows. */
export const MAX_WINDOWS = 3
/** The length of a turn in start windows that a caller gets whose page is hidden when the turn begins. */
export const HIDDEN_WINDOWS = 2
/** A ticket that did not start while the platform could not be reached is not called again for this long (ms). */
export const MISSED_PARK_MILLIS = 15_000
/** Turns in a row that a ticket may let pass without a start while the platform cannot be reached. */
export const MAX_EXCUSED_TURNS = 3
/**
 * This much of each outage counts as part of the turn (ms), so that repeated outages cannot hold a slot forever. The shortest start
 * window is as long, so a single outage never shortens a window.
 */
export const COUNTED_OUTAGE_MILLIS = 1_000

/** Nobody counts as absent now. */
export const isGracePeriod = (s: Step): boolean => isUnattended(s) || meta(s, "graceUntil") > s.now

/**
 * When a gate that was not seen since `moment` was last seen (ms), or the time of the last sweep if nobody sweeps. Undefined when
 * every gate was seen since. The gate of this step counts as seen, unless an outage delayed the step.
 */
export const silentSince = (s: Step, moment: number): number | undefined => {
  if (isUnattended(s)) return meta(s, "sweptAt")
  for (const gate of s.db.zrangebyscore(s.keys.gates, s.now - DEAD_MILLIS, moment - 1, 2)) {
    if (gate !== s.context.instance || isCutOff(s)) return s.db.zscore(s.keys.gates, gate)
  }
  return undefined
}

/**
 * How far this gate's clock is behind the latest sweep (ms); 0 when the difference is too large for an outage to explain.
 */
export const clockLagMillis = (s: Step, sweptAt: number = meta(s, "sweptAt")): number => {
  const lag = sweptAt - s.now
  return lag > 0 && lag <= DEAD_MILLIS ? lag : 0
}

export const isAbsent = (s: Step, ticket: Ticket, presentUntil: number): boolean => {
  if (presentUntil >= s.now || isGracePeriod(s)) return false
  const gate = ticket.instance ?? ""
  if (gate === s.context.instance && s.heartbeatAt !== undefined) return presentUntil <= s.heartbeatAt
  if (gate === "") return silentSince(s, presentUntil) === undefined
  const heardAt = s.db.zscore(s.keys.gates, gate)
  return heardAt === undefined || heardAt < s.now - DEAD_MILLIS
}

/**
 * Renews the start window of a called ticket after an outage of all gates (`ofAll`) or of one. `since` is when the part of the outage
 * began that was not given back yet (ms). Returns when the window ends.
 */
const renewWindow = (s: Step, id: string, ticket: Ticket, since: number, ofAll: boolean): number => {
  const lostMillis = s.now - since - COUNTED_OUTAGE_MILLIS
  const turnStart = ticket.since ?? s.now
  if (lostMillis > 0) {
    const calledAt = ticket.calledAt ?? turnStart
    const called = ofAll ? Math.min(calledAt + lostMillis, s.now) : calledAt
    ticket.calledAt = called
    ticket.since = Math.max(turnStart, Math.min(turnStart + lostMillis, s.now, called + DEAD_MILLIS))
    save(s, id, ticket)
  }
  const deadline = s.db.zscore(s.keys.leases, id) ?? 0
  const renewed = Math.min(
    s.now + s.context.windowMillis,
    (ticket.since ?? s.now) + MAX_WINDOWS * s.context.windowMillis,
  )
  if (renewed <= deadline) return deadline
  if (ticket.extended === true) {
    ticket.extended = undefined
    save(s, id, ticket)
  }
  s.db.zadd(s.keys.leases, renewed, id)
  return renewed
}

/**
 * The page of a called ticket is hidden, so its caller needs longer to come back: the turn lasts `HIDDEN_WINDOWS` windows from its
 * beginning. `deadline` is the present end of the turn (ms). Returns the new one.
 */
export const extendTurn = (s: Step, id: string, ticket: Ticket, deadline: number): number => {
  const extended = (ticket.since ?? s.now) + HIDDEN_WINDOWS * s.context.windowMillis
  if (extended <= deadline) return deadline
  ticket.extended = true
  save(s, id, ticket)
  s.db.zadd(s.keys.leases, extended, id)
  return extended
}

export const windowBegan = (s: Step, id: string, ticket: Ticket): number => {
  const windows = ticket.extended === true ? HIDDEN_WINDOWS : 1
  return (s.db.zscore(s.keys.leases, id) ?? 0) - windows * s.context.windowMillis
}

/**
 * The start window of a called ticket has passed: the turn is missed. While the platform cannot be reached, the ticket waits again
 * instead, `MAX_EXCUSED_TURNS` times.
 */
export const missTurn = (s: Step, id: string, ticket: Ticket, presentUntil: number): void => {
  freeSlot(s, id, ticket)
  const excused = ticket.excusedTurns ?? 0
  if (isDisrupted(s) && excused < MAX_EXCUSED_TURNS) {
    ticket.excusedTurns = excused + 1
    requeue(s, id, ticket, presentUntil)
    park(s, id, s.now + MISSED_PARK_MILLIS)
  } else {
    endTicket(s, id, ticket, "missed", "missed")
  }
}

/**
 * When the start window of a called ticket ends, never in the past. Undefined when the turn has passed; the turn is then ended here.
 */
export const turnDeadline = (s: Step, id: string, ticket: Ticket, presentUntil: number): number | undefined => {
  let deadline = s.db.zscore(s.keys.leases, id) ?? 0
  const since = deadline < s.now ? silentSince(s, deadline) : undefined
  if (since !== undefined && s.now - since <= SILENT_AFTER_MILLIS) {
    // bounded: gates whose clocks differ by this much are never seen in time
    const latest = (ticket.since ?? s.now) + MAX_WINDOWS * s.context.windowMillis
    deadline = Math.max(deadline, Math.min(s.now + COUNTED_OUTAGE_MILLIS, latest))
    s.db.zadd(s.keys.leases, deadline, id)
  } else if (since !== undefined) {
    deadline = renewWindow(s, id, ticket, Math.max(since, deadline), isUnattended(s))
  }
  if (deadline >= s.now) return deadline
  missTurn(s, id, ticket, presentUntil)
  return undefined
}

/**
 * Gives back the time of an outage that began at `since` (ms): renews start windows, and nobody counts as absent during the grace.
 * @lazy
 */
export const forgiveOutage = (s: Step, since: number): void => {
  const from = Math.max(since, meta(s, "forgivenAt"))
  const ofAll = isUnattended(s)
  s.db.hset(s.keys.meta, "forgivenAt", `${s.now}`)
  if (meta(s, "graceUntil") <= s.now) s.db.hset(s.keys.meta, "graceUntil", `${s.now + s.context.seenMillis}`)
  // turns end within so many windows; calls, of which there may be many more, mostly later
  const latest = s.now + DEAD_MILLIS + MAX_WINDOWS * s.context.windowMillis
  for (const id of s.db.zrangebyscore(s.keys.leases, LOWEST, latest, s.db.zcard(s.keys.leases))) {
    const ticket = loadHolder(s, id)
    if (ticket !== undefined && ticket.state === "called") renewWindow(s, id, ticket, from, ofAll)
  }
}
