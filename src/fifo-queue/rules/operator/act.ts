/**
 * The actions of an operator on a campaign. Each is one step, written to the audit log in the same step.
 *
 * An action names a waiting ticket by its `seq`, and a slot by its lease and deadline, as the operator's page showed them. Neither
 * is used twice, so an action has no effect on a ticket or slot that has changed in the meantime.
 */

import { ALL, textOf } from "../../../store/rules/native.ts"
import type { Action, Performed } from "../../operator/actions.ts"
import { shortHash } from "../../short-hash.ts"
import { callNext, callUpTo } from "../shared/call-next.ts"
import { bindDoubt, dropDoubt, firstUnknown } from "../shared/doubt.ts"
import { stop } from "../shared/ending.ts"
import { clearPause, dequeue, endSession, endTicket, freeSlot, isPaused } from "../shared/line.ts"
import { loadHolder, loadWaiting } from "../shared/load.ts"
import { meta, type Step } from "../shared/step.ts"
import type { Ticket } from "../shared/ticket.ts"
import { addAuditLine, hashOfHolder } from "./audit-log.ts"
import { type EndCalls, endCalls } from "./end-calls.ts"

/** `until` in the store's time, and `untilText` the same for the audit log. */
interface Pause extends Extract<Action, { readonly type: "pause" }> {
  readonly untilText?: string
}

/**
 * `claimMillis`: how long the gate has to end a running session at the platform (ms). Absent when the platform cannot end sessions;
 * then the slot is freed at once.
 */
interface End extends Extract<Action, { readonly type: "end" }> {
  readonly claimMillis?: number
  /** the sessions that the platform reports for a start in doubt, each given by its ids: a running one is ended like any other */
  readonly candidates?: ReadonlyArray<ReadonlyArray<string>>
}

/**
 * The settings of an instance have changed. Changes nothing in the campaign; the audit log keeps the names of the changed settings, and
 * `changes` (JSON).
 */
interface SettingsChange {
  readonly type: "settings"
  readonly changed: string
  readonly changes: string
}

/** Events are sent to the host again. Changes nothing in the queue; the audit log keeps which. */
interface RedeliveredEvents {
  readonly type: "redeliver"
  readonly target: string
}

/** A caller is forgotten. Changes nothing in the queue; `target` names no caller. */
interface ForgottenCaller {
  readonly type: "forget"
  readonly target: string
}

/** An address is blocked, or its block is lifted, at all campaigns. Changes nothing in the queue; the audit log keeps which. */
interface OrderedBlock {
  readonly type: "block" | "unblock"
  readonly target: string
}

/** An action with what the gate adds to it. */
export type QueueAction =
  | Exclude<Action, { readonly type: "end_calls" }>
  | Pause
  | End
  | EndCalls
  | SettingsChange
  | RedeliveredEvents
  | ForgottenCaller
  | OrderedBlock

/** An outcome, and what the audit log records instead of its `ticket` and `result`, if that differs. */
interface LoggedOutcome extends Performed {
  readonly loggedTarget?: string
  readonly loggedResult?: string
}

/** Begins or ends draining. While the campaign drains, newcomers are refused and waiting tickets are served. */
const setDraining = (s: Step, type: "drain" | "reopen"): LoggedOutcome => {
  const on = type === "drain"
  const result = (meta(s, "draining") === 1) === on ? "already" : "done"
  if (on) s.db.hset(s.keys.meta, "draining", "1")
  else s.db.hdel(s.keys.meta, "draining")
  return { result, ticket: "-" }
}

/**
 * Pauses the campaign, or changes when its pause ends. While it is paused, nobody is called and newcomers queue; a called ticket may still
 * start. A pause until a time that has passed changes nothing: it would end another one.
 */
const pause = (s: Step, { until = 0, untilText }: Pause): LoggedOutcome => {
  const target = untilText === undefined ? {} : { loggedTarget: untilText }
  if (until > 0 && until <= s.now) return { result: "gone", ticket: "-", ...target }
  const same = isPaused(s) && meta(s, "pausedUntil") === until
  s.db.hset(s.keys.meta, "paused", "1")
  if (until === 0) s.db.hdel(s.keys.meta, "pausedUntil")
  else s.db.hset(s.keys.meta, "pausedUntil", textOf(until))
  const result = same ? "already" : "done"
  return until > 0 ? { result, ticket: "-", ...target, pausedUntil: until } : { result, ticket: "-", ...target }
}

const resume = (s: Step): LoggedOutcome => {
  const result = isPaused(s) ? "done" : "already"
  clearPause(s)
  callNext(s)
  return { result, ticket: "-" }
}

/** Calls the oldest present ticket to a free slot, even during a backoff or pause. */
const callOne = (s: Step): LoggedOutcome => {
  if (s.db.zcard(s.keys.leases) >= s.slots) return { result: "no_slot", ticket: "-" }
  if (callUpTo(s, 1, true)) return { result: "more", ticket: "-" }
  return s.lastCalled === undefined
    ? { result: "nobody", ticket: "-" }
    : { result: "called", ticket: shortHash(s.lastCalled) }
}

/** Also notifies its holder. Its quota is not given back. */
const removeWaiting = (s: Step, seq: number): LoggedOutcome => {
  const id = s.db.zrangebyscore(s.keys.waiting, seq, seq, 1)[0]
  const ticket = id === undefined ? undefined : loadWaiting(s, id)
  if (id === undefined || ticket === undefined) return { result: "gone", ticket: "-", loggedTarget: `#${textOf(seq)}` }
  dequeue(s, id, ticket)
  endTicket(s, id, ticket, "removed")
  callNext(s)
  return { result: "removed", ticket: shortHash(id) }
}

/**
 * Ends the session of a live ticket. With `claimMillis`, a session that has begun is to be ended at the platform first. Without, the slot
 * is freed at once, though the session may run on.
 */
const endLive = (s: Step, id: string, holder: Ticket, who: string, claimMillis: number | undefined): LoggedOutcome => {
  const ticket = hashOfHolder(id, holder)
  const runs = holder.offerBefore === undefined
  if (runs && claimMillis !== undefined) {
    const deadline = stop(s, id, holder, who, claimMillis)
    const session = { data: s.db.hget(s.keys.data, id) ?? "", deadline }
    return { result: "ending", ticket, loggedResult: "ending_live", session }
  }
  holder.stoppedBy = undefined
  endSession(s, id, holder, "stopped")
  return runs
    ? { result: "freed", ticket, loggedResult: "freed_live" }
    : { result: "ended", ticket, loggedResult: "ended_live" }
}

/**
 * Also notifies its holder. A start in progress finds its lease stale and ends its session
 * (`gatekeeper/calls/Starts.ts`).
 */
const endLease = (s: Step, who: string, { candidates, claimMillis, deadline, lease }: End): LoggedOutcome => {
  for (const id of s.db.zrangebyscore(s.keys.leases, deadline, deadline, ALL)) {
    const holder = loadHolder(s, id)
    if (holder !== undefined && holder.lease === lease) {
      const ticket = hashOfHolder(id, holder)
      if (holder.state === "live") {
        const outcome = endLive(s, id, holder, who, claimMillis)
        if (outcome.result !== "ending") callNext(s)
        return outcome
      }
      if (holder.state === "doubt") {
        const sessions = claimMillis === undefined ? undefined : firstUnknown(s, candidates ?? [])
        if (sessions === undefined) dropDoubt(s, id, holder)
        else bindDoubt(s, id, holder, sessions)
        const outcome = sessions === undefined ? undefined : endLive(s, id, holder, who, claimMillis)
        callNext(s)
        return outcome ?? { result: "freed", ticket, loggedResult: "ended_in_doubt" }
      }
      const loggedResult = `ended_${holder.state}`
      freeSlot(s, id, holder)
      endTicket(s, id, holder, "removed")
      callNext(s)
      return { result: "ended", ticket, loggedResult }
    }
  }
  return { result: "gone", ticket: "-", loggedTarget: `#${lease}` }
}

const perform = (s: Step, who: string, action: QueueAction): LoggedOutcome => {
  if (action.type === "call") return callOne(s)
  if (action.type === "remove") return removeWaiting(s, action.seq)
  if (action.type === "end") return endLease(s, who, action)
  if (action.type === "end_calls") return endCalls(s, who, action)
  if (action.type === "settings") return { result: "done", ticket: "-", loggedTarget: action.changed }
  const isNoted =
    action.type === "redeliver" || action.type === "forget" || action.type === "block" || action.type === "unblock"
  if (isNoted) return { result: "done", ticket: "-", loggedTarget: action.target }
  if (action.type === "pause") return pause(s, action)
  return action.type === "resume" ? resume(s) : setDraining(s, action.type)
}

/** Also adds a line to the audit log. */
export const act = (s: Step, { action, who }: { readonly action: QueueAction; readonly who: string }): Performed => {
  const { calls, loggedResult, loggedTarget, next, pausedUntil, result, session, ticket } = perform(s, who, action)
  const changes = action.type === "settings" ? action.changes : undefined
  // of many pages, those without a call have no line, but the first has
  const isLogged = calls !== 0 || action.type !== "end_calls" || action.page === undefined
  if (isLogged) addAuditLine(s, who, action.type, loggedTarget ?? ticket, loggedResult ?? result, changes)
  if (calls !== undefined) return next === undefined ? { result, ticket, calls } : { result, ticket, calls, next }
  const outcome = session === undefined ? { result, ticket } : { result, ticket, session }
  return pausedUntil === undefined ? outcome : { ...outcome, pausedUntil }
}
