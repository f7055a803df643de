/** Platforms that tell the gates in another way that a call is over. */
import type { BudgetsPlan, Plan, PlatformScript } from "./plan.ts"

/** A budget cannot end a call there. */
const withoutEnds = (plan: BudgetsPlan): BudgetsPlan => ({
  ...plan,
  budgets: plan.budgets.map((budget) => (budget.OnLimit === "end" ? { ...budget, OnLimit: "refuse" } : budget)),
})

/** The same history with a platform that has another kind of end signal, or none. */
export const withSignals = (
  { control: { lengths: _, vendor: __, budgets, ...control }, ...plan }: Plan,
  signals: "page" | "none",
): Plan => ({
  ...plan,
  signals,
  // the gate cannot end a call there
  control: budgets === undefined ? control : { ...control, budgets: withoutEnds(budgets) },
  status: "unknown",
  // so that a history without any other end comes to rest
  callMinutes: 1,
  actions: plan.actions.map((action) => {
    if (action.kind !== "arrive") return action
    const [first, ...further] = action.platform
    const untold = (script: PlatformScript): PlatformScript => ({ ...script, webhooks: [] })
    return { ...action, platform: [untold(first), ...further.map(untold)] }
  }),
})
