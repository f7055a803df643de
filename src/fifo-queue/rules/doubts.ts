/** Starts in doubt: lists them, and resolves one by what the platform reports. */

import { ALL, beginsWith } from "../../store/rules/native.ts"
import type { Doubt, Doubts, Resolved } from "../answers.ts"
import { callNext } from "./shared/call-next.ts"
import { bindDoubt, dropDoubt, firstUnknown } from "./shared/doubt.ts"
import { endBeforeLease, endOrphan } from "./shared/ending.ts"
import { load, loadHolder, save } from "./shared/load.ts"
import { meta, type Step } from "./shared/step.ts"
import { doubtId, type Ticket } from "./shared/ticket.ts"

const MAX_DOUBTS = 200
/** How often the platform must report that it has no such session, since it may list a session late. */
const REQUIRED_LOOKS = 2

/** What the gate needs to search for the session of a start in doubt. */
const detailsOf = (s: Step, id: string, doubt: Ticket): Doubt => ({
  id,
  ticket: doubt.ticket ?? "",
  since: doubt.since ?? 0,
  data: s.db.hget(s.keys.data, id) ?? "",
})

/** The start in doubt of a lease, even while a gate has claimed the check; empty when there is none. */
export const doubtAt = (s: Step, { lease }: { readonly lease: string }): Doubts => {
  const id = doubtId(lease)
  const doubt = load(s, id)
  return doubt === undefined || doubt.state !== "doubt" ? {} : { doubts: [detailsOf(s, id, doubt)] }
}

/**
 * The starts in doubt of at least this age, to check with the platform. One gate at a time claims the check; empty when
 * another has claimed it.
 */
export const doubts = (
  s: Step,
  { ageMillis, claimMillis }: { readonly ageMillis: number; readonly claimMillis: number },
): Doubts => {
  const found: Array<Doubt> = []
  if (meta(s, "doubts") === 0 || meta(s, "askedUntil") > s.now) return {}
  s.db.hset(s.keys.meta, "askedUntil", `${s.now + claimMillis}`)
  for (const id of s.db.zrange(s.keys.leases, 0, ALL)) {
    const doubt = found.length < MAX_DOUBTS && beginsWith(id, "?") ? loadHolder(s, id) : undefined
    if (doubt !== undefined && doubt.state === "doubt") {
      if ((doubt.since ?? 0) <= s.now - ageMillis) found.push(detailsOf(s, id, doubt))
    }
  }
  return found.length === 0 ? {} : { doubts: found }
}

export interface PlatformFindings {
  readonly id: string
  /** the candidates belong to this start alone, so a session found is ended: it has no caller */
  readonly ends?: true
  /** sessions that may belong to the start, each by its ids; absent when there are none */
  readonly candidates?: ReadonlyArray<ReadonlyArray<string>>
}

const isAnyStarting = (s: Step): boolean => {
  for (const id of s.db.zrange(s.keys.leases, 0, ALL)) {
    const holder = loadHolder(s, id)
    if (holder !== undefined && holder.state === "starting") return true
  }
  return false
}

/**
 * A candidate session that belongs to no ticket and has not ended is the session of this start: the slot is held until
 * it ends. When the platform has twice reported none, the slot is freed. While another start is in flight, an
 * unassigned session resolves nothing: callers may share a client identifier, so the session may be that start's.
 */
export const resolve = (s: Step, { candidates, ends, id }: PlatformFindings): Resolved => {
  const doubt = load(s, id)
  if (doubt === undefined || doubt.state !== "doubt") return "stale"
  const sessions = firstUnknown(s, candidates ?? [])
  if (sessions !== undefined) {
    if (isAnyStarting(s)) return "open"
    bindDoubt(s, id, doubt, sessions)
    if (ends === true) endOrphan(s, id, doubt)
    else endBeforeLease(s, id)
    callNext(s)
    return "running"
  }
  const looks = (doubt.looks ?? 0) + 1
  if (looks < REQUIRED_LOOKS) {
    doubt.looks = looks
    save(s, id, doubt)
    return "open"
  }
  // the vendor's own session of this start was, and is over before its length was known: it is billed as the shortest call
  if (ends === true && doubt.billed !== undefined && (candidates ?? []).length > 0) doubt.billed = s.now - 1
  dropDoubt(s, id, doubt)
  callNext(s)
  return "free"
}
