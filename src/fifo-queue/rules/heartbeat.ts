/**
 * Returns where tickets stand and keeps those that wait present. A start window that it returns never ends in the past: one that has ended
 * is renewed, or the turn is missed (`./shared/outage.ts`).
 *
 * A gate that says up to which change it knows the queue (`since`) names only the tickets that it does not hold yet, those that have changed,
 * and those that do not wait; it holds what waits (`./shared/presence.ts`). The answer has what has changed since, how many tickets the gate
 * holds, by which it finds that the store or the gate has lost something, and the places of all (`./shared/order.ts`). Such a
 * heartbeat costs what has changed, not what waits.
 */
import type { Heartbeat, QueueChanges, TicketHeartbeat } from "../answers.ts"
import { MAX_HELD_PER_STEP } from "../bounds.ts"
import type { KnownQueue } from "../inputs.ts"
import { withBudgets } from "./shared/awaited-budgets.ts"
import { callNext } from "./shared/call-next.ts"
import { changesSince } from "./shared/changes.ts"
import { positionOf } from "./shared/fair-places.ts"
import { isDisrupted, isPaused, pausedAnswer, withSlots } from "./shared/line.ts"
import { load } from "./shared/load.ts"
import { firstSeqs, stepsBehind } from "./shared/order.ts"
import { turnDeadline } from "./shared/outage.ts"
import { ownResumption } from "./shared/own-budgets.ts"
import { servedWhileFull } from "./shared/platform-state.ts"
import { heldCount, heldPage, hold, keepPresent, letGo, noteHolder } from "./shared/presence.ts"
import { meta, type Step } from "./shared/step.ts"
import type { State } from "./shared/ticket.ts"

/** @lazy */
const withAccepted = (s: Step, id: string, found: TicketHeartbeat): TicketHeartbeat => {
  const ticket = load(s, id)
  return ticket === undefined ? found : { ...found, accepted: ticket.accepted }
}

const waitingHeartbeat = (s: Step, id: string, rank: number, holds: boolean): TicketHeartbeat => {
  const position = positionOf(s, id, rank)
  const plain: TicketHeartbeat = { state: "waiting", position }
  const found = s.context.awaitsOwn === true ? { ...plain, ...ownResumption(s, id) } : plain
  if (!holds) {
    keepPresent(s, id, s.now + s.context.seenMillis, 0)
    return found
  }
  const seq = s.db.zscore(s.keys.waiting, id) ?? 0
  return hold(s, id) ? { ...found, seq } : { ...found, seq, elsewhere: true }
}

const ticketHeartbeat = (s: Step, id: string, holds: boolean): TicketHeartbeat => {
  const { context, db, keys, now } = s
  const rank = db.zrank(keys.waiting, id)
  if (rank !== undefined) {
    const found = waitingHeartbeat(s, id, rank, holds)
    return context.tellsAccepted === true ? withAccepted(s, id, found) : found
  }
  const ticket = load(s, id)
  // a waiting ticket that is not in the queue counts as unknown
  if (ticket === undefined || ticket.state === "waiting") return {}
  // a session that awaits its offer may still go back to the queue
  if (ticket.state === "live" && ticket.offerBefore !== undefined) return { state: "starting" }
  if (ticket.state !== "called") return { state: ticket.state }
  const startBefore = turnDeadline(s, id, ticket, now + context.seenMillis)
  if (startBefore !== undefined) return { state: "called", startBefore, lease: ticket.lease ?? "" }
  // the turn was ended, which changed the record
  const missed: State = (ticket as { state: State }).state
  return missed === "waiting" ? waitingHeartbeat(s, id, db.zrank(keys.waiting, id) ?? 0, holds) : { state: missed }
}

export interface HeartbeatCall extends Partial<KnownQueue> {
  readonly ids: ReadonlyArray<string>
}

const changesOf = (s: Step, since: number, { heldFrom, places, steps: wantsSteps }: HeartbeatCall): QueueChanges => {
  const { ids, lost, more, until } = changesSince(s, since)
  const withPlaces = places === true && s.context.share >= 1
  const first = withPlaces ? firstSeqs(s) : []
  const steps = withPlaces && (wantsSteps === true || lost || ids.length > 0) ? stepsBehind(s) : ""
  const held = heldFrom === undefined ? [] : heldPage(s, heldFrom, MAX_HELD_PER_STEP)
  return {
    until,
    holds: heldCount(s),
    ...(lost ? { lost: true as const } : {}),
    ...(more ? { more: true as const } : {}),
    ...(ids.length === 0 ? {} : { changed: ids }),
    ...(first.length === 0 ? {} : { first }),
    ...(steps === "" ? {} : { steps }),
    ...(held.length === 0 ? {} : { held }),
  }
}

export const heartbeat = (s: Step, call: HeartbeatCall): Heartbeat => {
  const { closed, ids, since } = call
  const leasesBefore = s.db.zcard(s.keys.leases)
  if (since !== undefined) noteHolder(s)
  if (closed !== undefined) letGo(s, closed)
  const tickets: Array<TicketHeartbeat> = []
  for (const id of ids) tickets.push(ticketHeartbeat(s, id, since !== undefined))
  if (s.db.zcard(s.keys.leases) < leasesBefore) callNext(s)
  const averageMillis = meta(s, "averageMillis")
  const length = s.db.zcard(s.keys.waiting)
  const all: Heartbeat = { length, averageMillis, disrupted: isDisrupted(s) }
  const found = withBudgets(s, withSlots(s, all, servedWhileFull(s)))
  const queue = isPaused(s) ? pausedAnswer(found, meta(s, "pausedUntil")) : found
  const changes = since === undefined ? {} : { changes: changesOf(s, since, call) }
  return tickets.length === 0 ? { ...queue, ...changes } : { ...queue, ...changes, tickets }
}
