/** What the rules of the event log answer. Times in ms since 1970. Events are texts, as they are stored. */
import { Schema } from "effect"

const { Array: List, Boolean: Flag, Finite, Literal, Literals, String: Text, Struct, optionalKey } = Schema

/** `firsts`: the acceptances that these events name, if they are not among them. Absent lists are empty. */
export const EventTexts = Struct({
  /** the number of the last event of the log */
  last: Finite,
  /** the number up to which the log was read */
  until: Finite,
  /** the number of the last event that was dropped; 0 for none */
  dropped: Finite,
  events: optionalKey(List(Text)),
  firsts: optionalKey(List(Text)),
})
export type EventTexts = typeof EventTexts.Type

export const ClaimedEvent = Struct({
  chain: Text,
  seq: Finite,
  attempt: Finite,
  event: Text,
  first: optionalKey(Text),
})
export type ClaimedEvent = typeof ClaimedEvent.Type

export const Ticked = Struct({
  stored: Finite,
  pending: Finite,
  failed: Finite,
  /** how many were dropped before they were delivered, or because there were too many */
  lost: Finite,
  /** there is more to do at once */
  more: Flag,
  /** when the oldest pending event happened */
  oldestAt: optionalKey(Finite),
  stoppedUntil: optionalKey(Finite),
  claimed: optionalKey(List(ClaimedEvent)),
})
export type Ticked = typeof Ticked.Type

/** `counted`: this attempt decided; `next`: a further event of its ticket is due. */
export const SettledEvent = Struct({ counted: Flag, next: Flag })
export type SettledEvent = typeof SettledEvent.Type

/** `unsent`: the campaign had no `Events.Url`. */
export const DeliveryState = Literals(["delivered", "pending", "failed", "unsent"])

export const DeliveryRow = Struct({
  event: Text,
  first: optionalKey(Text),
  state: DeliveryState,
  attempts: optionalKey(Finite),
  /** when the last attempt began */
  at: optionalKey(Finite),
  /** the status of the last answer */
  status: optionalKey(Finite),
  /** why the last attempt failed */
  error: optionalKey(Text),
  /** when it is sent next, or until when a gate is sending it */
  due: optionalKey(Finite),
})
export type DeliveryRow = typeof DeliveryRow.Type

export const DeliveryRows = Struct({
  more: Flag,
  pending: Finite,
  /** when the oldest pending event happened */
  oldestAt: optionalKey(Finite),
  /** when an event was delivered last */
  lastDeliveredAt: optionalKey(Finite),
  /** the receiver wants none until then */
  stoppedUntil: optionalKey(Finite),
  failed: Finite,
  stored: Finite,
  /** how many were dropped undelivered, or because there were too many */
  lost: Finite,
  rows: optionalKey(List(DeliveryRow)),
})
export type DeliveryRows = typeof DeliveryRows.Type

/** `next`: the number after which to go on; 0 when all were looked at. `pending`: it is to be sent anyway. */
export const Redelivered = Struct({ queued: Finite, next: Finite, pending: optionalKey(Literal(true)) })
export type Redelivered = typeof Redelivered.Type

/** The events of a caller in one page: of tickets that are over, and of tickets that live. `next`: only events before it are left; 0 for none. */
export const ForgottenEvents = Struct({ delivered: Finite, undelivered: Finite, kept: Finite, next: Finite })
export type ForgottenEvents = typeof ForgottenEvents.Type

/** How many events are left, and whether there are more to drop at once. */
export const Faded = Struct({ stored: Finite, more: Flag })
export type Faded = typeof Faded.Type
