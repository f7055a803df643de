/**
 * What a call costs. Time is in whole seconds, rounded once a call; an amount is in the unit of its budget: billed seconds, or millionths
 * of the currency. All are whole numbers, and small enough that no product of them is rounded (`settings/groups/budgets.ts`).
 */

/** How the length of a call is rounded, as its price was when it began. */
export interface Rounding {
  /** a call is billed in whole steps of so many seconds */
  readonly roundUp: number
  /** a call is billed as at least so many seconds */
  readonly minimum: number
}

/** The billed seconds of a call of this length; none for a call that has not begun. */
export const billedSeconds = (seconds: number, { minimum, roundUp }: Rounding): number =>
  seconds <= 0 ? 0 : Math.max(minimum, Math.ceil(seconds / roundUp) * roundUp)

/** @param perMinute the price in millionths; undefined where the unit is the second */
export const amountOf = (billed: number, perMinute: number | undefined): number =>
  perMinute === undefined ? billed : Math.ceil((billed * perMinute) / 60)

/** How many seconds this amount pays for, in whole steps. */
export const secondsFor = (amount: number, perMinute: number | undefined, { roundUp }: Rounding): number => {
  if (amount <= 0) return 0
  const seconds = perMinute === undefined ? amount : Math.floor((amount * 60) / perMinute)
  return Math.floor(seconds / roundUp) * roundUp
}
