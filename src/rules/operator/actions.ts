/**
 * What an operator can do with a campaign. An action names a ticket by its place (`seq`), a slot by its lease and deadline: both are
 * never given twice, so what has changed meanwhile is not touched.
 */
import { callNext, callUpTo } from "../call-next.ts"
import { dropDoubt } from "../doubt.ts"
import { dequeue, endSession, endTicket, freeSlot } from "../line.ts"
import { loadHolder, loadWaiting } from "../load.ts"
import { ALL, textOf } from "../native.ts"
import { meta, type Step } from "../step.ts"
import { shortHash } from "../ticket.ts"
import { hashOf, note } from "./audit-log.ts"

/** What came of an action, and the short hash of the ticket concerned, or `-`. */
export interface Done<Result extends string> {
  readonly result: Result
  readonly ticket: string
}

export type Switch = "pause" | "resume" | "drain" | "reopen"

/**
 * Turns a switch of the campaign. Paused: nobody is called and newcomers queue; a ticket that was called may start.
 * Draining: newcomers are sent away, those who wait are served.
 */
export const turnSwitch = (
  s: Step,
  { action, who }: { readonly action: Switch; readonly who: string },
): Done<"done" | "already"> => {
  const field = action === "pause" || action === "resume" ? "paused" : "draining"
  const on = action === "pause" || action === "drain"
  const result = (meta(s, field) === 1) === on ? "already" : "done"
  if (on) s.db.hset(s.keys.meta, field, "1")
  else s.db.hdel(s.keys.meta, field)
  note(s, who, action, "-", result)
  if (action === "resume") callNext(s)
  return { result, ticket: "-" }
}

/** Calls the oldest waiting ticket to a free slot now, whatever back-off or pause says. `more`: there are more to look at, ask again. */
export const callOne = (s: Step, { who }: { readonly who: string }): Done<"called" | "no_slot" | "nobody" | "more"> => {
  let result: "called" | "no_slot" | "nobody" | "more" = "nobody"
  let ticket = "-"
  if (s.db.zcard(s.keys.leases) >= s.context.slots) {
    result = "no_slot"
  } else if (callUpTo(s, 1, true)) {
    result = "more"
  } else if (s.lastCalled !== undefined) {
    result = "called"
    ticket = shortHash(s.lastCalled)
  }
  note(s, who, "call", ticket, result)
  return { result, ticket }
}

/** Takes a waiting ticket out of the line and tells its holder. Its quota stays taken. `gone`: nobody waits at that place any more. */
export const remove = (
  s: Step,
  { seq, who }: { readonly seq: number; readonly who: string },
): Done<"removed" | "gone"> => {
  const id = s.db.zrangebyscore(s.keys.waiting, seq, seq, 1)[0]
  const ticket = id === undefined ? undefined : loadWaiting(s, id)
  if (id === undefined || ticket === undefined) {
    note(s, who, "remove", `#${textOf(seq)}`, "gone")
    return { result: "gone", ticket: "-" }
  }
  dequeue(s, id, ticket)
  endTicket(s, id, ticket, "removed")
  note(s, who, "remove", shortHash(id), "removed")
  callNext(s)
  return { result: "removed", ticket: shortHash(id) }
}

/**
 * Ends a lease: its slot is free, its holder is told, and a start that is still under way finds it stale. A session that the
 * platform has started may run on there. `gone`: it is over or has moved on.
 *
 * @param deadline as it was seen (ms since 1970)
 */
export const endLease = (
  s: Step,
  { deadline, lease, who }: { readonly deadline: number; readonly lease: string; readonly who: string },
): Done<"ended" | "gone"> => {
  for (const id of s.db.zrangebyscore(s.keys.leases, deadline, deadline, ALL)) {
    const holder = loadHolder(s, id)
    if (holder !== undefined && holder.lease === lease) {
      const was = holder.state === "doubt" ? "in_doubt" : holder.state
      const ticket = hashOf(id, holder)
      if (holder.state === "live") {
        endSession(s, id, holder, "removed")
      } else if (holder.state === "doubt") {
        dropDoubt(s, id, holder)
      } else {
        freeSlot(s, id, holder)
        endTicket(s, id, holder, "removed")
      }
      note(s, who, "end", ticket, `ended_${was}`)
      callNext(s)
      return { result: "ended", ticket }
    }
  }
  note(s, who, "end", `#${lease}`, "gone")
  return { result: "gone", ticket: "-" }
}
