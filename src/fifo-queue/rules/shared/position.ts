/** The position of a waiting caller, for callers and for operators. */

/** The position of a ticket with `before` waiting tickets before it; 1 is next. */
export const positionAt = (before: number): number => before + 1
