/** The budgets of one address, on every server alike. */
export const limits = { hourly: 20, daily: 100 } as const
