/** The kinds of windows by which a budget is counted. */
export const PERIODS = ["hour", "day", "month"] as const
export type Period = (typeof PERIODS)[number]
