/**
 * How an outage renews the start window of a called ticket, within bounds. Computed from the store's state before a
 * step.
 */
import {
  COUNTED_OUTAGE_MILLIS,
  DEAD_MILLIS,
  HIDDEN_WINDOWS,
  MAX_WINDOWS,
  SILENT_AFTER_MILLIS,
} from "../../src/fifo-queue/rules/shared/outage.ts"
import type { Carried } from "./carried.ts"

/** The last time that a gate was seen which was not seen since a moment, or the last sweep if nobody sweeps. */
export const silentSince = ({ away, before, lastSwept, now, self }: Carried, moment: number): number | undefined => {
  if (away) return lastSwept
  const silent = [...before.gates].flatMap(([gate, at]) =>
    gate !== self && at >= now - DEAD_MILLIS && at < moment ? [at] : [],
  )
  return silent.length === 0 ? undefined : Math.min(...silent)
}

/** A turn: when its window ends, and since when it lasts, not counting outages. */
interface Turn {
  readonly ends: number
  readonly since: number
  /** when it began, not counting outages of all gates */
  readonly calledAt: number
}

/** A turn after an outage that was not given back yet since a moment. */
const anew = ({ away, now, windowMillis }: Carried, { calledAt, ends, since }: Turn, outage: number): Turn => {
  const lost = Math.max(0, now - outage - COUNTED_OUTAGE_MILLIS)
  const called = away ? Math.min(calledAt + lost, now) : calledAt
  const lasts = lost > 0 ? Math.max(since, Math.min(since + lost, now, called + DEAD_MILLIS)) : since
  return {
    since: lasts,
    calledAt: called,
    ends: Math.max(ends, Math.min(now + windowMillis, lasts + MAX_WINDOWS * windowMillis)),
  }
}

/** The turn of a ticket that was called before a step and still is after it. It lasts longer for a page that says it is hidden. */
export const turnAfter = (step: Carried, id: string): Turn => {
  const turn = renewedBy(step, id)
  return step.name === "attach" && step.call.id === id && step.call.hidden === true
    ? { ...turn, ends: Math.max(turn.ends, turn.since + HIDDEN_WINDOWS * step.windowMillis) }
    : turn
}

/** The turn as outages have renewed it. */
const renewedBy = (step: Carried, id: string): Turn => {
  const { away, before, lastSwept, now } = step
  const was = before.tickets.get(id)
  const turn = { ends: before.leases.get(id) ?? 0, since: was?.since ?? 0, calledAt: was?.calledAt ?? 0 }
  const forgiven = before.meta.get("forgivenAt") ?? 0
  if (step.name === "reportOutage") {
    // a start that is taken back has a whole window again
    const longest = turn.since + MAX_WINDOWS * step.windowMillis
    const ends = was?.state === "starting" ? Math.min(now + step.windowMillis, longest) : turn.ends
    return anew(step, { ...turn, ends }, Math.max(step.call.since, forgiven))
  }
  if (step.name === "sweep" && away) return anew(step, turn, Math.max(lastSwept, forgiven))
  const looks =
    (step.name === "heartbeat" && step.call.ids.includes(id)) || (step.name === "attach" && step.call.id === id)
  const silent = looks && turn.ends < now ? silentSince(step, turn.ends) : undefined
  // the next sweep of that gate is not due yet
  if (silent !== undefined && now - silent <= SILENT_AFTER_MILLIS) {
    const longest = turn.since + MAX_WINDOWS * step.windowMillis
    return { ...turn, ends: Math.max(turn.ends, Math.min(now + COUNTED_OUTAGE_MILLIS, longest)) }
  }
  return silent === undefined ? turn : anew(step, turn, Math.max(silent, turn.ends))
}

/** Whether the turn of a called ticket is over at a step that examines it. */
export const isMissed = (step: Carried, id: string): boolean => {
  const ends = step.before.leases.get(id) ?? 0
  if (ends >= step.now) return false
  if (silentSince(step, ends) === undefined) return true
  // a sweep after an unattended time first renews the window, and then examines it as usual
  if (step.name === "sweep" && step.away) {
    const { ends: anew } = turnAfter(step, id)
    return anew < step.now && silentSince({ ...step, away: false }, anew) === undefined
  }
  // a query renews the window, as far as the bound allows
  return ["heartbeat", "attach"].includes(step.name) && renewedBy(step, id).ends < step.now
}
