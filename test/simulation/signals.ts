/** Platforms that tell the gates in another way that a call is over. */
import type { Plan, PlatformScript } from "./plan.ts"

/** The same history with a platform that has another kind of end signal, or none. */
export const withSignals = (
  { control: { lengths: _, ...control }, ...plan }: Plan,
  signals: "page" | "none",
): Plan => ({
  ...plan,
  signals,
  // the gate cannot end a call there
  control,
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
