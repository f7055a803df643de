/**
 * Running calls with a time limit of their own. It is fixed when the call starts (`endsAt` of the ticket) and does not change. `limits` has
 * the ids of their tickets, by the time when the next thing is due: a warning of the page, or the end. A gate that
 * takes one postpones this time, so no two gates do the same at once; if that gate dies, or the platform does not confirm the end, any gate is
 * given it again. When the call ends, its entry is removed.
 *
 * Gates of an older version know nothing of it: for them such a call ends with its lease. They remove no entry, so one without a running
 * call is removed here.
 */
import { HIGHEST, LOWEST } from "../../store/rules/native.ts"
import type { DueLengths } from "../answers.ts"
import { FIRST_WARNING_MILLIS, LAST_WARNING_MILLIS } from "../bounds.ts"
import { MAX_PER_STEP } from "./shared/expiry.ts"
import { load } from "./shared/load.ts"
import { notify, type Step } from "./shared/step.ts"

/** When the next thing is due of a call that ends then: the first warning that is still to come, else the end. */
export const nextDue = (now: number, endsAt: number): number => {
  if (endsAt - FIRST_WARNING_MILLIS > now) return endsAt - FIRST_WARNING_MILLIS
  return endsAt - LAST_WARNING_MILLIS > now ? endsAt - LAST_WARNING_MILLIS : endsAt
}

export interface LengthsCall {
  /** how long the asking gate may take to end a call, before any gate is given it again (ms) */
  readonly claimMillis: number
  /** the platform can be asked to end a call; otherwise pages are warned, and nothing more is done */
  readonly ends?: true
}

/**
 * How long an end is left to other gates by one that cannot end calls, before it is postponed (ms). Such gates ask every few seconds, and one
 * that can has asked in between.
 */
export const LEFT_TO_OTHERS_MILLIS = 15_000

/** Warns the pages of calls that end soon. Returns what was bound to each session that is to be ended now, and when the next thing is due. */
export const dueLengths = (s: Step, { claimMillis, ends }: LengthsCall): DueLengths => {
  const { db, keys, now } = s
  const found: Array<string> = []
  const due = db.zrangebyscore(keys.limits, LOWEST, now, MAX_PER_STEP)
  for (const id of due) {
    const ticket = load(s, id)
    const endsAt = ticket === undefined || ticket.state !== "live" ? undefined : ticket.endsAt
    if (ticket === undefined || endsAt === undefined) {
      db.zrem(keys.limits, id)
    } else if (now >= endsAt && ends !== true) {
      // another gate may know how: one with other settings, or of another version
      const dueAt = Math.max(endsAt, db.zscore(keys.limits, id) ?? 0)
      if (now >= dueAt + LEFT_TO_OTHERS_MILLIS) db.zadd(keys.limits, now + claimMillis, id)
    } else if (now < endsAt) {
      notify(s, ticket, {
        ticket: id,
        kind: ticket.spent === true ? { _tag: "warning", endsAt, reason: "budget" } : { _tag: "warning", endsAt },
      })
      db.zadd(keys.limits, nextDue(now, endsAt), id)
    } else {
      db.zadd(keys.limits, now + claimMillis, id)
      found.push(db.hget(keys.data, id) ?? "")
    }
  }
  // what is left to other gates is due already
  const from = ends === true || due.length === MAX_PER_STEP ? LOWEST : now + 1
  const first = db.zrangebyscore(keys.limits, from, HIGHEST, 1)[0]
  const nextAt = first === undefined ? undefined : db.zscore(keys.limits, first)
  return {
    ...(found.length === 0 ? {} : { sessions: found }),
    ...(nextAt === undefined ? {} : { nextAt }),
  }
}
