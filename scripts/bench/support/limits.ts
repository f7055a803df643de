/** The budgets of one address, the same on every server: the gate's defaults. */
export const limits = { hourly: 20, daily: 100, open: 3 } as const
