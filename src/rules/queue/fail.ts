/**
 * The platform has not started the session, for one of these reasons:
 *
 * - `capacity`: every slot of the platform is taken. The ticket goes back to its own place, and the campaign backs off: for a time
 *   that doubles, until a session ends or starts, and stays short while none is live; starts that were under way together and are
 *   refused together count as one.
 * - `limited`: the platform limits the key's requests. The same, but the campaign backs off for the first time and no longer: that says
 *   nothing about free slots.
 * - `elsewhere`: this gate does not serve the campaign, and the platform was not asked. The same as `limited`, and nothing is known of
 *   the platform.
 * - `disrupted`: the platform cannot be reached, and that is no caller's doing. The same as `capacity`; until a start is answered
 *   again, one ticket at a time is called to find out.
 * - `answered`: the platform failed, perhaps because of what this caller sent, and no session runs. The ticket keeps its place
 *   and is not called for a moment; the others are. When others have begun their calls between its failures, twice, it has failed.
 * - `doubt`: the same, but a session may run. The slot stays held, and the ticket is not called, until that is known.
 * - `failed`, `refused`: the ticket has failed. Its quota is given back unless the platform refused what the caller sent.
 *
 * What is said of a start that is in doubt meanwhile, because its time was over, decides that: no session runs.
 */
import { callNext, platformReached } from "../call-next.ts"
import { doubtOf, dropDoubt, holdInDoubt, parkMillis } from "../doubt.ts"
import { endTicket, freeSlot, isBackingOff, park, place, requeue, type Waiting } from "../line.ts"
import { load } from "../load.ts"
import { meta, type Step } from "../step.ts"
import { doubtId, type Ticket } from "../ticket.ts"

/** A ticket whose start failed so often, each time after others had begun their calls, has failed for a reason of its own. */
const STRIKES = 3
/** How long a full platform is left alone at first and at most, and at most while no call runs whose end would say that there is room. */
export const BACKOFF_FIRST_MILLIS = 2_000
export const BACKOFF_LONGEST_MILLIS = 60_000
export const BACKOFF_IDLE_MILLIS = 5_000
/** How long an unreachable platform is left alone: the first time, doubled each time, and at most. */
export const DISRUPTED_FIRST_MILLIS = 1_000
export const DISRUPTED_LONGEST_MILLIS = 10_000
/** How long a campaign backs off at most when the platform limits the key's requests. */
export const LIMITED_LONGEST_MILLIS = 5_000

export type FailReason =
  | "capacity"
  | "limited"
  | "elsewhere"
  | "disrupted"
  | "answered"
  | "doubt"
  | "failed"
  | "refused"

export interface FailedStart {
  readonly id: string
  readonly lease: string
  readonly reason: FailReason
  /** how long the platform asks to be left alone, where it does (ms) */
  readonly millis?: number
}

export type Failed = Waiting | { readonly _tag: "failed" } | { readonly _tag: "stale" }

/** The start failed for a reason that may be this caller's alone. */
const strike = (s: Step, id: string, ticket: Ticket, inDoubt: boolean): Failed => {
  s.db.hdel(s.keys.meta, "probeUntil")
  const started = meta(s, "started")
  let strikes = ticket.strikes ?? 0
  if (ticket.strikeMark !== started) strikes = strikes + 1
  ticket.strikes = strikes
  ticket.strikeMark = started
  ticket.failures = (ticket.failures ?? 0) + 1
  let parkedUntil = s.now + parkMillis(ticket)
  if (inDoubt) parkedUntil = holdInDoubt(s, id, ticket)
  else freeSlot(s, id, ticket)
  if (strikes === STRIKES) {
    endTicket(s, id, ticket, "failed", "refund")
    callNext(s)
    return { _tag: "failed" }
  }
  requeue(s, id, ticket, s.now + s.context.seenMillis)
  park(s, id, parkedUntil)
  callNext(s)
  return place(s, id)
}

/** How long the campaign backs off (ms). */
const backoffMillis = (s: Step, reason: FailReason, millis: number): number => {
  if (reason === "limited" || reason === "elsewhere") return Math.min(Math.max(1, millis), LIMITED_LONGEST_MILLIS)
  const n = Math.min(s.db.hincrby(s.keys.meta, "backoffs", 1), 20)
  if (reason === "disrupted") {
    return Math.min(Math.max(millis, DISRUPTED_FIRST_MILLIS) * 2 ** (n - 1), DISRUPTED_LONGEST_MILLIS)
  }
  const longest = meta(s, "live") > 0 ? BACKOFF_LONGEST_MILLIS : BACKOFF_IDLE_MILLIS
  return Math.min(BACKOFF_FIRST_MILLIS * 2 ** (n - 1), longest)
}

export const fail = (s: Step, { id, lease, millis, reason }: FailedStart): Failed => {
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state !== "starting" || ticket.lease !== lease) {
    const doubt = reason === "doubt" ? undefined : doubtOf(s, id, lease)
    if (doubt !== undefined) {
      dropDoubt(s, doubtId(lease), doubt)
      callNext(s)
    }
    return { _tag: "stale" }
  }
  if (reason === "answered" || reason === "doubt") return strike(s, id, ticket, reason === "doubt")
  freeSlot(s, id, ticket)
  if (reason === "failed" || reason === "refused") {
    endTicket(s, id, ticket, "failed", reason === "failed" ? "refund" : "release")
    platformReached(s)
    callNext(s)
    return { _tag: "failed" }
  }
  requeue(s, id, ticket, s.now + s.context.seenMillis)
  if (reason === "disrupted") {
    s.db.hset(s.keys.meta, "disrupted", "1")
    s.db.hdel(s.keys.meta, "probeUntil")
  } else if (reason !== "elsewhere") {
    platformReached(s)
  }
  if (!isBackingOff(s)) s.db.hset(s.keys.meta, "backoffUntil", `${s.now + backoffMillis(s, reason, millis ?? 0)}`)
  return place(s, id)
}
