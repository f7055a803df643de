/**
 * A called ticket takes its slot to start. A call that came too late frees the slot for the next, unless nobody could come, or the
 * platform cannot be reached.
 */
import { callNext } from "../call-next.ts"
import { endTicket, freeSlot, isDisrupted, place, type Waiting } from "../line.ts"
import { load, save } from "../load.ts"
import { behindMillis, silentSince } from "../outage.ts"
import type { Step } from "../step.ts"
import { START_LEASE_MILLIS } from "./admit.ts"
import { type LiveOrOver, liveOrFailed, type Over } from "./standing.ts"

/** `calledAt` and `acceptedAt` in ms since 1970. */
export type Start =
  | {
      readonly _tag: "starting"
      readonly lease: string
      readonly data: string
      readonly calledAt: number
      readonly acceptedAt: number
    }
  | Waiting
  /** another start of it is under way */
  | { readonly _tag: "busy" }
  | LiveOrOver
  | { readonly _tag: "unknown" }

export const start = (s: Step, { id }: { readonly id: string }): Start => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state === "doubt") return { _tag: "unknown" }
  if (ticket.state === "waiting") return place(s, id)
  if (ticket.state === "starting") return { _tag: "busy" }
  if (ticket.state === "live") return liveOrFailed(s, id, ticket)
  if (ticket.state !== "called") return { _tag: "over", state: ticket.state } satisfies Over
  const ends = s.db.zscore(s.keys.leases, id) ?? 0
  if (ends < s.now && silentSince(s, ends) === undefined && !isDisrupted(s)) {
    freeSlot(s, id, ticket)
    endTicket(s, id, ticket, "missed", "missed")
    callNext(s)
    return { _tag: "over", state: "missed" }
  }
  ticket.state = "starting"
  save(s, id, ticket)
  s.db.zadd(s.keys.leases, s.now + START_LEASE_MILLIS + behindMillis(s), id)
  return {
    _tag: "starting",
    lease: ticket.lease ?? "",
    data: s.db.hget(s.keys.data, id) ?? "",
    calledAt: ticket.since ?? 0,
    acceptedAt: ticket.accepted,
  }
}
