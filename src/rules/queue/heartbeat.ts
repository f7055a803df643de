/**
 * Says where tickets stand and keeps those that wait present: one command a tick for all tickets of a gate. A start window is
 * never said to end in the past: one that has ended is given anew or the turn is missed (`../outage.ts`).
 */
import { callNext } from "../call-next.ts"
import { isDisrupted } from "../line.ts"
import { load } from "../load.ts"
import { turnEnds } from "../outage.ts"
import { meta, type Step } from "../step.ts"
import type { State } from "../ticket.ts"

/** One ticket of a heartbeat; without a state it is not known. */
export interface Beat {
  readonly state?: State
  /** of one that waits */
  readonly position?: number
  /** of one that is called */
  readonly startBefore?: number
  readonly lease?: string
}

export interface Heartbeat {
  readonly length: number
  readonly averageMillis: number
  readonly disrupted: boolean
  /** in the order of the ids */
  readonly tickets?: ReadonlyArray<Beat>
}

const beatOf = (s: Step, id: string): Beat => {
  const { context, db, keys, now } = s
  const presentUntil = now + context.seenMillis
  const rank = db.zrank(keys.waiting, id)
  if (rank !== undefined) {
    if (presentUntil > (db.zscore(keys.presence, id) ?? 0)) db.zadd(keys.presence, presentUntil, id)
    return { state: "waiting", position: rank + 1 }
  }
  const ticket = load(s, id)
  // one that waits and stands nowhere is none
  if (ticket === undefined || ticket.state === "waiting") return {}
  if (ticket.state !== "called") return { state: ticket.state }
  const startBefore = turnEnds(s, id, ticket, presentUntil)
  if (startBefore !== undefined) return { state: "called", startBefore, lease: ticket.lease ?? "" }
  // the turn has passed, which changed the record
  const missed: State = (ticket as { state: State }).state
  return missed === "waiting" ? { state: missed, position: (db.zrank(keys.waiting, id) ?? 0) + 1 } : { state: missed }
}

export const heartbeat = (s: Step, { ids }: { readonly ids: ReadonlyArray<string> }): Heartbeat => {
  const held = s.db.zcard(s.keys.leases)
  const tickets: Array<Beat> = []
  for (const id of ids) tickets.push(beatOf(s, id))
  if (s.db.zcard(s.keys.leases) < held) callNext(s)
  const averageMillis = meta(s, "averageMillis")
  const found = { length: s.db.zcard(s.keys.waiting), averageMillis, disrupted: isDisrupted(s) }
  return tickets.length === 0 ? found : { ...found, tickets }
}
