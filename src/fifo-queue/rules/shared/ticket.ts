/** A ticket's record as it is stored: JSON under its id. */
import type { TicketState } from "../../../protocol/ticket.ts"
import { isNumber, isObject, isText, padded, textsIn } from "../../../store/rules/native.ts"

/** `doubt` is not a state of a ticket but of a start that may have happened (`doubt.ts`). */
export type State = TicketState | "doubt"

/** Times in ms since 1970. Fields that do not apply are absent. */
export interface Ticket {
  state: State
  /** the order of acceptance, a counter of the campaign; 0 for a start in doubt */
  seq: number
  /** the fence of the slot that is held or was held last: a counter of the campaign */
  lease?: string
  /** the gate that holds the ticket's connection */
  instance?: string
  /** the rate limiter's key */
  caller?: string | undefined
  /** the rate limiter counts this ticket as open */
  holds?: true | undefined
  /** the attempt to start that was carried out last, or that its gate has given up; it is not carried out again */
  attempt?: string | undefined
  /** when the slot was taken, moved forward by the outages of the turn */
  since?: number
  /** when the ticket was accepted */
  accepted: number
  /** the caller's network (IPv6 /48, IPv4 /24) */
  network?: string | undefined
  /** how many starts failed, counting those in a row without another call started in between as one */
  strikes?: number
  /** the campaign's `started` at the last failed start */
  strikeMark?: number
  /** how many starts failed in all */
  failures?: number
  /** turns in a row that passed without a start while the platform could not be reached */
  excusedTurns?: number | undefined
  /** when it was called, moved forward by outages of all gates; absent unless an outage extended the turn */
  calledAt?: number | undefined
  /** the page was hidden when it was called, so the current window is longer (`outage.ts`) */
  extended?: true | undefined
  /** the ids of a live ticket's session */
  sessions?: ReadonlyArray<string> | undefined
  /** of a live ticket whose session begins with its page's offer (`../offer.ts`): by when it must be made */
  offerBefore?: number | undefined
  /** the page has made its offer under this lease */
  offered?: true | undefined
  /** the context of the caller's trace (W3C `traceparent`); only of tickets that a gate with a tracer has accepted */
  trace?: string | undefined
  /** the number of the event of its acceptance; absent while the campaign reports no events */
  event?: number | undefined
  /** of a start in doubt: its ticket, and how often the platform reported no such session */
  ticket?: string
  looks?: number
  /** a live session without a caller, which the gate ends */
  orphan?: true
  /** nobody has opened the live session in time, so the gate ends it */
  unopened?: true
  /** the operator who has ended the live session; the platform has not confirmed it */
  stoppedBy?: string | undefined
  /** it was ended with all calls of the campaign, which have one line of the audit log together */
  stoppedWithAll?: true | undefined
  /**
   * of a slot whose time budgets hold: since when its call runs, 0 before it does; absent where the campaign had no budgets when the start
   * began
   */
  billed?: number | undefined
  /** of a call with a limit, or whose campaign reports events: since when it runs; absent where a gate of an older version has bound it, or before it does */
  began?: number | undefined
  /** of a start in doubt whose time budgets hold: the caller, as the rate limiter knows him */
  payer?: string | undefined
  /** how long the call was by its vendor, in whole seconds; absent where the vendor has not said it */
  lasted?: number | undefined
  /** of a live ticket in whose call nobody speaks: when its call ends unless somebody speaks */
  silentUntil?: number | undefined
  /** and since when nobody has spoken */
  silentSince?: number | undefined
  /** of a live ticket: until when the vendor has heard the caller, and the agent; absent where it has said nothing of them */
  callerHeard?: number | undefined
  agentHeard?: number | undefined
  /** of a live ticket whose call has a time limit of its own: when it ends */
  endsAt?: number | undefined
  /** in a record whose state is `ended`: the call has ended at its time limit. Gates of the last release know neither the state nor this field */
  tooLong?: true | undefined
  /** the same of `budget`; and of a live ticket: its `endsAt` is when a budget has no more for it */
  spent?: true | undefined
  /** of such a live ticket: when its call ends at its time limit; absent without one */
  limitedAt?: number | undefined
  /**
   * How the ticket has ended, in a record whose state is `ended`, or for `closed` `removed`. The last release knows none of these states:
   * during an upgrade, its gates would take a record with one for damaged.
   */
  ended?: "stopped" | "silent" | "closed" | undefined
}

export const holdsSlot = (state: string): boolean =>
  state === "called" || state === "starting" || state === "live" || state === "doubt"

const isState = (state: unknown): boolean =>
  isText(state) &&
  (state === "waiting" ||
    holdsSlot(state) ||
    state === "ended" ||
    state === "left" ||
    state === "abandoned" ||
    state === "missed" ||
    state === "failed" ||
    state === "reclaimed" ||
    state === "removed" ||
    state === "stopped" ||
    state === "silent" ||
    state === "closed" ||
    state === "too_long" ||
    state === "budget")

const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value)
const isNumberOrNone = (value: unknown): boolean => value === undefined || isNumber(value)

/** Whether it is a non-empty list of texts. */
const areTexts = (value: unknown): boolean => {
  const texts = textsIn(value)
  return texts.length > 0 && texts.length === (value as ReadonlyArray<unknown>).length
}

export const isTicket = (value: unknown): value is Ticket =>
  isObject(value) &&
  isState(value.state) &&
  isNumber(value.seq) &&
  isNumber(value.accepted) &&
  isTextOrNone(value.lease) &&
  isTextOrNone(value.instance) &&
  isTextOrNone(value.caller) &&
  (value.holds === undefined || value.holds === true) &&
  isTextOrNone(value.attempt) &&
  isNumberOrNone(value.since) &&
  isTextOrNone(value.network) &&
  isNumberOrNone(value.strikes) &&
  isNumberOrNone(value.strikeMark) &&
  isNumberOrNone(value.failures) &&
  isNumberOrNone(value.excusedTurns) &&
  isNumberOrNone(value.calledAt) &&
  (value.extended === undefined || value.extended === true) &&
  isNumberOrNone(value.offerBefore) &&
  (value.offered === undefined || value.offered === true) &&
  isTextOrNone(value.trace) &&
  isNumberOrNone(value.event) &&
  isTextOrNone(value.ticket) &&
  isNumberOrNone(value.looks) &&
  (value.orphan === undefined || value.orphan === true) &&
  (value.unopened === undefined || value.unopened === true) &&
  isTextOrNone(value.stoppedBy) &&
  isNumberOrNone(value.silentUntil) &&
  isNumberOrNone(value.silentSince) &&
  isNumberOrNone(value.endsAt) &&
  (value.tooLong === undefined || value.tooLong === true) &&
  (value.spent === undefined || value.spent === true) &&
  isNumberOrNone(value.limitedAt) &&
  isNumberOrNone(value.billed) &&
  isNumberOrNone(value.began) &&
  isTextOrNone(value.payer) &&
  isNumberOrNone(value.lasted) &&
  isNumberOrNone(value.callerHeard) &&
  isNumberOrNone(value.agentHeard) &&
  (value.ended === undefined || value.ended === "stopped" || value.ended === "silent" || value.ended === "closed") &&
  (value.state !== "live" || areTexts(value.sessions)) &&
  (!holdsSlot(value.state as string) || (isText(value.lease) && isNumber(value.since)))

/** The id under which a start in doubt has its record and its slot. */
export const doubtId = (lease: string): string => `?${lease}`

/** `network seq id`: sorted by network, then by acceptance. */
export const networkEntry = (id: string, { network = "", seq }: Ticket): string => `${network} ${padded(seq)} ${id}`
