/**
 * The deliveries of a campaign's events, as schemas: the console's API, its page and the commands have their types from here. Times in ms since
 * 1970. This file imports nothing that needs Node.
 */
import { Schema } from "effect"
import { DeliveryRow, DeliveryRows } from "../events/answers.ts"
import { HostEvent } from "../protocol/host-events.ts"

const { Array: List, Boolean: Flag, Finite, Int, Literal, Literals, optionalKey, String: Text, Struct, Union } = Schema

export const DeliveryFilter = Literals(["all", "pending", "failed"])
export type DeliveryFilter = typeof DeliveryFilter.Type

const { first: _, ...delivery } = DeliveryRow.fields
/** What became of one event. Absent is what has not happened. */
const Delivery = Struct({ ...delivery, event: HostEvent })

const { rows: __, ...figures } = DeliveryRows.fields
/** A page of deliveries, newest event first. */
export const Deliveries = Struct({
  campaign: Text,
  /** the campaign reports events, and it sends them: `Events`, and `Events.Url` of the settings */
  reports: Flag,
  sends: Flag,
  ...figures,
  rows: List(Delivery),
})
export type Deliveries = typeof Deliveries.Type

/** The times that a `Date` can hold, from 1970 on (ECMAScript, "Time Values and Time Range"). */
const Millis = Int.check(Schema.isBetween({ minimum: 0, maximum: 8_640_000_000_000_000 }))

/** One event by its `seq`; or all that were given up, of events that happened between two times. */
export const Redelivery = Union([
  Struct({ type: Literal("one"), seq: Int }),
  Struct({ type: Literal("failed"), from: Millis, to: Millis }),
])
export type Redelivery = typeof Redelivery.Type

/** `queued`: how many are sent again. `result` of one: `pending` is sent anyway, `gone` is not kept any more. */
export const Redelivered = Struct({ queued: Finite, result: Literals(["queued", "pending", "gone"]) })
export type Redelivered = typeof Redelivered.Type

/** What the receiver has answered to an event that says nothing. */
export const TestedEvent = Struct({
  event: HostEvent,
  /** the receiver, without path and query, which may be secret */
  to: Text,
  /** how many secrets it was signed by */
  signatures: Finite,
  /** the status of the answer; absent without one */
  status: optionalKey(Finite),
  /** why the event was not taken; absent when it was */
  error: optionalKey(Text),
  /** how long the answer took (ms) */
  took: Finite,
})
export type TestedEvent = typeof TestedEvent.Type
