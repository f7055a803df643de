/** Shared by all callers of a soak. */
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
  /** the caller of each queued ticket, for the audit of the store */
  readonly holders: Map<string, number>
  /** granted requests of heavy callers, in order */
  readonly grants: Array<Grant>
}
