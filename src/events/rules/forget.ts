/**
 * Removes the events of a caller who is forgotten from the log, delivered or not; or counts them. Page by page from the newest to the oldest,
 * since the later events of a ticket name its acceptance, which alone says who called: however often it is begun again, it finds the rest.
 *
 * Events of a ticket that waits or is in a call are kept, since the host is told of its end.
 */
import { type Forgotten, isNamed } from "../../fifo-queue/rules/operator/forget.ts"
import type { StoredEvent } from "../../fifo-queue/rules/shared/events.ts"
import { holdsSlot } from "../../fifo-queue/rules/shared/ticket.ts"
import type { Db } from "../../store/rules/db.ts"
import { decode, isObject, isText, textOf } from "../../store/rules/native.ts"
import type { ForgottenEvents } from "../answers.ts"
import { drop } from "./keep.ts"
import { eventIn, logOf, textAt } from "./shared/log.ts"

/** The most events that one step looks at. */
const MAX_FORGOTTEN_PER_STEP = 50

export interface ForgetEvents extends Forgotten {
  /** only events before this number; 0 for all */
  readonly below: number
}

const isOf = (accepted: StoredEvent, call: ForgetEvents): boolean => {
  if (isNamed(call, accepted.caller)) return true
  const about = call.entry === undefined || !isText(accepted.about) ? undefined : decode(accepted.about)
  return isObject(about) && about.subject === call.entry?.value
}

const lives = (db: Db, tickets: string, id: string | undefined): boolean => {
  const record = id === undefined ? undefined : db.hget(tickets, id)
  const ticket = record === undefined ? undefined : decode(record)
  return isObject(ticket) && isText(ticket.state) && (ticket.state === "waiting" || holdsSlot(ticket.state))
}

/** Keys: those of the log, then the tickets of the campaign. */
export const forgetEvents = (db: Db, keys: ReadonlyArray<string>, now: number, call: ForgetEvents): ForgottenEvents => {
  const log = logOf(db, keys, now)
  const { deliveries, events: key, failed, pending } = log.keys
  const tickets = keys[8] ?? ""
  const end = call.below === 0 ? db.zcard(key) : db.zcard(key) - db.zcountFrom(key, call.below)
  const from = Math.max(0, end - MAX_FORGOTTEN_PER_STEP)
  const texts = end <= 0 ? [] : db.zrange(key, from, end - from)
  const found = { delivered: 0, undelivered: 0, kept: 0 }
  /** by the number of an acceptance: `kept`, `over` or `other` */
  const known: { [seq: string]: string } = {}
  let next = 0
  for (let i = texts.length - 1; i >= 0; i--) {
    const text = texts[i] ?? ""
    const event = eventIn(text)
    if (event !== undefined) {
      const acceptance = textOf(event.first ?? event.seq)
      if (known[acceptance] === undefined) {
        const accepted = event.first === undefined ? event : eventIn(textAt(log, event.first))
        const mine = accepted !== undefined && isOf(accepted, call)
        known[acceptance] = !mine ? "other" : lives(db, tickets, accepted.id) ? "kept" : "over"
      }
      if (known[acceptance] === "kept") found.kept++
      else if (known[acceptance] === "over") {
        const number = textOf(event.seq)
        const waits = db.zscore(pending, number) !== undefined || db.zscore(failed, number) !== undefined
        if (waits || db.hget(deliveries, number) === undefined) found.undelivered++
        else found.delivered++
        if (call.remove === true) drop(log, event.seq, text)
      }
    }
    if (from > 0 && i === 0) next = db.zscore(key, text) ?? event?.seq ?? 0
  }
  return { ...found, next }
}
