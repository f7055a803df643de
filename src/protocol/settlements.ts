/** What the rate limiter must still do for the caller of a ticket that has ended, or of a start in doubt. */
import { Schema } from "effect"

/** Refund the ticket's units, count the ticket as no longer open, or charge a missed turn. */
export const SettlementKind = Schema.Literals(["refund", "release", "missed"])
export type SettlementKind = typeof SettlementKind.Type

export const Settlement = Schema.Struct({ kind: SettlementKind, ticket: Schema.String, caller: Schema.String })
export type Settlement = typeof Settlement.Type

/** What a call must still be charged to the budgets that have held its time (`budgets/`). */
export const Charge = Schema.Struct({
  /** names the hold: the short hash of the ticket, and the lease of its slot */
  hold: Schema.String,
  /** how long the call was; 0 if it has not begun */
  seconds: Schema.Finite,
  /** the call belongs to a start in doubt: its caller had no call, and is not charged */
  doubt: Schema.optionalKey(Schema.Literal(true)),
  /** the rate limiter's key of the caller, whose own part of the hold is given back; absent where there is none */
  caller: Schema.optionalKey(Schema.String),
  /** the ids of its session; absent where none was bound */
  sessions: Schema.optionalKey(Schema.Array(Schema.String)),
})
export type Charge = typeof Charge.Type
