/** The budgets of one address, on every server alike: the gate's defaults. */
export const limits = { hourly: 20, daily: 100, open: 3 } as const
