/**
 * Attaches a connection of a ticket to this gate, or answers a query for the ticket. If the page is `hidden` and the ticket is called,
 * its turn is extended.
 */
import type { TicketSnapshot } from "../answers.ts"
import { callNext } from "./shared/call-next.ts"
import { enqueue, place } from "./shared/line.ts"
import { load, save } from "./shared/load.ts"
import { extendTurn, turnDeadline } from "./shared/outage.ts"
import { keepPresent } from "./shared/presence.ts"
import type { Step } from "./shared/step.ts"
import type { Ticket } from "./shared/ticket.ts"
import { liveOrFailed } from "./standing.ts"

/** The state of a ticket after an expired turn was handled. */
const standing = (s: Step, id: string, ticket: Ticket): TicketSnapshot => {
  const { state } = ticket
  if (state === "waiting") return place(s, id, ticket)
  if (state === "starting") return { _tag: "starting" }
  if (state === "live") return liveOrFailed(s, id, ticket)
  return state === "called" || state === "doubt" ? { _tag: "unknown" } : { _tag: "ended", state }
}

export const attach = (
  s: Step,
  { connected, hidden, id }: { readonly connected: boolean; readonly id: string; readonly hidden?: true },
): TicketSnapshot => {
  const ticket = load(s, id)
  if (ticket === undefined) return { _tag: "unknown" }
  const { context, db, keys, now } = s
  const presentUntil = now + (connected ? context.seenMillis : context.graceMillis)
  if (connected && context.instance !== "" && ticket.instance !== context.instance) {
    ticket.instance = context.instance
    save(s, id, ticket)
  }
  if (ticket.state === "waiting") {
    // a waiting ticket missing from the queue is put back at its place
    if (db.zscore(keys.waiting, id) === undefined) enqueue(s, id, ticket, presentUntil)
    // a poll is written at most twice in a grace, and its caller has at least the grace until the next one
    else if (connected) keepPresent(s, id, presentUntil, 0)
    else keepPresent(s, id, presentUntil + Math.floor(context.graceMillis / 2), context.graceMillis / 2)
  }
  if (ticket.state === "called") {
    const deadline = turnDeadline(s, id, ticket, presentUntil)
    if (deadline !== undefined) {
      const startBefore = hidden === true ? extendTurn(s, id, ticket, deadline) : deadline
      return { _tag: "called", startBefore, lease: ticket.lease ?? "" }
    }
    callNext(s)
  }
  return standing(s, id, ticket)
}
