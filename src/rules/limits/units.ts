/**
 * How the units of one caller are kept: one sorted set `log`, a member a unit. While its ticket is open, a unit's score is its
 * moment (ms since 1970) plus `OPEN`, afterwards its moment alone. So a caller with few units costs no command more than one
 * without a limit of open tickets, and no second key.
 */

/** How long a unit counts for the hourly budget, in milliseconds. */
export const HOUR = 3_600_000
/** How long a unit counts for the daily budget, in milliseconds. */
export const DAY = 86_400_000
/** Larger than every moment; two of them are still exact in a double. */
export const OPEN: number = 2 ** 43

/** The most units of a caller; 0 is no limit. */
export interface Budgets {
  readonly hourly: number
  readonly daily: number
  /** open at once */
  readonly concurrent: number
}
