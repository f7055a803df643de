/**
 * The event log of a campaign, as the steps of its queue have appended it (`fifo-queue/rules/shared/events.ts`), and what is known of its
 * delivery. All keys are under the campaign's hash tag:
 *
 *   events      zset  events by number: JSON (`StoredEvent`)
 *   meta        hash  the queue's; `events` is the number of the last event
 *   state       hash  `indexed`, the last event that delivery has seen; `dropped`, the last one that was dropped; `lost`, how many were
 *                     dropped before they were delivered, or because there were too many; `stoppedUntil`, until when nothing is sent
 *                     because the receiver wants no more (410); `deliveredAt`, when an event was delivered last
 *   pending     zset  numbers of events that are to be delivered, by number
 *   chains      hash  ticket → the numbers of its pending events in order, separated by spaces. An event without a ticket has a chain alone
 *   due         zset  tickets with pending events, by the time from which the first of these may be sent. A gate that sends it postpones
 *                     this time (a lease), so no other sends an event of this ticket meanwhile, and one does if that gate dies
 *   deliveries  hash  number → what was tried: JSON (`DeliveryRecord`)
 *   failed      zset  numbers of events that were given up, by number
 */
import type { StoredEvent } from "../../../fifo-queue/rules/shared/events.ts"
import type { Db } from "../../../store/rules/db.ts"
import { decode, encode, isNumber, isObject, isText, numberOf, textOf, wordsOf } from "../../../store/rules/native.ts"

export interface EventKeys {
  readonly events: string
  readonly meta: string
  readonly state: string
  readonly pending: string
  readonly chains: string
  readonly due: string
  readonly deliveries: string
  readonly failed: string
}

/** One step of the log. */
export interface Log {
  readonly db: Db
  readonly keys: EventKeys
  readonly now: number
}

export const logOf = (db: Db, keys: ReadonlyArray<string>, now: number): Log => ({
  db,
  now,
  keys: {
    events: keys[0] as string,
    meta: keys[1] as string,
    state: keys[2] as string,
    pending: keys[3] as string,
    chains: keys[4] as string,
    due: keys[5] as string,
    deliveries: keys[6] as string,
    failed: keys[7] as string,
  },
})

/** What was tried to deliver an event. */
export interface DeliveryRecord {
  /** how often it was sent since it was queued */
  readonly attempts: number
  /** when the last attempt began (ms) */
  readonly at: number
  /** the status of the last answer; absent without one */
  readonly status?: number | undefined
  /** why the last attempt failed; absent when it did not */
  readonly error?: string | undefined
  /** until when a gate is sending it (ms) */
  readonly until?: number | undefined
}

export const isStoredEvent = (value: unknown): value is StoredEvent =>
  isObject(value) &&
  isNumber(value.seq) &&
  isNumber(value.at) &&
  isText(value.type) &&
  (value.first === undefined || isNumber(value.first)) &&
  (value.ticket === undefined || isText(value.ticket))

export const eventIn = (text: string | undefined): StoredEvent | undefined => {
  const event = text === undefined ? undefined : decode(text)
  return isStoredEvent(event) ? event : undefined
}

export const textAt = (log: Log, seq: number): string | undefined =>
  log.db.zrangebyscore(log.keys.events, seq, seq, 1)[0]

export const stateOf = (log: Log, field: string): number => numberOf(log.db.hget(log.keys.state, field))

export const lastSeq = (log: Log): number => numberOf(log.db.hget(log.keys.meta, "events"))

export const recordOf = (log: Log, seq: number): DeliveryRecord | undefined => {
  const text = log.db.hget(log.keys.deliveries, textOf(seq))
  const record = text === undefined ? undefined : decode(text)
  return isObject(record) && isNumber(record.attempts) && isNumber(record.at)
    ? (record as unknown as DeliveryRecord)
    : undefined
}

export const saveRecord = (log: Log, seq: number, record: DeliveryRecord): void =>
  log.db.hset(log.keys.deliveries, textOf(seq), encode(record))

export const chainOf = ({ seq, ticket }: StoredEvent): string => ticket ?? `#${textOf(seq)}`

/** The numbers of a chain in order, each once; what is no number is dropped. */
export const chainAt = (log: Log, chain: string): ReadonlyArray<number> => {
  const seqs: Array<number> = []
  for (const word of wordsOf(log.db.hget(log.keys.chains, chain) ?? "")) {
    const seq = numberOf(word)
    if (seq > 0) seqs.push(seq)
  }
  return seqs
}

/** Writes a chain. One without events is not due. */
export const saveChain = (log: Log, chain: string, seqs: ReadonlyArray<number>): void => {
  let text = ""
  for (const seq of seqs) text = text === "" ? textOf(seq) : `${text} ${textOf(seq)}`
  if (text !== "") {
    log.db.hset(log.keys.chains, chain, text)
  } else {
    log.db.hdel(log.keys.chains, chain)
    log.db.zrem(log.keys.due, chain)
  }
}

/** The event is not to be delivered any more: it was, it was given up, or it was dropped. Returns what is left of its chain. */
export const unqueue = (log: Log, chain: string, seq: number): ReadonlyArray<number> => {
  const left: Array<number> = []
  for (const each of chainAt(log, chain)) if (each !== seq) left.push(each)
  log.db.zrem(log.keys.pending, textOf(seq))
  saveChain(log, chain, left)
  return left
}

/** Puts the event in its place among those of its ticket. Due at once, unless a gate sends one of them now. */
export const queue = (log: Log, chain: string, seq: number): void => {
  const seqs: Array<number> = []
  let placed = false
  const before = chainAt(log, chain)
  for (const each of before) {
    if (!placed && seq <= each) {
      seqs.push(seq)
      placed = true
    }
    if (each !== seq) seqs.push(each)
  }
  if (!placed) seqs.push(seq)
  log.db.zadd(log.keys.pending, seq, textOf(seq))
  saveChain(log, chain, seqs)
  const first = before[0]
  const sending = first === undefined ? 0 : (recordOf(log, first)?.until ?? 0)
  if (first === undefined || (seq < first && sending <= log.now)) log.db.zadd(log.keys.due, log.now, chain)
}

/**
 * The events of acceptance that these events name, each once, if they are not among them: they have the facts of the ticket.
 */
export const firstsOf = (log: Log, texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known: { [seq: string]: boolean } = {}
  const firsts: Array<string> = []
  for (const text of texts) {
    const event = eventIn(text)
    if (event !== undefined) known[textOf(event.seq)] = true
  }
  for (const text of texts) {
    const first = eventIn(text)?.first
    if (first !== undefined && known[textOf(first)] !== true) {
      known[textOf(first)] = true
      const found = textAt(log, first)
      if (found !== undefined) firsts.push(found)
    }
  }
  return firsts
}
