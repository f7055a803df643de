/**
 * The outcome of an attempt to deliver an event. A delivered event is done, whoever says so. Any other outcome counts only of the last
 * attempt: the gate of an earlier one took longer than its lease, and another gate has repeated it.
 */
import type { Db } from "../../store/rules/db.ts"
import { textOf } from "../../store/rules/native.ts"
import type { SettledEvent } from "../answers.ts"
import { logOf, recordOf, saveRecord, unqueue } from "./shared/log.ts"

export interface Outcome {
  readonly chain: string
  readonly seq: number
  readonly attempt: number
  /** `retry`: at `at`; `failed`: given up */
  readonly outcome: "delivered" | "retry" | "failed"
  readonly at: number
  readonly status?: number
  readonly error?: string
  /** the receiver wants no more until then (ms) */
  readonly stopUntil?: number
}

export const settleEvent = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { at, attempt, chain, error, outcome, seq, status, stopUntil }: Outcome,
): SettledEvent => {
  const log = logOf(db, keys, now)
  const record = recordOf(log, seq)
  const isPending = db.zscore(log.keys.pending, textOf(seq)) !== undefined
  // done by another attempt, or dropped
  if (record === undefined || !isPending) return { counted: false, next: false }
  if (outcome !== "delivered" && record.attempts !== attempt) return { counted: false, next: false }
  saveRecord(log, seq, { attempts: record.attempts, at: record.at, status, error })
  if (outcome === "delivered") db.hset(log.keys.state, "deliveredAt", textOf(now))
  if (stopUntil !== undefined) db.hset(log.keys.state, "stoppedUntil", textOf(stopUntil))
  else if (outcome === "delivered") db.hdel(log.keys.state, "stoppedUntil")
  if (outcome === "retry") {
    db.zadd(log.keys.due, at, chain)
    return { counted: true, next: at <= now }
  }
  if (outcome === "failed") db.zadd(log.keys.failed, seq, textOf(seq))
  const left = unqueue(log, chain, seq)
  if (left.length > 0) db.zadd(log.keys.due, now, chain)
  return { counted: true, next: left.length > 0 }
}
