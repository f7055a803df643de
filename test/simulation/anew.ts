/** What an outage gives to whoever was called: the start window anew, within bounds. Judged by the store's state before a step. */
import { COUNTED_MILLIS, DEAD_MILLIS, MOST_WINDOWS } from "../../src/queue/outage.ts"
import type { Carried } from "./causes.ts"

/** Since when a gate was silent that was not heard of since a moment, the longest silent one, or since when nobody swept. */
export const silentSince = ({ away, before, lastSwept, now, self }: Carried, moment: number): number | undefined => {
  if (away) return lastSwept
  const silent = [...before.gates].flatMap(([gate, at]) =>
    gate !== self && at >= now - DEAD_MILLIS && at < moment ? [at] : [],
  )
  return silent.length === 0 ? undefined : Math.min(...silent)
}

/** When the window of a called ticket ends after an outage since then. */
const anew = ({ before, now, windowMillis }: Carried, id: string, since: number): number => {
  const took = before.tickets.get(id)?.since ?? 0
  const lost = Math.max(0, now - Math.max(since, took) - COUNTED_MILLIS)
  return Math.max(before.leases.get(id) ?? 0, Math.min(now + windowMillis, took + lost + MOST_WINDOWS * windowMillis))
}

/** The end of the window of a ticket that was called before a step and still is after it. */
export const windowAfter = (step: Carried, id: string): number => {
  const { args, away, before, lastSwept, name, now } = step
  const ends = before.leases.get(id) ?? 0
  if (name === "back") return anew(step, id, Number(args[0]))
  if (name === "sweep" && away) return anew(step, id, lastSwept)
  const looks = (name === "touch" && args.slice(1).includes(id)) || (name === "attach" && args[0] === id)
  const since = looks && ends < now ? silentSince(step, ends) : undefined
  return since === undefined ? ends : anew(step, id, since)
}

/** Whether the turn of a called ticket is over at a step that looks at it. */
export const isMissed = (step: Carried, id: string): boolean => {
  const ends = step.before.leases.get(id) ?? 0
  if (ends >= step.now) return false
  if (silentSince(step, ends) === undefined) return true
  // a look gives the window anew, as far as there are windows left
  return ["touch", "attach"].includes(step.name) && windowAfter(step, id) < step.now
}
