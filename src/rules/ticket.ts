/** A ticket's record, as it is stored: JSON under its id. */
import { beginning, isNumber, isObject, isText, sha1, textsIn } from "./native.ts"

/** A terminal state: how a ticket has ended. */
export type EndState = "ended" | "left" | "abandoned" | "missed" | "failed" | "reclaimed" | "removed"
/** `doubt` is no state of a ticket, but of a start that may have happened (`doubt.ts`). */
export type State = "waiting" | "called" | "starting" | "live" | "doubt" | EndState

/** Times in ms since 1970. Absent where a ticket has none. */
export interface Ticket {
  state: State
  /** the order of acceptance, a counter of the campaign; 0 for a start in doubt */
  seq: number
  /** the fence of the slot that is held, or was held last: a counter of the campaign */
  lease?: string
  /** where the ticket's connection is */
  instance?: string
  /** the rate limiter's key */
  caller?: string | undefined
  /** the rate limiter counts the caller's open tickets */
  holds?: true | undefined
  /** when the slot was taken, later by the outages of the turn */
  since?: number
  /** when the ticket came */
  accepted: number
  /** the caller's network (IPv6 /48, IPv4 /24) */
  network?: string
  /** how often a start failed after others had begun their calls, the campaign's `started` at the last of these, and how often at all */
  strikes?: number
  strikeMark?: number
  failures?: number
  /** when it was called, later by the outages of all gates; absent unless an outage gave it time */
  calledAt?: number | undefined
  /** the ids of a live ticket's session */
  sessions?: ReadonlyArray<string> | undefined
  /** of a start in doubt: whose it is, and how often the platform said that it has no such session */
  ticket?: string
  looks?: number
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
    state === "removed")

const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value)
const isNumberOrNone = (value: unknown): boolean => value === undefined || isNumber(value)

/** Whether it is a list of texts, and of at least one. */
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
  isNumberOrNone(value.since) &&
  isTextOrNone(value.network) &&
  isNumberOrNone(value.strikes) &&
  isNumberOrNone(value.strikeMark) &&
  isNumberOrNone(value.failures) &&
  isNumberOrNone(value.calledAt) &&
  isTextOrNone(value.ticket) &&
  isNumberOrNone(value.looks) &&
  (value.state !== "live" || areTexts(value.sessions)) &&
  (!holdsSlot(value.state as string) || (isText(value.lease) && isNumber(value.since)))

/** Under which a start in doubt has its record and its slot. */
export const doubtId = (lease: string): string => `?${lease}`

/** Hexadecimal digits of a ticket's hash: enough to tell tickets apart, far too few to be one. */
const HASH_LENGTH = 10

/** The short hash under which an operator sees a ticket: its id is its bearer's credential. */
export const shortHash = (id: string): string => beginning(sha1(id), HASH_LENGTH)

/** A network's share of slots or free places: at least one, and all of them with a share of 1. */
export const shareOf = (share: number, of: number): number => (share >= 1 ? of : Math.max(1, Math.floor(share * of)))
