/** What all callers of a soak share. */
import type { Ledger } from "./ledger.ts"
import type { Caller } from "./plan.ts"
import type { Gates, Sessions } from "./sessions.ts"

/** A request of a heavy caller that was not refused. */
export interface Grant {
  readonly caller: Caller
  /** when the answer came, ms */
  readonly at: number
}

export interface World {
  readonly gates: Gates
  readonly platform: Sessions
  readonly ledger: Ledger
  /** who holds a ticket that was queued, for the audit of the store */
  readonly holders: Map<string, number>
  /** what heavy callers were granted, in order */
  readonly grants: Array<Grant>
}
