/** Drops events that are too old, or too many, and counts those that were lost by it. */

import { textOf } from "../../store/rules/native.ts"
import { chainOf, eventIn, type Log, unqueue } from "./shared/log.ts"

/** The most events that one step drops. */
export const MAX_DROPPED_PER_STEP = 100

/** How long and how many events are kept. */
export interface Kept {
  readonly retentionMillis: number
  readonly maxStored: number
}

/** Removes an event from the log. True when it was not delivered. */
export const drop = (log: Log, seq: number, text: string): boolean => {
  const { db, keys } = log
  const event = eventIn(text)
  const known = textOf(seq)
  const undelivered = db.zscore(keys.pending, known) !== undefined || db.zscore(keys.failed, known) !== undefined
  if (event !== undefined && undelivered) unqueue(log, chainOf(event), seq)
  db.zrem(keys.pending, known)
  db.zrem(keys.failed, known)
  db.hdel(keys.deliveries, known)
  db.zrem(keys.events, text)
  return undelivered
}

/** True when there is more to drop. */
export const dropOld = (log: Log, { maxStored, retentionMillis }: Kept): boolean => {
  const { db, keys, now } = log
  let over = db.zcard(keys.events) - maxStored
  let lost = 0
  for (let dropped = 0; dropped < MAX_DROPPED_PER_STEP; dropped++) {
    const text = db.zrange(keys.events, 0, 1)[0]
    if (text === undefined) break
    const event = eventIn(text)
    const isOld = event === undefined || event.at < now - retentionMillis
    if (!isOld && over <= 0) break
    const seq = db.zscore(keys.events, text) ?? 0
    const undelivered = drop(log, seq, text)
    if (undelivered || !isOld) lost++
    over--
    db.hset(keys.state, "dropped", textOf(seq))
    if (dropped === MAX_DROPPED_PER_STEP - 1) {
      if (lost > 0) db.hincrby(keys.state, "lost", lost)
      return true
    }
  }
  if (lost > 0) db.hincrby(keys.state, "lost", lost)
  return false
}
