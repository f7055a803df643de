/**
 * Returns where tickets stand and keeps waiting ones present: one command per tick for all tickets of a gate. A
 * returned start window never ends in the past: one that has ended is renewed, or the turn is missed (`./shared/outage.ts`).
 */
import type { Heartbeat, TicketHeartbeat } from "../answers.ts"
import { callNext } from "./shared/call-next.ts"
import { isDisrupted, isPaused, pausedAnswer, withSlots } from "./shared/line.ts"
import { load } from "./shared/load.ts"
import { turnDeadline } from "./shared/outage.ts"
import { servedWhileFull } from "./shared/platform-state.ts"
import { positionOf } from "./shared/position.ts"
import { meta, type Step } from "./shared/step.ts"
import type { State } from "./shared/ticket.ts"

const heartbeatOf = (s: Step, id: string): TicketHeartbeat => {
  const { context, db, keys, now } = s
  const presentUntil = now + context.seenMillis
  const rank = db.zrank(keys.waiting, id)
  if (rank !== undefined) {
    if (presentUntil > (db.zscore(keys.presence, id) ?? 0)) db.zadd(keys.presence, presentUntil, id)
    return { state: "waiting", position: positionOf(s, id, rank) }
  }
  const ticket = load(s, id)
  // a waiting ticket that is not in the queue counts as unknown
  if (ticket === undefined || ticket.state === "waiting") return {}
  // a session that awaits its offer may still go back to the queue
  if (ticket.state === "live" && ticket.offerBefore !== undefined) return { state: "starting" }
  if (ticket.state !== "called") return { state: ticket.state }
  const startBefore = turnDeadline(s, id, ticket, presentUntil)
  if (startBefore !== undefined) return { state: "called", startBefore, lease: ticket.lease ?? "" }
  // the turn was ended, which changed the record
  const missed: State = (ticket as { state: State }).state
  return missed === "waiting"
    ? { state: missed, position: positionOf(s, id, db.zrank(keys.waiting, id) ?? 0, ticket) }
    : { state: missed }
}

export const heartbeat = (s: Step, { ids }: { readonly ids: ReadonlyArray<string> }): Heartbeat => {
  const leasesBefore = s.db.zcard(s.keys.leases)
  const tickets: Array<TicketHeartbeat> = []
  for (const id of ids) tickets.push(heartbeatOf(s, id))
  if (s.db.zcard(s.keys.leases) < leasesBefore) callNext(s)
  const averageMillis = meta(s, "averageMillis")
  const length = s.db.zcard(s.keys.waiting)
  const all: Heartbeat = { length, averageMillis, disrupted: isDisrupted(s) }
  const found = withSlots(s, all, servedWhileFull(s))
  const queue = isPaused(s) ? pausedAnswer(found, meta(s, "pausedUntil")) : found
  return tickets.length === 0 ? queue : { ...queue, tickets }
}
