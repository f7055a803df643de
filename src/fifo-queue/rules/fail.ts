/**
 * The platform has not started the session, for one of these reasons:
 *
 * - `capacity`: the platform has no free slot. The ticket returns to its own place and the campaign backs off until a
 *   session ends or starts, or the backoff passes. The backoff doubles each time, and stays short while no session is
 *   live. Starts that were in flight together and are refused together count once. Afterwards one caller more than run is
 *   called, then two, then four, as long as they start (`./shared/platform-limit.ts`).
 * - `limited`: the platform limits the key's requests. Like `capacity`, but the backoff does not grow: a request limit
 *   says nothing about free slots.
 * - `elsewhere`: this gate does not serve the campaign and did not ask the platform. Like `limited`, but says nothing
 *   about the platform.
 * - `disrupted`: the platform cannot be reached, whoever the caller is. Like `capacity`; until a start is answered
 *   again, one ticket at a time is called to probe the platform.
 * - `rejected`: the platform refuses what the operator must mend, such as the key. Like `disrupted`, and the ticket is
 *   parked for a moment, so that another one probes: the cause may be this caller's, such as its region. If other calls
 *   have started between its failures, twice, the ticket has failed. The first refusal after a start that has just
 *   succeeded is taken for the ticket's alone. Neither holds for a refused key or account: no caller can cause that.
 * - `answered`: the platform failed, perhaps because of what this caller sent, and no session runs. The ticket keeps
 *   its place and is parked for a moment; others are called. If other calls have started between its failures, twice,
 *   the ticket has failed. When starts fail like this in a row, and nobody's succeeds for a while, the platform counts as
 *   unavailable.
 * - `doubt`: like `answered`, but a session may run. The slot stays held and the ticket is not called until that is
 *   known.
 * - `refused`: the platform refuses what this caller sent. The ticket has failed, and its quota is not given back. When as many in a row
 *   are refused that no caller can be the cause (`./shared/platform-state.ts`), it is like `rejected`.
 * - `unpaid`: a budget has too little for the call, and callers wait until it has more (`./shared/awaited-budgets.ts`). The ticket returns to
 *   its own place. Where it is a budget of its caller, others are called meanwhile (`./shared/own-budgets.ts`); the ticket has failed where too
 *   many wait like that. The platform was not asked.
 * - `failed`: the ticket has failed, and its quota is given back. The platform was not asked.
 *
 * If the start was put in doubt meanwhile, because its deadline passed, any reason but `doubt` resolves the doubt: no
 * session runs.
 */

import type { Failed } from "../answers.ts"
import { isKnownNumber, LIMITED_LONGEST_MILLIS } from "../bounds.ts"
import type { StartFailure } from "../inputs.ts"
import { callNext, markPlatformReachable } from "./shared/call-next.ts"
import { doubtOf, dropDoubt, holdInDoubt, parkMillis } from "./shared/doubt.ts"
import { endTicket, freeSlot, isBackingOff, park, place, requeue } from "./shared/line.ts"
import { load } from "./shared/load.ts"
import { awaitOwn, mayAwaitOwn } from "./shared/own-budgets.ts"
import { limitByPlatform, noteRefusal } from "./shared/platform-limit.ts"
import {
  countFailedStart,
  countRefusedStart,
  mayBeOfCaller,
  noteStartTrouble,
  platformState,
} from "./shared/platform-state.ts"
import { meta, type Step } from "./shared/step.ts"
import { doubtId, type Ticket } from "./shared/ticket.ts"

/**
 * After this many failed starts, with other calls started in between, the ticket itself is the cause and has failed.
 */
const MAX_STRIKES = 3
/**
 * Backoff from a platform at capacity: initial, maximum, and maximum while no call runs whose end would reveal a free
 * slot.
 */
export const INITIAL_BACKOFF_MILLIS = 2_000
export const MAX_BACKOFF_MILLIS = 60_000
export const MAX_IDLE_BACKOFF_MILLIS = 5_000
/** Backoff from an unreachable platform: initial (doubled each time) and maximum. */
export const INITIAL_DISRUPTED_MILLIS = 1_000
export const MAX_DISRUPTED_MILLIS = 10_000

/** How long nobody is called after a budget had too little for one who was (ms). */
export const UNPAID_MILLIS = 1_000

export type FailReason = StartFailure["_tag"]

export interface FailedStart extends Pick<StartFailure, "code" | "setting" | "ends" | "ofAccount" | "spent"> {
  readonly id: string
  readonly lease: string
  readonly reason: FailReason
  /** how long the platform asks to wait, if it does (ms) */
  readonly millis?: number
  /** of `unpaid`: when the caller's own budget begins anew (ms since 1970); absent where it is one of the campaign or the account */
  readonly until?: number
}

const backoffMillis = (s: Step, reason: FailReason, millis: number): number => {
  if (reason === "limited" || reason === "elsewhere") return Math.min(Math.max(1, millis), LIMITED_LONGEST_MILLIS)
  const n = Math.min(s.db.hincrby(s.keys.meta, "backoffs", 1), 20)
  if (reason === "disrupted" || reason === "rejected" || reason === "refused") {
    return Math.min(Math.max(millis, INITIAL_DISRUPTED_MILLIS) * 2 ** (n - 1), MAX_DISRUPTED_MILLIS)
  }
  const max = meta(s, "live") > 0 ? MAX_BACKOFF_MILLIS : MAX_IDLE_BACKOFF_MILLIS
  return Math.min(INITIAL_BACKOFF_MILLIS * 2 ** (n - 1), max)
}

/** Begins a backoff from the platform, unless one is under way. */
const backOff = (s: Step, reason: FailReason, millis: number): void => {
  if (!isBackingOff(s)) s.db.hset(s.keys.meta, "backoffUntil", `${s.now + backoffMillis(s, reason, millis)}`)
}

/** What a start that may have failed for its caller alone says about the platform. */
const noteFailure = (s: Step, { code = "", ofAccount, reason, setting = "" }: FailedStart): void => {
  const isOfPlatform = countFailedStart(s)
  if (reason === "answered" || reason === "doubt") {
    if (isOfPlatform) noteStartTrouble(s, "unavailable", code, setting)
  } else if (reason === "refused" || ofAccount === true || !mayBeOfCaller(s)) {
    noteStartTrouble(s, "rejected", code, setting)
    backOff(s, reason, 0)
  }
}

/** The start failed for a reason that may concern this caller alone. */
const strike = (s: Step, id: string, ticket: Ticket, failed: FailedStart): Failed => {
  const inDoubt = failed.reason === "doubt"
  s.db.hdel(s.keys.meta, "probeUntil")
  noteFailure(s, failed)
  const started = meta(s, "started")
  let strikes = ticket.strikes ?? 0
  if (failed.ofAccount !== true && ticket.strikeMark !== started) strikes = strikes + 1
  ticket.strikes = strikes
  ticket.strikeMark = started
  ticket.failures = (ticket.failures ?? 0) + 1
  let parkedUntil = s.now + parkMillis(ticket)
  if (inDoubt) parkedUntil = holdInDoubt(s, id, ticket)
  else freeSlot(s, id, ticket)
  if (strikes === MAX_STRIKES || failed.ends === true) {
    endTicket(s, id, ticket, "failed", failed.reason === "refused" && failed.ends !== true ? "release" : "refund")
    callNext(s)
    return { _tag: "failed" }
  }
  requeue(s, id, ticket, s.now + s.context.seenMillis)
  park(s, id, parkedUntil)
  callNext(s)
  return place(s, id, ticket)
}

export const fail = (s: Step, failed: FailedStart): Failed => {
  const { code = "", id, lease, millis = 0, reason, setting = "" } = failed
  const ticket = load(s, id)
  if (ticket === undefined || ticket.state !== "starting" || ticket.lease !== lease) {
    const doubt = reason === "doubt" ? undefined : doubtOf(s, id, lease)
    if (doubt !== undefined) {
      dropDoubt(s, doubtId(lease), doubt)
      callNext(s)
    }
    return { _tag: "stale" }
  }
  const refusesEverybody = reason === "refused" && countRefusedStart(s, ticket.network ?? ticket.caller ?? "")
  if (reason === "answered" || reason === "doubt" || reason === "rejected" || refusesEverybody) {
    return strike(s, id, ticket, failed)
  }
  freeSlot(s, id, ticket)
  const isSpent = failed.spent === true || (failed.until !== undefined && !mayAwaitOwn(s))
  if (reason === "failed" || reason === "refused" || isSpent) {
    const state = isSpent ? "budget" : "failed"
    endTicket(s, id, ticket, state, reason === "refused" ? "release" : "refund")
    // the platform may refuse a request before it looks at the key
    const known = platformState(s)
    if (reason !== "refused" || (known !== undefined && known.state === "rejected"))
      s.db.hdel(s.keys.meta, "probeUntil")
    else markPlatformReachable(s)
    callNext(s)
    return { _tag: "failed" }
  }
  requeue(s, id, ticket, s.now + s.context.seenMillis)
  if (reason === "unpaid") {
    // another caller may probe the platform
    s.db.hdel(s.keys.meta, "probeUntil")
    if (failed.until !== undefined) {
      awaitOwn(s, id, ticket.seq, failed.until)
      callNext(s)
      return place(s, id, ticket)
    }
    // a gate with other settings may think that the budget has enough
    if (!isBackingOff(s)) s.db.hset(s.keys.meta, "backoffUntil", `${s.now + UNPAID_MILLIS}`)
    return place(s, id, ticket)
  }
  if (reason === "disrupted") {
    noteStartTrouble(s, "unavailable", code, setting)
    s.db.hdel(s.keys.meta, "probeUntil")
  } else if (reason !== "elsewhere") {
    markPlatformReachable(s)
    // where nobody knows the slots, a refusal beside running calls is their limit
    const isLimit = reason === "capacity" && !isKnownNumber(s.context.slots) && meta(s, "live") > 0
    if (!isLimit) noteStartTrouble(s, reason === "limited" ? "rate_limited" : "at_capacity", code, setting)
  }
  backOff(s, reason, millis)
  if (reason === "capacity") {
    noteRefusal(s, meta(s, "backoffUntil"))
    limitByPlatform(s)
  }
  return place(s, id, ticket)
}
