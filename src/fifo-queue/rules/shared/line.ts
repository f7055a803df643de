/** Places in the queue and slots: how a ticket gets and loses them, the counts per network, and how a ticket ends. */

import type { SettlementKind } from "../../../protocol/settlements.ts"
import type { Signal } from "../../../protocol/signals.ts"
import type { EndState } from "../../../protocol/ticket.ts"
import { numberOf } from "../../../store/rules/native.ts"
import type { Hindrances, Waiting } from "../../answers.ts"
import { isKnownNumber } from "../../bounds.ts"
import { withBudgets } from "./awaited-budgets.ts"
import { noteChange } from "./changes.ts"
import { beginBilling, overAt, oweCharge } from "./charges.ts"
import { noteLength, noteSilence, noteStop } from "./ending.ts"
import { appendTicketEvent } from "./events.ts"
import { capOf, noteGone, noteHeld, noteWaiting, positionOf } from "./fair-places.ts"
import { load, save } from "./load.ts"
import { withOwnBudget } from "./own-budgets.ts"
import { limitByPlatform } from "./platform-limit.ts"
import { servedWhileFull } from "./platform-state.ts"
import { meta, notify, type Step, settle } from "./step.ts"
import { doubtId, networkEntry, type State, type Ticket } from "./ticket.ts"

/** How long an ended ticket is remembered (ms), so that its holder can learn how it ended. */
export const RETENTION_MILLIS: number = 10 * 60_000

/**
 * A call of which the gate learns only so long after its time limit that it is over has run beyond it (ms): a gate looks for such calls once in a few
 * seconds, and the vendor takes some to end one.
 */
export const OVERRUN_MILLIS = 15_000

const countNetwork = (s: Step, field: string, by: number): void => {
  if (s.db.hincrby(s.keys.networks, field, by) < 1) s.db.hdel(s.keys.networks, field)
}

/** Changes the count of a network's tickets that wait (`w`) or hold a slot (`h`). */
export const countTicket = (s: Step, kind: "w" | "h", ticket: Ticket, by: number): void => {
  if (ticket.network !== undefined) countNetwork(s, kind + ticket.network, by)
}

/** At the place given by its `seq`. */
export const enqueue = (s: Step, id: string, ticket: Ticket, presentUntil: number): void => {
  s.db.zadd(s.keys.waiting, ticket.seq, id)
  s.db.zadd(s.keys.presence, presentUntil, id)
  noteChange(s, id)
  countTicket(s, "w", ticket, 1)
  if (ticket.seq <= meta(s, "passedSeq")) s.db.zadd(s.keys.passed, 0, networkEntry(id, ticket))
  if (s.context.share < 1) noteWaiting(s, id, ticket)
}

export const dequeue = (s: Step, id: string, ticket: Ticket): void => {
  s.db.zrem(s.keys.waiting, id)
  s.db.zrem(s.keys.presence, id)
  noteChange(s, id)
  s.db.zrem(s.keys.passed, networkEntry(id, ticket))
  if (s.db.zrem(s.keys.parked, id)) s.db.zrem(s.keys.unpaid, id)
  countTicket(s, "w", ticket, -1)
  if (s.context.share < 1) noteGone(s, id, ticket)
}

/** At its own place. */
export const requeue = (s: Step, id: string, ticket: Ticket, presentUntil: number): void => {
  ticket.state = "waiting"
  save(s, id, ticket)
  enqueue(s, id, ticket, presentUntil)
}

/** The ticket keeps its place but is not called until then; those behind it are. */
export const park = (s: Step, id: string, until: number): void => s.db.zadd(s.keys.parked, until, id)

export const isParked = (s: Step, id: string): boolean => s.db.zscore(s.keys.parked, id) !== undefined

/**
 * Gives the ticket a slot under a new lease.
 * @lazy
 */
export const takeSlot = (s: Step, id: string, ticket: Ticket, state: State, deadline: number): string => {
  const lease = `${s.db.hincrby(s.keys.meta, "lease", 1)}`
  ticket.state = state
  ticket.lease = lease
  ticket.since = s.now
  ticket.calledAt = undefined
  ticket.extended = undefined
  ticket.offered = undefined
  if (state === "starting") beginBilling(s, ticket)
  else ticket.billed = undefined
  save(s, id, ticket)
  s.db.zadd(s.keys.leases, deadline, id)
  countTicket(s, "h", ticket, 1)
  if (s.context.share < 1) noteHeld(s, ticket, 1)
  return lease
}

export const freeSlot = (s: Step, id: string, ticket: Ticket): void => {
  if (ticket.billed !== undefined) oweCharge(s, id, ticket, ticket.billed)
  s.db.zrem(s.keys.leases, id)
  countTicket(s, "h", ticket, -1)
  if (s.context.share < 1) noteHeld(s, ticket, -1)
}

/** Whether a network holds less than its share of the slots. */
export const isBelowShare = (s: Step, network: string | undefined): boolean => {
  if (network === undefined || network === "") return true
  return numberOf(s.db.hget(s.keys.networks, `h${network}`)) < capOf(s)
}

/** The platform cannot be reached. */
export const isDisrupted = (s: Step): boolean => meta(s, "disrupted") === 1

/** Whether an operator's pause holds: nobody is called. `paused` and `pausedUntil` are the campaign's fields of these names. */
export const isPauseOn = (s: Step, paused: number, pausedUntil: number): boolean =>
  paused === 1 && (pausedUntil === 0 || pausedUntil > s.now)

/** An operator has paused the campaign: nobody is called. */
export const isPaused = (s: Step): boolean => isPauseOn(s, meta(s, "paused"), meta(s, "pausedUntil"))

export const clearPause = (s: Step): void => {
  s.db.hdel(s.keys.meta, "paused")
  s.db.hdel(s.keys.meta, "pausedUntil")
}

/** Adds to an answer that the campaign is paused, and until when. */
export const pausedAnswer = <A extends Hindrances>(answer: A, pausedUntil: number): A =>
  pausedUntil === 0 ? { ...answer, paused: true } : { ...answer, paused: true, pausedUntil }

/**
 * Adds to an answer how many slots serve the campaign now, while its account withholds others, the platform is full, or only its refusals
 * tell: the estimated wait is computed from this number.
 *
 * @param served how many calls a full platform serves; undefined while it is not full
 */
export const withSlots = <A extends Hindrances>(s: Step, answer: A, served: number | undefined): A => {
  const isLimited = s.slots < s.context.slots && isKnownNumber(s.slots)
  if (!isLimited) return served === undefined ? answer : { ...answer, slots: served }
  const slots = Math.max(s.slots, s.db.zcard(s.keys.leases))
  return { ...answer, slots: served === undefined ? slots : Math.min(served, slots) }
}

export const place = (s: Step, id: string, ticket: Ticket): Waiting => {
  const all: Waiting = {
    _tag: "waiting",
    position: positionOf(s, id, s.db.zrank(s.keys.waiting, id) ?? 0, ticket),
    length: s.db.zcard(s.keys.waiting),
    averageMillis: meta(s, "averageMillis"),
    disrupted: isDisrupted(s),
    ...(s.context.tellsAccepted === true ? { accepted: ticket.accepted } : {}),
  }
  const ofAll = withBudgets(s, withSlots(s, all, servedWhileFull(s)))
  const found = s.context.awaitsOwn === true ? withOwnBudget(s, id, ofAll) : ofAll
  return isPaused(s) ? pausedAnswer(found, meta(s, "pausedUntil")) : found
}

/**
 * A ticket ends while its start is in doubt: the slot and the caller's units stay taken until the doubt is resolved.
 * Nothing is given back before, or one caller could hold any number of slots at no cost.
 */
const handOverToDoubt = (s: Step, id: string, ticket: Ticket): boolean => {
  if (ticket.lease === undefined) return false
  const slotId = doubtId(ticket.lease)
  if (slotId === id) return false
  const doubt = load(s, slotId)
  if (doubt === undefined || doubt.state !== "doubt" || doubt.ticket !== id) return false
  if (ticket.caller !== undefined) doubt.caller = ticket.caller
  if (ticket.holds === true) doubt.holds = true
  save(s, slotId, doubt)
  return true
}

/** The call of a ticket that ends, for its event; nothing of one that never ran. */
export interface EndedCall {
  readonly session?: string | undefined
  /** how long it ran (ms) */
  readonly millis?: number | undefined
  /** how long it has run beyond its time limit (ms); absent if it has not */
  readonly overrunMillis?: number
}

const NO_CALL: EndedCall = {}

/** Ends a ticket. `kind` says how its caller's units are settled: by default they only stop counting as open. */
export const endTicket = (
  s: Step,
  id: string,
  ticket: Ticket,
  state: EndState,
  kind: SettlementKind = "release",
  call: EndedCall = NO_CALL,
): void => {
  if (s.context.events === true)
    appendTicketEvent(s, "call.ended", id, ticket, { session: call.session, millis: call.millis, reason: state })
  ticket.state = state
  save(s, id, ticket)
  s.db.hdel(s.keys.data, id)
  s.db.zadd(s.keys.forget, s.now + RETENTION_MILLIS, id)
  if (!handOverToDoubt(s, id, ticket)) settle(s, kind, id, ticket)
  // a doubt is not a ticket
  if (ticket.seq === 0) return
  const { overrunMillis } = call
  const signal: Signal =
    overrunMillis === undefined
      ? { ticket: id, kind: { _tag: "ended", state } }
      : { ticket: id, kind: { _tag: "ended", state, overrunMillis } }
  // a caller who has left is told nothing
  if (state === "left") s.elsewhere.push(signal)
  else notify(s, ticket, signal)
}

/** Ends the session of a live ticket: frees its slot, measures its length, and remembers its ids. */
export const endSession = (
  s: Step,
  id: string,
  ticket: Ticket,
  reported: EndState,
  kind: SettlementKind = reported === "failed" ? "refund" : "release",
): void => {
  const { began, endsAt, lasted, since = s.now } = ticket
  // this and what is owed depend on the call's limit
  const measured = overAt(s, id, ticket, since)
  freeSlot(s, id, ticket)
  const state = noteStop(s, id, ticket, noteLength(ticket, s.now, noteSilence(s, ticket, reported)))
  s.db.zrem(s.keys.ending, id)
  if (s.context.openMillis !== undefined) s.db.zrem(s.keys.unopened, id)
  s.db.hincrby(s.keys.meta, "live", -1)
  for (const session of ticket.sessions ?? []) {
    s.db.hdel(s.keys.sessions, session)
    s.db.zadd(s.keys.endedSessions, s.now, session)
  }
  // a session without an offer was not a call
  if (
    (state === "ended" || state === "silent" || state === "too_long" || state === "budget") &&
    ticket.seq !== 0 &&
    ticket.offerBefore === undefined
  ) {
    const average = meta(s, "averageMillis")
    // the clocks of two instances may differ by more than the length of a short call
    const length = Math.max(0, measured - since)
    const updated = average === 0 ? length : average + Math.floor((length - average) / 8)
    s.db.hset(s.keys.meta, "averageMillis", `${updated}`)
  }
  // the same length as is charged: the vendor's, where it has said it
  const from = began ?? since
  const end = lasted === undefined ? measured : from + lasted * 1000
  const [session] = ticket.sessions ?? []
  const ran = ticket.offerBefore === undefined && ticket.unopened !== true
  const millis = ran ? Math.max(0, end - from) : undefined
  ticket.sessions = undefined
  // its page may have stayed connected, and the message that tells it may be lost
  if (ticket.instance !== undefined || s.context.instance === "") noteChange(s, id)
  if (endsAt === undefined) {
    endTicket(s, id, ticket, state, kind, s.context.events === true ? { session, millis } : NO_CALL)
    return
  }
  s.db.zrem(s.keys.limits, id)
  ticket.endsAt = undefined
  const over = end - endsAt
  endTicket(s, id, ticket, state, kind, {
    ...(s.context.events === true ? { session, millis } : {}),
    ...(over > OVERRUN_MILLIS ? { overrunMillis: over } : {}),
  })
}

export const clearBackoff = (s: Step): void => {
  s.db.hdel(s.keys.meta, "backoffUntil")
  s.db.hdel(s.keys.meta, "backoffs")
  // it limits this step from now on
  limitByPlatform(s)
}

export const isBackingOff = (s: Step): boolean => meta(s, "backoffUntil") > s.now
