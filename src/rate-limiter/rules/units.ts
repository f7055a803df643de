/**
 * The units of one caller: one sorted set `log`, one member per unit. While its ticket is open, a unit's score is the
 * time it was taken (ms since 1970) plus `OPEN`; afterwards the time alone. So the limit of open tickets needs no
 * second key and no further command.
 */

/** How long a unit counts for the hourly budget, in milliseconds. */
export const HOUR = 3_600_000
/** How long a unit counts for the daily budget, in milliseconds. */
export const DAY = 86_400_000
/** Larger than any time; twice its value is still exact in a double. */
export const OPEN: number = 2 ** 43

/** The maximum units of a caller; 0 is no limit. */
export interface Budgets {
  readonly hourly: number
  readonly daily: number
  /** open at the same time */
  readonly concurrent: number
  /** used units from which a caller is near the limit; absent for none */
  readonly nearHourly?: number
  readonly nearDaily?: number
}

export const isLimited = ({ concurrent, daily, hourly }: Budgets): boolean => hourly > 0 || daily > 0 || concurrent > 0
