/**
 * The campaign's log of events, for the host's own programs (`events/`). An event is appended in the step that makes it happen, so none is
 * lost and none is made up, whatever crashes. A campaign that reports no events appends none.
 *
 * `meta.events` counts them; `events` holds them by that number. The facts on which a host joins (`about`, `caller`) are stored once a
 * ticket, with its acceptance; its later events name that one by its number (`first`).
 */
import { beginning, encode, sha1, textOf } from "../../../store/rules/native.ts"
import type { Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"

export type EventType =
  | "call.accepted"
  | "call.called"
  | "call.started"
  | "call.ended"
  | "call.corrected"
  | "budget.alert"
  | "budget.exhausted"

/** An event as a step appends it. What does not apply is absent. */
export interface NewEvent {
  readonly type: EventType
  /** the hash of its ticket (`ticketHashOf`) */
  readonly ticket?: string | undefined
  /** the number of the event of the ticket's acceptance */
  readonly first?: number | undefined
  /** the id of the session */
  readonly session?: string | undefined
  /** how the ticket ended */
  readonly reason?: string | undefined
  /** how long the call ran (ms) */
  readonly millis?: number | undefined
  readonly billedSeconds?: number | undefined
  readonly cost?: number | undefined
  /** the name of the budget */
  readonly budget?: string | undefined
  /** JSON: the facts on which a host joins (`EventFacts` of `protocol/host-events.ts`) */
  readonly about?: string | undefined
  /** the rate limiter's key of the caller, by which the event is found when the caller is forgotten; never sent */
  readonly caller?: string | undefined
  /** of an acceptance: the id of the ticket, which tells whether it lives; never sent */
  readonly id?: string | undefined
}

/** An event as it is stored, JSON. */
export interface StoredEvent extends NewEvent {
  readonly seq: number
  /** ms since 1970 */
  readonly at: number
}

/** Hexadecimal digits: the first ones are the hash by which logs and operators name the ticket. */
const EVENT_HASH_LENGTH = 16

export const ticketHashOf = (id: string): string => beginning(sha1(id), EVENT_HASH_LENGTH)

/**
 * Appends an event, if the campaign reports any. Returns its number; undefined if it does not.
 * @lazy
 */
export const appendEvent = (s: Step, event: NewEvent): number | undefined => {
  if (s.context.events !== true) return undefined
  const seq = s.db.hincrby(s.keys.meta, "events", 1)
  s.db.zadd(s.keys.events, seq, encode({ ...event, seq, at: s.now }))
  return seq
}

/** What an event of a ticket has besides its type. */
type More = Omit<NewEvent, "type" | "ticket" | "first" | "about" | "caller" | "id">

/**
 * Appends an event of a ticket. A start in doubt is not a ticket.
 * @lazy
 */
export const appendTicketEvent = (s: Step, type: EventType, id: string, ticket: Ticket, more: More): void => {
  if (ticket.seq === 0) return
  appendEvent(s, { ...more, type, ticket: ticketHashOf(id), first: ticket.event })
}

/** The entry of an accepted ticket in `events`. */
export const acceptedEntry = (s: Step, id: string, seq: number, about: string, caller: string): string => {
  const accepted: StoredEvent = {
    type: "call.accepted",
    ticket: ticketHashOf(id),
    id,
    about: about === "" ? undefined : about,
    caller: caller === "" ? undefined : caller,
    seq,
    at: s.now,
  }
  return encode(accepted)
}

/** A score in its stored form, and the entry. */
export const pushEntry = (entries: Array<number | string>, seq: number, entry: string): void => {
  entries.push(textOf(seq))
  entries.push(entry)
}
