/**
 * Enforces deadlines. Leases past their deadline are freed (called → missed, live → reclaimed, doubt → freed). A start
 * whose gate died may have happened: its slot is held in doubt, and its ticket returns to its place. Absent tickets are
 * abandoned, free slots call the next tickets, and ended tickets are forgotten. Time lost to an outage is given back
 * (`./shared/outage.ts`). Every `RECOUNT_MILLIS`, and after an invalid record was found (`./shared/load.ts`), the counts of
 * networks, live sessions and doubts are rebuilt. Who waits for longer than the campaign is open is ended (`./shared/closing.ts`). Any gate may sweep at any time, as often as it likes.
 */

import { decode, isNumber, isObject, isText, LOWEST } from "../../store/rules/native.ts"
import type { Swept } from "../answers.ts"
import type { HoursNow, Learned } from "../inputs.ts"
import { readKeys } from "./check-keys.ts"
import { isRecountDue, recount } from "./recount.ts"
import { withBudgets } from "./shared/awaited-budgets.ts"
import { callNext, markPlatformReachable } from "./shared/call-next.ts"
import { forgetChanges, isForgettingDue } from "./shared/changes.ts"
import { followHours } from "./shared/closing.ts"
import { expire, forgetOld, MAX_PER_STEP, overdueCharges, overdueSettlements } from "./shared/expiry.ts"
import { keepPlaces } from "./shared/fair-places.ts"
import { isHeld, noteStall } from "./shared/hold.ts"
import { dequeue, endTicket, isDisrupted } from "./shared/line.ts"
import { loadHolder, loadWaiting } from "./shared/load.ts"
import { DEAD_MILLIS, forgiveOutage, isAbsent, isGracePeriod, missTurn, silentSince } from "./shared/outage.ts"
import { releaseUnpaid } from "./shared/own-budgets.ts"
import { allowedByPlatform } from "./shared/platform-limit.ts"
import { hearPlatform, watchPlatform } from "./shared/platform-state.ts"
import { releaseSilent } from "./shared/presence.ts"
import { isCutOff } from "./shared/stall.ts"
import { meta, type Step } from "./shared/step.ts"
import type { Ticket } from "./shared/ticket.ts"
import { forgetUnattended, isUnattended, noteUnattended } from "./shared/unattended.ts"

/** A sweep reads at most this many pages of `MAX_PER_STEP` entries when it has to skip some. */
const MAX_PAGES = 5

/** How many ids of ended sessions and attempts are remembered, and for how long (ms). */
const MAX_ENDED_SESSIONS = 100_000
export const ENDED_SESSION_MILLIS: number = 24 * 3_600_000

/** Ends overdue entries, except those whose gate must be waited for. True when there is more to do. */
const endOverdue = (
  s: Step,
  key: string,
  read: (s: Step, id: string) => Ticket | undefined,
  end: (s: Step, id: string, ticket: Ticket, score: number) => boolean,
): boolean => {
  let ended = 0
  let deferred = 0
  for (let page = 0; page < MAX_PAGES; page++) {
    const ids = s.db.zrangebyscore(key, LOWEST, s.now - 1, MAX_PER_STEP, deferred)
    for (const id of ids) {
      const score = s.db.zscore(key, id) ?? 0
      const ticket = read(s, id)
      if (ticket === undefined || end(s, id, ticket, score)) ended++
      else deferred++
    }
    if (ended >= MAX_PER_STEP) return true
    if (ids.length < MAX_PER_STEP) return false
  }
  return false
}

const endSlot = (s: Step, id: string, ticket: Ticket, deadline: number): boolean => {
  const presentUntil = s.now + s.context.seenMillis
  if (ticket.state !== "called") {
    expire(s, id, ticket, presentUntil)
    return true
  }
  if (silentSince(s, deadline) !== undefined) return false
  missTurn(s, id, ticket, presentUntil)
  return true
}

const endPresence = (s: Step, id: string, ticket: Ticket, presentUntil: number): boolean => {
  if (!isAbsent(s, ticket, presentUntil)) return false
  dequeue(s, id, ticket)
  endTicket(s, id, ticket, "abandoned")
  return true
}

/** Forgets ended tickets and sessions after their retention. True when there is more to do. */
const forgetOverdue = (s: Step): boolean => {
  const forgotten = forgetOld(s)
  const withdrawn = meta(s, "withdrawnUntil")
  if (withdrawn > 0 && withdrawn < s.now && forgotten < MAX_PER_STEP) s.db.hdel(s.keys.meta, "withdrawnUntil")
  s.db.zremrangebyscore(s.keys.endedSessions, LOWEST, s.now - ENDED_SESSION_MILLIS)
  if (s.db.zcard(s.keys.endedSessions) > MAX_ENDED_SESSIONS) s.db.zkeepLast(s.keys.endedSessions, MAX_ENDED_SESSIONS)
  return forgotten === MAX_PER_STEP
}

const lastQuarantined = (s: Step): Swept["junk"] => {
  const stored = s.db.hget(s.keys.meta, "junk")
  if (stored === undefined) return undefined
  const found = decode(stored)
  if (!isObject(found)) return undefined
  const { at, id, key } = found
  return isNumber(at) && isText(key) && isText(id) ? { at, key, id } : undefined
}

export interface Sweep extends Learned {
  /** when this gate last sent the heartbeat of its connected tickets (ms); now if absent */
  readonly heartbeatAt?: number
  /** absent from a sweep that only offers a slot */
  readonly hours?: HoursNow
}

export const sweep = (s: Step, call: Sweep): Swept => {
  const { db, keys, now } = s
  readKeys(s)
  const [sweptAt = 0, hoursAt = 0] = db.hgetNumbers(keys.meta, ["sweptAt", "hoursAt"])
  if (isRecountDue(s, sweptAt)) recount(s)
  keepPlaces(s)
  if (isForgettingDue(s, sweptAt)) forgetChanges(s)
  if (isUnattended(s)) {
    noteUnattended(s, sweptAt)
    forgiveOutage(s, sweptAt)
  }
  // a sweep that arrives late must not set the time back
  const isTimeBack = sweptAt - now > DEAD_MILLIS
  if (now > sweptAt || isTimeBack) db.hset(keys.meta, "sweptAt", `${now}`)
  if (isTimeBack) forgetUnattended(s)
  if (!isCutOff(s)) db.zadd(keys.gates, now, s.context.instance)
  noteStall(s)
  // a hold waits for every gate that lived when its outage began
  if (!isHeld(s, meta(s, "heldFrom"))) db.zremrangebyscore(keys.gates, LOWEST, now - DEAD_MILLIS - 1)
  s.heartbeatAt = call.heartbeatAt ?? now
  const moreSlots = endOverdue(s, keys.leases, loadHolder, endSlot)
  if (db.zcard(keys.unpaid) > 0) releaseUnpaid(s)
  db.zremrangebyscore(keys.parked, LOWEST, now - 1)
  const moreHeld = releaseSilent(s)
  const moreWaiting = isGracePeriod(s) ? false : endOverdue(s, keys.presence, loadWaiting, endPresence)
  const closing = call.hours === undefined ? undefined : followHours(s, call.hours, hoursAt)
  const moreClosed = closing?.more === true
  const moreOld = forgetOverdue(s)
  if (call.heard !== undefined && hearPlatform(s, call.heard)) markPlatformReachable(s)
  const moreCalls = callNext(s)
  const owed = overdueSettlements(s)
  // also where the campaign has lost its budgets since, as by a reload
  const uncharged = db.zcard(keys.charges) === 0 ? [] : overdueCharges(s)
  const junk = lastQuarantined(s)
  const waiting = db.zcard(keys.waiting)
  const leases = db.zcard(keys.leases)
  const watched = watchPlatform(s, waiting, leases, call.suspect === true)
  const swept: Swept = {
    ...watched,
    more: moreSlots || moreWaiting || moreHeld || moreClosed || moreOld || moreCalls,
    waiting,
    leases,
    live: meta(s, "live"),
    doubts: meta(s, "doubts"),
    averageMillis: meta(s, "averageMillis"),
    disrupted: isDisrupted(s),
    quarantined: meta(s, "quarantined"),
  }
  const allowed = allowedByPlatform(s)
  const unpaid = s.context.awaitsOwn === true ? db.zcard(keys.unpaid) : 0
  const [draining = 0, paused = 0, pausedUntil = 0] = db.hgetNumbers(keys.meta, ["draining", "paused", "pausedUntil"])
  return withBudgets(s, {
    ...swept,
    ...(owed.length === 0 ? {} : { owed }),
    ...(uncharged.length === 0 ? {} : { uncharged }),
    ...(junk === undefined ? {} : { junk }),
    ...(allowed === undefined ? {} : { allowed }),
    ...(unpaid === 0 ? {} : { unpaid }),
    ...(closing?.servedUntil === undefined ? {} : { servedUntil: closing.servedUntil }),
    ...(draining === 1 ? { draining: true } : {}),
    ...(paused === 1 ? { paused: true } : {}),
    ...(pausedUntil === 0 ? {} : { pausedUntil }),
  })
}
