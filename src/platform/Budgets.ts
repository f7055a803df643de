/**
 * Rate limits: counts in windows of one minute, in this process. Several processes count separately, so together they allow
 * a multiple. What must be exact (the account's concurrent calls) is not counted here.
 */
import { isOpen } from "../lib/age.ts"
import { boundedCache } from "../lib/bounded-cache.ts"

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
  const windows = boundedCache<{ used: number; endsAt: number }>(maxCallers)
  const unlimited: BudgetState = { allowed: true, remaining: Number.MAX_SAFE_INTEGER, resetSeconds: 0 }
  const stateOf = (used: number, endsAt: number, now: number): BudgetState => ({
    allowed: used <= limit,
    remaining: Math.max(0, limit - used),
    resetSeconds: Math.max(1, Math.ceil((endsAt - now) / 1000)),
  })
  const windowOf = (caller: string, now: number) => {
    const window = windows.get(caller)
    return window !== undefined && isOpen(window.endsAt, WINDOW_MILLIS, now)
      ? window
      : { used: 0, endsAt: now + WINDOW_MILLIS }
  }
  return {
    use: (caller, now) => {
      if (limit === 0) return unlimited
      const window = windowOf(caller, now)
      window.used = Math.min(window.used + 1, limit + 1)
      windows.set(caller, window)
      return stateOf(window.used, window.endsAt, now)
    },
    peek: (caller, now) => {
      if (limit === 0) return unlimited
      const { endsAt, used } = windowOf(caller, now)
      return stateOf(used + 1, endsAt, now)
    },
  }
}
