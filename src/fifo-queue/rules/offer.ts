/**
 * Takes the offer with which the session of a live ticket begins, once. The ticket is starting again while the platform
 * is asked, and the outcome is `bind` or `fail`, as for any start. The slot stays the same under the same lease;
 * `offered` keeps a late repetition of the first `bind` from allowing a second offer.
 */

import type { Offered } from "../answers.ts"
import { START_LEASE_MILLIS } from "../bounds.ts"
import { callNext } from "./shared/call-next.ts"
import { missOffer } from "./shared/expiry.ts"
import { load, save } from "./shared/load.ts"
import { clockLagMillis } from "./shared/outage.ts"
import type { Step } from "./shared/step.ts"

export interface Offer {
  readonly id: string
  /** the session that begins with the offer */
  readonly session: string
  /** stored with the ticket from now on, as before its start */
  readonly data: string
}

export const offer = (s: Step, { data, id, session }: Offer): Offered => {
  const ticket = load(s, id)
  // nobody may begin a start in doubt, or its session
  if (ticket === undefined || ticket.state === "doubt" || ticket.seq === 0) return { _tag: "unknown" }
  const { state } = ticket
  if (state === "waiting" || state === "called" || state === "starting") return { _tag: "used" }
  if (state !== "live") return { _tag: "ended", state }
  const sessions = ticket.sessions ?? []
  let isOwn = false
  for (const each of sessions) if (each === session) isOwn = true
  if (!isOwn) return { _tag: "foreign" }
  if (ticket.offerBefore === undefined) return { _tag: "used" }
  if (ticket.offerBefore < s.now) {
    missOffer(s, id, ticket)
    callNext(s)
    return { _tag: "ended", state: "missed" }
  }
  for (const each of sessions) s.db.hdel(s.keys.sessions, each)
  s.db.hincrby(s.keys.meta, "live", -1)
  s.db.hset(s.keys.data, id, data)
  s.db.zadd(s.keys.leases, s.now + START_LEASE_MILLIS + clockLagMillis(s), id)
  ticket.state = "starting"
  ticket.sessions = undefined
  ticket.offerBefore = undefined
  ticket.offered = true
  save(s, id, ticket)
  return { _tag: "starting", lease: ticket.lease ?? "" }
}
