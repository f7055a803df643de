/** The position of a waiting caller, for callers and for operators. */

/** The position of a caller before whom so many tickets wait; 1 is next. */
export const positionAt = (before: number): number => before + 1
