/** One step of a campaign's queue: what every rule of it is given, and what it leaves behind besides its answer. */
import type { Db } from "./db.ts"
import { type QueueKeys, queueKeys } from "./keys.ts"
import { encode, numberOf } from "./native.ts"
import type { EndState, Ticket } from "./ticket.ts"

/** What a gate's settings make of the campaign, and who asks. Lengths in ms. */
export interface QueueContext {
  readonly slots: number
  /** a network's share of slots and of scarce places; 1 is no limit */
  readonly share: number
  readonly maxLength: number
  /** the gate that asks; empty where it reaches every connection itself */
  readonly instance: string
  /** in front of a gate's name, the channel on which it is told */
  readonly channel: string
  readonly windowMillis: number
  readonly graceMillis: number
  /** the grace of whoever is connected: shown again by the next tick, and absent only after that */
  readonly seenMillis: number
  readonly callMillis: number
}

/** Something that a ticket's connection has to know. */
export interface Signal {
  readonly ticket: string
  readonly kind: SignalKind
}
export type SignalKind =
  | { readonly _tag: "called"; readonly startBefore: number; readonly lease: string }
  | { readonly _tag: "ended"; readonly state: EndState }

/** What the rate limiter has to do: give back what the ticket took; count it as open no more; charge a missed turn. */
export type SettlementKind = "refund" | "release" | "missed"

export interface Settlement {
  readonly kind: SettlementKind
  readonly ticket: string
  readonly caller: string
}

export interface Step {
  readonly db: Db
  readonly keys: QueueKeys
  readonly now: number
  readonly context: QueueContext
  readonly signals: Array<Signal>
  readonly settlements: Array<Settlement>
  /** the ticket that this step called last */
  lastCalled?: string
  /** how many tickets that were passed over it has looked at */
  looks: number
  /** until when this gate has shown who is connected to it; known to a sweep alone */
  shown?: number
}

/**
 * What a step answers. The signals are those for connections of the gate that asked; other gates' are published. Absent where there
 * are none.
 */
export interface StepAnswer<A> {
  readonly result: A
  readonly signals?: ReadonlyArray<Signal>
  readonly settlements?: ReadonlyArray<Settlement>
}

export const stepOf = (db: Db, keys: ReadonlyArray<string>, now: number, context: QueueContext): Step => ({
  db,
  keys: queueKeys(keys),
  now,
  context,
  signals: [],
  settlements: [],
  looks: 0,
})

export const answerOf = <A>({ settlements, signals }: Step, result: A): StepAnswer<A> => {
  if (signals.length === 0) return settlements.length === 0 ? { result } : { result, settlements }
  return settlements.length === 0 ? { result, signals } : { result, signals, settlements }
}

/** A number of the campaign; 0 where there is none. */
export const meta = (s: Step, field: string): number => numberOf(s.db.hget(s.keys.meta, field))

/** Several of them, in their order. */
export const metaMany = (s: Step, fields: ReadonlyArray<string>): ReadonlyArray<number> => {
  const numbers: Array<number> = []
  for (const text of s.db.hgetMany(s.keys.meta, fields)) numbers.push(numberOf(text))
  return numbers
}

/** Tells the gate that holds the ticket's connection: this one, or another over its channel. */
export const notify = (s: Step, ticket: Ticket, signal: Signal): void => {
  if (ticket.instance !== undefined && ticket.instance !== s.context.instance) {
    s.db.publish(s.context.channel + ticket.instance, encode(signal))
  } else {
    s.signals.push(signal)
  }
}

/** What the rate limiter has to do for the caller of a ticket, or of a start in doubt. */
export const settle = (s: Step, kind: SettlementKind, id: string, { caller, holds }: Ticket): void => {
  if (caller === undefined || (kind === "release" && holds !== true)) return
  s.db.zadd(s.keys.settlements, s.now, `${kind} ${id} ${caller}`)
  s.settlements.push({ kind, ticket: id, caller })
}
