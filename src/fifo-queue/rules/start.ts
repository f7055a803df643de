/**
 * A called ticket starts in its slot. A start that comes too late frees the slot for the next, unless an outage kept
 * the caller from starting, or the platform cannot be reached: then even a late start is useful as a probe.
 *
 * A gate that gets no answer to a start gives it up and takes it back (`takeBackStart`), whether it was carried out, is still on its way
 * or was lost: otherwise the ticket would stay `starting` until its lease ends, and nobody would ask the platform.
 */

import type { Ended, Start } from "../answers.ts"
import { START_LEASE_MILLIS } from "../bounds.ts"
import { callNext } from "./shared/call-next.ts"
import { beginBilling } from "./shared/charges.ts"
import { doubtOf, dropDoubt } from "./shared/doubt.ts"
import { endTicket, freeSlot, isDisrupted, place } from "./shared/line.ts"
import { load, save } from "./shared/load.ts"
import { clockLagMillis, MAX_WINDOWS, silentSince } from "./shared/outage.ts"
import type { Step } from "./shared/step.ts"
import { doubtId } from "./shared/ticket.ts"
import { liveOrFailed } from "./standing.ts"

/** A start of a ticket; `attempt` is unique. */
export interface StartAttempt {
  readonly id: string
  readonly attempt: string
}

export const start = (s: Step, { attempt, id }: StartAttempt): Start => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state === "doubt") return { _tag: "unknown" }
  if (ticket.state === "waiting") return place(s, id, ticket)
  if (ticket.state === "starting") return { _tag: "busy" }
  if (ticket.state === "live") return liveOrFailed(s, id, ticket)
  if (ticket.state !== "called") return { _tag: "ended", state: ticket.state } satisfies Ended
  if (ticket.attempt === attempt) return { _tag: "busy" }
  const deadline = s.db.zscore(s.keys.leases, id) ?? 0
  if (deadline < s.now && silentSince(s, deadline) === undefined && !isDisrupted(s)) {
    freeSlot(s, id, ticket)
    endTicket(s, id, ticket, "missed", "missed")
    callNext(s)
    return { _tag: "ended", state: "missed" }
  }
  ticket.state = "starting"
  ticket.attempt = attempt
  ticket.excusedTurns = undefined
  beginBilling(s, ticket)
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

/**
 * A gate has given up this attempt, and told the caller so. The ticket is called again, in the same slot and with a new start window, at
 * most `MAX_WINDOWS` in one turn. If the slot is already held in doubt, it is freed: the platform was never asked. The attempt is not
 * carried out any more if it still arrives.
 */
export const takeBackStart = (s: Step, { attempt, id }: StartAttempt): void => {
  const ticket = load(s, id)
  if (ticket === undefined) return
  if (ticket.state === "called") {
    ticket.attempt = attempt
    save(s, id, ticket)
  } else if (ticket.attempt === attempt && ticket.state === "starting") {
    ticket.state = "called"
    save(s, id, ticket)
    const { windowMillis } = s.context
    s.db.zadd(s.keys.leases, Math.min(s.now + windowMillis, (ticket.since ?? s.now) + MAX_WINDOWS * windowMillis), id)
  } else if (ticket.attempt === attempt && ticket.lease !== undefined) {
    const doubt = doubtOf(s, id, ticket.lease)
    if (doubt !== undefined) dropDoubt(s, doubtId(ticket.lease), doubt)
  }
}
