/**
 * Which budgets callers wait for. The store knows only until when: the end of the budget's window. So a budget is named by the window that
 * ends then, or next to then, since the store's time and the time of day may have moved apart meanwhile.
 */
import type { AwaitedWindow } from "../budgets/Budgets.ts"
import type { CampaignSnapshot } from "../fifo-queue/operator/OperatorQueue.ts"

/** How far the end of a window and the time that is stored may be apart (ms). */
const MAX_APART = 5 * 60_000

/** Those of the campaign and its account, or those of callers; none where no window ends then, as where another gate has other budgets. */
const namesOf = (windows: ReadonlyArray<AwaitedWindow>, own: boolean, resumesAt: number): ReadonlyArray<string> => {
  const all = windows.filter((window) => (window.own === true) === own)
  const apart = ({ until }: AwaitedWindow): number => Math.abs(until - resumesAt)
  const least = Math.min(...all.map(apart))
  if (least > MAX_APART) return []
  return all.filter((window) => apart(window) === least).map(({ name }) => name)
}

/** Adds which budgets are waited for, and has the rows tell the time of day, as the figures do. */
export const withBudgetNames = (
  snapshot: CampaignSnapshot,
  windows: ReadonlyArray<AwaitedWindow>,
  aheadMillis: number,
): CampaignSnapshot => {
  const named = (own: boolean, resumesAt: number): Pick<CampaignSnapshot, "budgets" | "resumesAt"> => {
    const budgets = namesOf(windows, own, resumesAt)
    return budgets.length === 0 ? { resumesAt } : { resumesAt, budgets }
  }
  return {
    ...snapshot,
    ...(snapshot.resumesAt === undefined ? {} : named(false, snapshot.resumesAt)),
    waitingPage: snapshot.waitingPage.map((row) =>
      row.resumesAt === undefined ? row : { ...row, ...named(true, row.resumesAt + aheadMillis) },
    ),
  }
}
