/**
 * Rebuilds the running counts from the records. An invalid record, or a gate of an older version, can leave them wrong.
 */

import { ALL } from "../../store/rules/native.ts"
import { buildPlaces } from "./shared/fair-places.ts"
import { countTicket, enqueue } from "./shared/line.ts"
import { loadHolder, loadWaiting } from "./shared/load.ts"
import { meta, type Step } from "./shared/step.ts"

export const RECOUNT_MILLIS: number = 10 * 60_000
/** With more leases and waiting tickets than this, counts are not rebuilt: it would keep the store for more than 20 ms. */
export const MAX_RECOUNTED = 700

const hasPresenceMismatch = (s: Step): boolean => s.db.zcard(s.keys.presence) !== s.db.zcard(s.keys.waiting)

export const isRecountable = (s: Step): boolean =>
  s.db.zcard(s.keys.leases) + s.db.zcard(s.keys.waiting) <= MAX_RECOUNTED

export const isRecountDue = (s: Step, sweptAt: number): boolean => {
  const due = sweptAt > 0 && Math.floor(sweptAt / RECOUNT_MILLIS) !== Math.floor(s.now / RECOUNT_MILLIS)
  if (!due && !hasPresenceMismatch(s) && meta(s, "recount") !== 1) return false
  return isRecountable(s)
}

const setCount = (s: Step, field: string, to: number): void => {
  if (to === 0) s.db.hdel(s.keys.meta, field)
  else s.db.hset(s.keys.meta, field, `${to}`)
}

export const recount = (s: Step): void => {
  const { context, db, keys, now } = s
  const presentUntil = now + context.seenMillis
  const presenceMismatch = hasPresenceMismatch(s)
  let live = 0
  let doubts = 0
  db.del(keys.networks)
  db.del(keys.passed)
  db.hdel(keys.meta, "passedSeq")
  db.hdel(keys.meta, "recount")
  for (const id of db.zrange(keys.leases, 0, ALL)) {
    const holder = loadHolder(s, id)
    if (holder !== undefined) {
      countTicket(s, "h", holder, 1)
      if (holder.state === "live") live++
      if (holder.state === "doubt") doubts++
    }
  }
  for (const id of db.zrange(keys.waiting, 0, ALL)) {
    const ticket = loadWaiting(s, id)
    if (ticket !== undefined) {
      countTicket(s, "w", ticket, 1)
      if (db.zscore(keys.presence, id) === undefined) db.zadd(keys.presence, presentUntil, id)
    }
  }
  if (presenceMismatch) {
    for (const id of db.zrange(keys.presence, 0, ALL)) {
      const ticket = loadWaiting(s, id)
      if (ticket !== undefined && db.zscore(keys.waiting, id) === undefined) enqueue(s, id, ticket, presentUntil)
    }
  }
  buildPlaces(s)
  setCount(s, "live", live)
  setCount(s, "doubts", doubts)
}
