/** An executed step, and what was true when it ran: what those who judge it need to know (`causes.ts`, `presence.ts`). */

import type { QueueState } from "../model/queue-state.ts"
import type { Did, Name } from "./did.ts"

/** The context of a step. */
export interface Circumstances {
  readonly now: number
  /** the gate that ran it, and until when it had touched its connected tickets (sweeps only) */
  readonly self: string
  readonly shown?: number
  readonly slots: number
  /** how many calls may begin by the budgets for which callers wait; absent for none */
  readonly paid?: number
  readonly before: QueueState
  readonly after: QueueState
  /** the ticket of an admission was withdrawn before */
  readonly late: boolean
  /** nobody has swept for long, so nobody counts as absent */
  readonly unattended: boolean
  /** nobody has swept for long, so nobody could start either */
  readonly away: boolean
  readonly lastSwept: number
  /** ids of sessions whose end was reported before this step */
  readonly ended: ReadonlySet<string>
  /** no gate has swept the campaign for as long as it takes to count as removed */
  readonly unserved: boolean
  readonly maxLength: number
  readonly share: number
  readonly graceMillis: number
  readonly windowMillis: number
  readonly callMillis: number
}

/** One executed rule. */
export type Carried<N extends Name = Name> = Circumstances & Extract<Did, { readonly name: N }>
