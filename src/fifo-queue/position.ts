/** The position of a waiting caller. Rules are compiled with this file, so it imports nothing. */

/** The number that the caller and operators are told: 1 for the one who is next. It is made here alone, of how many are called before. */
export const positionAt = (before: number): number => before + 1

/** So many callers see every change of their place at once; those behind them see it in steps (`rules/shared/order.ts`). */
export const FIRST_PLACES = 100
