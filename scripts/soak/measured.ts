/** What a soak measures. */
import type { GateFigures } from "./gate-process.ts"
import type { KeyAudit, StoreFigures } from "./store-figures.ts"

/** Everything that is measured at one moment. */
export interface Sample {
  /** since the load began; negative before it */
  readonly minute: number
  readonly gates: ReadonlyArray<GateFigures>
  readonly store: StoreFigures
  readonly callsStarted: number
  /** callers that are not done */
  readonly active: number
  readonly running: number
}

/** When nobody calls. */
export interface AtRest extends Sample {
  readonly audit: KeyAudit
}

export interface Measured {
  readonly before: AtRest
  readonly after: AtRest
  readonly series: ReadonlyArray<Sample>
  /** session ids that the gates were ever told: what they may remember of ends */
  readonly sessionIds: number
  readonly peak: number
  readonly slots: number
  /** whether it was waited for until tickets that are over are forgotten */
  readonly forgotten: boolean
}
