/**
 * What each gate does for the log once a tick: it drops what is too old, queues new events for delivery, and claims events that are due.
 * Without anything to do this costs a constant, however many events are kept.
 */
import type { Db } from "../../store/rules/db.ts"
import { HIGHEST, LOWEST, textOf } from "../../store/rules/native.ts"
import type { ClaimedEvent, Ticked } from "../answers.ts"
import { dropOld, type Kept } from "./keep.ts"
import {
  chainAt,
  chainOf,
  eventIn,
  firstsOf,
  type Log,
  lastSeq,
  logOf,
  queue,
  recordOf,
  saveRecord,
  stateOf,
  textAt,
  unqueue,
} from "./shared/log.ts"

/** The most events that one step queues for delivery. */
const MAX_QUEUED_PER_STEP = 100

export interface Tick extends Kept {
  /** how many events the gate can send now; absent when events are not sent */
  readonly claim?: number
  /** how long the gate has for an attempt, before any gate may repeat it (ms) */
  readonly leaseMillis: number
}

/** Queues events that delivery has not seen. True when there are more. */
const queueNew = (log: Log): boolean => {
  const { db, keys } = log
  const last = lastSeq(log)
  const indexed = Math.min(stateOf(log, "indexed"), last)
  if (indexed === last) return false
  const texts = db.zrangebyscore(keys.events, indexed + 1, HIGHEST, MAX_QUEUED_PER_STEP)
  let until = last
  for (const text of texts) {
    const event = eventIn(text)
    if (event !== undefined) queue(log, chainOf(event), event.seq)
  }
  const more = texts.length === MAX_QUEUED_PER_STEP
  if (more) until = db.zscore(keys.events, texts[MAX_QUEUED_PER_STEP - 1] ?? "") ?? last
  db.hset(keys.state, "indexed", textOf(until))
  return more
}

/** The first pending event of a ticket that is still kept; those that are not leave the chain. */
const firstPending = (log: Log, chain: string): { readonly seq: number; readonly text: string } | undefined => {
  for (const seq of chainAt(log, chain)) {
    const text = textAt(log, seq)
    if (text !== undefined) return { seq, text }
    unqueue(log, chain, seq)
  }
  // a chain that was lost
  log.db.zrem(log.keys.due, chain)
  return undefined
}

const claimDue = (log: Log, count: number, leaseMillis: number): ReadonlyArray<ClaimedEvent> => {
  const claimed: Array<ClaimedEvent> = []
  if (count <= 0 || stateOf(log, "stoppedUntil") > log.now) return claimed
  for (const chain of log.db.zrangebyscore(log.keys.due, LOWEST, log.now, count)) {
    const found = firstPending(log, chain)
    if (found !== undefined) {
      const { seq, text } = found
      const record = recordOf(log, seq)
      const attempt = (record?.attempts ?? 0) + 1
      const until = log.now + leaseMillis
      log.db.zadd(log.keys.due, until, chain)
      saveRecord(log, seq, { ...record, attempts: attempt, at: log.now, until })
      const first = firstsOf(log, [text])[0]
      claimed.push({ chain, seq, attempt, event: text, ...(first === undefined ? {} : { first }) })
    }
  }
  return claimed
}

export const tickEvents = (db: Db, keys: ReadonlyArray<string>, now: number, call: Tick): Ticked => {
  const log = logOf(db, keys, now)
  const moreOld = dropOld(log, call)
  const moreNew = call.claim !== undefined && queueNew(log)
  const claimed = call.claim === undefined ? [] : claimDue(log, call.claim, call.leaseMillis)
  const pending = db.zcard(log.keys.pending)
  const oldest = pending === 0 ? undefined : eventIn(textAt(log, db.zscoresByRank(log.keys.pending, 0, 1)[0] ?? 0))
  const stoppedUntil = stateOf(log, "stoppedUntil")
  return {
    stored: db.zcard(log.keys.events),
    pending,
    failed: db.zcard(log.keys.failed),
    lost: stateOf(log, "lost"),
    more: moreOld || moreNew || (call.claim !== undefined && claimed.length > 0 && claimed.length === call.claim),
    ...(oldest === undefined ? {} : { oldestAt: oldest.at }),
    ...(stoppedUntil > now ? { stoppedUntil } : {}),
    ...(claimed.length === 0 ? {} : { claimed }),
  }
}
