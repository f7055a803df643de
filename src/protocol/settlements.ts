/** What the rate limiter must still do for the caller of a ticket that has ended, or of a start in doubt. */
import { Schema } from "effect"

/** Refund the ticket's units, count the ticket as no longer open, or charge a missed turn. */
export const SettlementKind = Schema.Literals(["refund", "release", "missed"])
export type SettlementKind = typeof SettlementKind.Type

export const Settlement = Schema.Struct({ kind: SettlementKind, ticket: Schema.String, caller: Schema.String })
export type Settlement = typeof Settlement.Type
