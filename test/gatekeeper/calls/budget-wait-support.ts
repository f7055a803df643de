/** A gate whose callers wait for a budget of the present hour (`OnLimit: wait`), and what they and its operator see of that. */
import { Effect, Metric } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import { iso } from "../ticket-support.ts"

export const HOUR = 3_600_000

/** A budget of minutes an hour, for which callers wait. */
export const awaited = (budget: object): object => ({ Unit: "minutes", Per: "hour", OnLimit: "wait", ...budget })

export const given = (Budgets: ReadonlyArray<object>, more: object = {}) => ({
  VoiceAiPlatform: { MaxConcurrency: 2, Budgets, ...more },
})

/** What a caller is told who waits for the next hour. */
export const held = { paused: true, pausedUntil: iso(HOUR), resumesAt: iso(HOUR) }

export const status = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
export const availability = Gatekeeper.use((gate) => gate.availability())

/** What alerts see: how many wait, and how many of them for a budget. */
export const gauges = Effect.forEach(["waiting", "waitingForBudget"] as const, (name) =>
  Effect.map(Metric.value(metrics.gauges[name]("default")), ({ value }) => value),
)
