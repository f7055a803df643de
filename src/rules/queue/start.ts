/**
 * A called ticket starts in its slot. A start that comes too late frees the slot for the next, unless an outage kept
 * the caller from starting, or the platform cannot be reached: then even a late start is useful as a probe.
 */
import { callNext } from "../call-next.ts"
import { endTicket, freeSlot, isDisrupted, place, type Waiting } from "../line.ts"
import { load, save } from "../load.ts"
import { clockLagMillis, silentSince } from "../outage.ts"
import type { Step } from "../step.ts"
import { START_LEASE_MILLIS } from "./admit.ts"
import { type Ended, type LiveOrEnded, liveOrFailed } from "./standing.ts"

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
  /** another start of the ticket is under way */
  | { readonly _tag: "busy" }
  | LiveOrEnded
  | { readonly _tag: "unknown" }

export const start = (s: Step, { id }: { readonly id: string }): Start => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state === "doubt") return { _tag: "unknown" }
  if (ticket.state === "waiting") return place(s, id, ticket)
  if (ticket.state === "starting") return { _tag: "busy" }
  if (ticket.state === "live") return liveOrFailed(s, id, ticket)
  if (ticket.state !== "called") return { _tag: "ended", state: ticket.state } satisfies Ended
  const deadline = s.db.zscore(s.keys.leases, id) ?? 0
  if (deadline < s.now && silentSince(s, deadline) === undefined && !isDisrupted(s)) {
    freeSlot(s, id, ticket)
    endTicket(s, id, ticket, "missed", "missed")
    callNext(s)
    return { _tag: "ended", state: "missed" }
  }
  ticket.state = "starting"
  ticket.excusedTurns = undefined
  save(s, id, ticket)
  s.db.zadd(s.keys.leases, s.now + START_LEASE_MILLIS + clockLagMillis(s), id)
  return {
    _tag: "starting",
    lease: ticket.lease ?? "",
    data: s.db.hget(s.keys.data, id) ?? "",
    calledAt: ticket.since ?? 0,
    acceptedAt: ticket.accepted,
  }
}
