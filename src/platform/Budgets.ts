/**
 * Rate limits: counts in windows of one minute, in this process. Several processes count separately, so together they allow
 * a multiple. What must be exact (the account's concurrent calls) is not counted here.
 */
import { makeWindows } from "../lib/windows.ts"

/** The length of a window, in milliseconds. */
export const WINDOW_MILLIS = 60_000

/** The state after a use: what remains, and when the window ends. */
export interface BudgetState {
  readonly allowed: boolean
  readonly remaining: number
  readonly resetSeconds: number
}

export interface Budget {
  /** Uses one unit, if there is one. */
  readonly use: (caller: string, now: number) => BudgetState
  /** The result that `use` would have. */
  readonly peek: (caller: string, now: number) => BudgetState
}

/**
 * A budget of `limit` uses per minute; 0 is no limit. It tracks the `maxCallers` most recent callers, so that its memory is
 * bounded under a flood of new callers; a caller that was evicted starts with a full budget.
 */
export const makeBudget = (limit: number, maxCallers = 10_000): Budget => {
  const windows = makeWindows(WINDOW_MILLIS, maxCallers)
  const unlimited: BudgetState = { allowed: true, remaining: Number.MAX_SAFE_INTEGER, resetSeconds: 0 }
  const stateOf = (used: number, caller: string, now: number): BudgetState => ({
    allowed: used <= limit,
    remaining: Math.max(0, limit - used),
    resetSeconds: Math.max(1, Math.ceil((windows.endsAt(caller, now) - now) / 1000)),
  })
  return {
    use: (caller, now) => (limit === 0 ? unlimited : stateOf(windows.add(caller, now), caller, now)),
    peek: (caller, now) => (limit === 0 ? unlimited : stateOf(windows.used(caller, now) + 1, caller, now)),
  }
}
