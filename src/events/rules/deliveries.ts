/** What operators see of deliveries, and how they have events sent again. */
import type { Db } from "../../store/rules/db.ts"
import { HIGHEST, numberOf, textOf } from "../../store/rules/native.ts"
import type { DeliveryRow, DeliveryRows, Redelivered } from "../answers.ts"
import {
  chainOf,
  eventIn,
  firstsOf,
  type Log,
  logOf,
  queue,
  recordOf,
  saveRecord,
  stateOf,
  textAt,
} from "./shared/log.ts"

export type DeliveryFilter = "all" | "pending" | "failed"

export interface DeliveryPage {
  readonly filter: DeliveryFilter
  /** only events before this number; 0 for the newest */
  readonly before: number
  readonly count: number
}

const deliveryState = (log: Log, seq: number, tried: boolean): DeliveryRow["state"] => {
  if (log.db.zscore(log.keys.failed, textOf(seq)) !== undefined) return "failed"
  if (log.db.zscore(log.keys.pending, textOf(seq)) !== undefined) return "pending"
  return tried ? "delivered" : "unsent"
}

const deliveryRow = (log: Log, text: string): DeliveryRow | undefined => {
  const event = eventIn(text)
  if (event === undefined) return undefined
  const record = recordOf(log, event.seq)
  const state = deliveryState(log, event.seq, record !== undefined)
  const due = state === "pending" ? log.db.zscore(log.keys.due, chainOf(event)) : undefined
  const first = firstsOf(log, [text])[0]
  return {
    event: text,
    state,
    ...(first === undefined ? {} : { first }),
    ...(record === undefined ? {} : { attempts: record.attempts, at: record.at }),
    ...(record?.status === undefined ? {} : { status: record.status }),
    ...(record?.error === undefined ? {} : { error: record.error }),
    ...(due === undefined ? {} : { due }),
  }
}

/** A page of deliveries, newest event first. */
export const listDeliveries = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { before, count, filter }: DeliveryPage,
): DeliveryRows => {
  const log = logOf(db, keys, now)
  const key = filter === "failed" ? log.keys.failed : filter === "pending" ? log.keys.pending : log.keys.events
  const end = before === 0 ? db.zcard(key) : db.zcard(key) - db.zcountFrom(key, before)
  const from = Math.max(0, end - count)
  const members = end <= 0 ? [] : db.zrange(key, from, end - from)
  const rows: Array<DeliveryRow> = []
  for (let i = members.length - 1; i >= 0; i--) {
    const member = members[i] ?? ""
    const row = deliveryRow(log, filter === "all" ? member : (textAt(log, numberOf(member)) ?? ""))
    if (row !== undefined) rows.push(row)
  }
  const pending = db.zcard(log.keys.pending)
  const oldest = pending === 0 ? undefined : eventIn(textAt(log, db.zscoresByRank(log.keys.pending, 0, 1)[0] ?? 0))
  const deliveredAt = stateOf(log, "deliveredAt")
  const stoppedUntil = stateOf(log, "stoppedUntil")
  return {
    more: from > 0,
    pending,
    ...(oldest === undefined ? {} : { oldestAt: oldest.at }),
    ...(deliveredAt === 0 ? {} : { lastDeliveredAt: deliveredAt }),
    ...(stoppedUntil > now ? { stoppedUntil } : {}),
    failed: db.zcard(log.keys.failed),
    stored: db.zcard(log.keys.events),
    lost: stateOf(log, "lost"),
    ...(rows.length === 0 ? {} : { rows }),
  }
}

/** Queues an event once more. Its attempts begin again. */
const queueAgain = (log: Log, seq: number, text: string): void => {
  const event = eventIn(text)
  if (event === undefined) return
  const record = recordOf(log, seq)
  log.db.zrem(log.keys.failed, textOf(seq))
  saveRecord(log, seq, { at: log.now, status: record?.status, error: record?.error, attempts: 0 })
  queue(log, chainOf(event), seq)
  log.db.hdel(log.keys.state, "stoppedUntil")
}

/** Which events are to be sent again: one by its number, or those that were given up. */
export interface Redelivery {
  readonly seq?: number
  /** of those that were given up, only after this number */
  readonly after: number
  /** and of events that happened between these times (ms) */
  readonly from: number
  readonly to: number
  readonly count: number
}

export const redeliver = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { after, count, from, seq, to }: Redelivery,
): Redelivered => {
  const log = logOf(db, keys, now)
  if (seq !== undefined) {
    const text = textAt(log, seq)
    if (text === undefined) return { queued: 0, next: 0 }
    // one that is pending is sent anyway, perhaps at this moment
    if (db.zscore(log.keys.pending, textOf(seq)) !== undefined) return { queued: 0, next: 0, pending: true }
    queueAgain(log, seq, text)
    return { queued: 1, next: 0 }
  }
  const members = db.zrangebyscore(log.keys.failed, after + 1, HIGHEST, count)
  let queued = 0
  let last = after
  for (const member of members) {
    last = numberOf(member)
    const text = textAt(log, last)
    const at = eventIn(text)?.at
    if (text === undefined || at === undefined) {
      db.zrem(log.keys.failed, member)
    } else if (at >= from && at <= to) {
      queueAgain(log, last, text)
      queued++
    }
  }
  return { queued, next: members.length === count ? last : 0 }
}
