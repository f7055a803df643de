/** What a step of the queue tells the connection of a ticket. Steps on other instances publish it on the channel of the connection's instance. */

import { Option, Schema } from "effect"
import { EndState } from "./ticket.ts"

const { Finite, Literal, String: Text, Struct, Union, optionalKey } = Schema

/** Prefix of the channel of an instance, followed by its id. */
export const INSTANCE_CHANNEL = "vg:i:"

/** A message for a ticket's connection. */
export const Signal = Struct({
  ticket: Text,
  kind: Union([
    Struct({ _tag: Literal("called"), startBefore: Finite, lease: Text }),
    /** `overrunMillis`: how long the call has run beyond its time limit, as far as the gate knows; absent if it has not */
    Struct({ _tag: Literal("ended"), state: EndState, overrunMillis: optionalKey(Finite) }),
    /**
     * the call reaches its time limit at `endsAt` (ms since 1970); `reason`: because a budget has no more. Without `endsAt`, budgets have more
     * again, and no end is due
     */
    Struct({ _tag: Literal("warning"), endsAt: optionalKey(Finite), reason: optionalKey(Literal("budget")) }),
  ]),
  /** the context of the ticket's trace, a W3C `traceparent`; absent when it has none */
  trace: optionalKey(Text),
})
export type Signal = typeof Signal.Type
export type SignalKind = Signal["kind"]

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Signal))

/** Undefined for a signal that only a newer version knows. */
export const readSignal = (message: string): Signal | undefined => Option.getOrUndefined(decode(message))
