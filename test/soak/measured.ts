/** The measurements of a soak. */
import type { GateFigures } from "./gate-process.ts"
import type { KeyAudit, StoreFigures } from "./store-figures.ts"

/** All measurements at one time. */
export interface Sample {
  /** since the start of the load; negative before it */
  readonly minute: number
  readonly gates: ReadonlyArray<GateFigures>
  readonly store: StoreFigures
  readonly callsStarted: number
  /** active callers */
  readonly active: number
  readonly running: number
}

/** Without any callers. */
export interface AtRest extends Sample {
  readonly audit: KeyAudit
}

export interface Measured {
  readonly before: AtRest
  readonly after: AtRest
  readonly series: ReadonlyArray<Sample>
  /** session ids that the gates have received, which limits how many ends they may store */
  readonly sessionIds: number
  readonly peak: number
  readonly slots: number
  /** whether the run waited until ended tickets were deleted */
  readonly forgotten: boolean
}
