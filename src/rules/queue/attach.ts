/** A connection of the ticket is on this gate now, or somebody asks for the ticket. */
import { callNext } from "../call-next.ts"
import { enqueue, place, type Waiting } from "../line.ts"
import { load, save } from "../load.ts"
import { turnEnds } from "../outage.ts"
import type { Step } from "../step.ts"
import type { Ticket } from "../ticket.ts"
import { type LiveOrOver, liveOrFailed } from "./standing.ts"

/** Where a ticket is, as its holder may ask. */
export type Standing =
  | Waiting
  | { readonly _tag: "called"; readonly startBefore: number; readonly lease: string }
  | { readonly _tag: "starting" }
  | LiveOrOver
  | { readonly _tag: "unknown" }

/** What is left of it when its turn was looked at. */
const standing = (s: Step, id: string, ticket: Ticket): Standing => {
  const { state } = ticket
  if (state === "waiting") return place(s, id)
  if (state === "starting") return { _tag: "starting" }
  if (state === "live") return liveOrFailed(s, id, ticket)
  return state === "called" || state === "doubt" ? { _tag: "unknown" } : { _tag: "over", state }
}

export const attach = (s: Step, { connected, id }: { readonly connected: boolean; readonly id: string }): Standing => {
  const ticket = load(s, id)
  if (ticket === undefined) return { _tag: "unknown" }
  const { context, db, keys, now } = s
  const presentUntil = now + (connected ? context.seenMillis : context.graceMillis)
  if (connected && context.instance !== "" && ticket.instance !== context.instance) {
    ticket.instance = context.instance
    save(s, id, ticket)
  }
  if (ticket.state === "waiting") {
    // one that stands nowhere has its place again
    if (db.zscore(keys.waiting, id) === undefined) enqueue(s, id, ticket, presentUntil)
    else if (presentUntil > (db.zscore(keys.presence, id) ?? 0)) db.zadd(keys.presence, presentUntil, id)
  }
  if (ticket.state === "called") {
    const ends = turnEnds(s, id, ticket, presentUntil)
    if (ends !== undefined) return { _tag: "called", startBefore: ends, lease: ticket.lease ?? "" }
    callNext(s)
  }
  return standing(s, id, ticket)
}
