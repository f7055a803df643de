/** Counts anew what is counted step by step: a record that is none, or an older version beside this one, leaves counts that are off. */
import { countTicket, enqueue } from "../line.ts"
import { loadHolder, loadWaiting } from "../load.ts"
import { ALL } from "../native.ts"
import { meta, type Step } from "../step.ts"

/** How often (ms). */
export const RECOUNT_MILLIS: number = 10 * 60_000
/** With more slots taken and places together than this it is not: it would keep the store from others for too long. */
export const RECOUNT_MOST = 2_000

const isUneven = (s: Step): boolean => s.db.zcard(s.keys.presence) !== s.db.zcard(s.keys.waiting)

export const isRecountDue = (s: Step, sweptAt: number): boolean => {
  const due = sweptAt > 0 && Math.floor(sweptAt / RECOUNT_MILLIS) !== Math.floor(s.now / RECOUNT_MILLIS)
  if (!due && !isUneven(s) && meta(s, "recount") !== 1) return false
  return s.db.zcard(s.keys.leases) + s.db.zcard(s.keys.waiting) <= RECOUNT_MOST
}

const setCount = (s: Step, field: string, to: number): void => {
  if (to === 0) s.db.hdel(s.keys.meta, field)
  else s.db.hset(s.keys.meta, field, `${to}`)
}

export const recount = (s: Step): void => {
  const { context, db, keys, now } = s
  const presentUntil = now + context.seenMillis
  const uneven = isUneven(s)
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
  if (uneven) {
    for (const id of db.zrange(keys.presence, 0, ALL)) {
      const ticket = loadWaiting(s, id)
      if (ticket !== undefined && db.zscore(keys.waiting, id) === undefined) enqueue(s, id, ticket, presentUntil)
    }
  }
  setCount(s, "live", live)
  setCount(s, "doubts", doubts)
}
