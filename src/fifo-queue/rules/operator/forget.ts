/**
 * Forgets a caller in the tickets of a campaign, page by page; or counts what would be forgotten.
 *
 * A ticket that is over keeps its state for as long as its page may ask how it ended, without its caller. One that waits or holds a slot is
 * left alone, with what its start needs: the operator is told how many there are. So are settlements and charges that are still owed: they are carried
 * out within seconds, and without them the caller's units would stay open.
 */
import {
  ALL,
  beginning,
  contains,
  decode,
  encode,
  isObject,
  isText,
  withoutBeginning,
  wordsOf,
} from "../../../store/rules/native.ts"
import type { ForgottenTickets } from "../../answers.ts"
import { MAX_PER_STEP } from "../shared/expiry.ts"
import type { Step } from "../shared/step.ts"
import { holdsSlot, isTicket } from "../shared/ticket.ts"

/** Who is forgotten. */
export interface Forgotten {
  /** the rate limiter's keys of the caller */
  readonly names: ReadonlyArray<string>
  /** of a subject: the entry of the session's metadata that says it. It also finds what was named by a hash whose key is gone */
  readonly entry?: { readonly name: string; readonly value: string }
  /** remove what is found; otherwise it is counted */
  readonly remove?: true
}

export interface ForgetInQueue extends Forgotten {
  /** where the last page ended; `0` begins */
  readonly cursor: string
}

export const isNamed = ({ names }: Forgotten, caller: unknown): boolean => {
  for (const name of names) if (name === caller) return true
  return false
}

/** Whether what is stored with a ticket until it is over has the entry of the subject. */
const hasEntry = (data: string | undefined, { entry }: Forgotten): boolean => {
  if (data === undefined || entry === undefined) return false
  const stored = decode(data)
  return isObject(stored) && isObject(stored.metadata) && stored.metadata[entry.name] === entry.value
}

/** `"caller":"…"`, which a record that cannot be read may still have. */
const memberOf = (name: string): string => {
  const text = encode({ caller: name })
  return withoutBeginning(beginning(text, text.length - 1), 1)
}

const isInQuarantined = (of: Forgotten, text: string): boolean => {
  const entry = decode(text)
  if (!isObject(entry)) return false
  const words = isText(entry.id) ? wordsOf(entry.id) : []
  if (isNamed(of, words[2]) || isNamed(of, words[3])) return true
  const { record } = entry
  if (!isText(record)) return false
  for (const name of of.names) if (contains(record, memberOf(name))) return true
  return false
}

export const forgetInQueue = (s: Step, call: ForgetInQueue): ForgottenTickets => {
  const { db, keys } = s
  const { cursor, remove } = call
  const found = { over: 0, waiting: 0, holding: 0, owed: 0, quarantined: 0 }
  const [next, fields] = db.hscan(keys.tickets, cursor, MAX_PER_STEP)
  for (let i = 0; i < fields.length; i += 2) {
    const id = fields[i] ?? ""
    const ticket = decode(fields[i + 1] ?? "")
    if (isTicket(ticket)) {
      const waits = ticket.state === "waiting"
      const lives = waits || holdsSlot(ticket.state)
      const isOf =
        isNamed(call, ticket.caller ?? ticket.payer) ||
        (lives && call.entry !== undefined && hasEntry(db.hget(keys.data, id), call))
      if (isOf && waits) found.waiting++
      else if (isOf && lives) found.holding++
      else if (isOf) {
        found.over++
        if (remove === true) {
          ticket.caller = undefined
          ticket.payer = undefined
          ticket.network = undefined
          ticket.trace = undefined
          db.hset(keys.tickets, id, encode(ticket))
        }
      }
    }
  }
  if (cursor === "0") {
    for (const entry of db.zrange(keys.settlements, 0, MAX_PER_STEP)) {
      if (isNamed(call, wordsOf(entry)[2])) found.owed++
    }
    for (const entry of db.zrange(keys.charges, 0, MAX_PER_STEP)) {
      if (isNamed(call, wordsOf(entry)[3])) found.owed++
    }
    for (const entry of db.zrange(keys.quarantine, 0, ALL)) {
      if (isInQuarantined(call, entry)) {
        found.quarantined++
        if (remove === true) db.zrem(keys.quarantine, entry)
      }
    }
  }
  return { ...found, cursor: next }
}
