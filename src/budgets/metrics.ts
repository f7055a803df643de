/** The metrics of budgets. Amounts are minutes, or the currency of the campaign's price. */
import { Effect, Metric } from "effect"

const alerts = Metric.counter("voicegate_budget_alerts_total", {
  description: "Shares of budgets at which was alerted (`AlertAt`), once a window each",
  incremental: true,
})
const overruns = Metric.counter("voicegate_budget_overrun_total", {
  description: "What was settled and held beyond the caps of budgets, in minutes or money",
  incremental: true,
})
const refusals = Metric.counter("voicegate_budget_refusals_total", {
  description: "Calls that were refused because a budget is used up",
  incremental: true,
})
const gauge = (name: string, description: string) => Metric.gauge(name, { description })
const refusing = gauge("voicegate_budget_refusing", "1 while new calls are refused because of the budget, else 0")
const gauges = {
  settled: gauge("voicegate_budget_settled", "What a campaign's or account's budget was charged in its present window"),
  held: gauge("voicegate_budget_held", "What running calls hold of it"),
  cap: gauge("voicegate_budget_cap", "Its cap, with what an operator has added"),
}

/** Has the counters of a budget begin at 0: Prometheus sees no increase in a series that begins with its first count. */
export const register = (campaign: string, budget: string): Effect.Effect<void> =>
  Effect.forEach(
    [alerts, overruns, refusals],
    (counter) => Metric.value(Metric.withAttributes(counter, { campaign, budget })),
    { discard: true },
  )

export const alerted = (campaign: string, budget: string): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(alerts, { campaign, budget }), 1)

export const overrun = (campaign: string, budget: string, amount: number): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(overruns, { campaign, budget }), amount)

export const refused = (campaign: string, budget: string): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(refusals, { campaign, budget }), 1)

export const show = (
  what: keyof typeof gauges,
  campaign: string,
  budget: string,
  amount: number,
): Effect.Effect<void> => Metric.update(Metric.withAttributes(gauges[what], { campaign, budget }), amount)

/** The budgets of each campaign of which `showRefusing` has said something. */
const said = new Map<string, ReadonlyArray<string>>()

/** Shows which budgets of a campaign refuse new calls. One that the settings have no more refuses nobody. */
export const showRefusing = (
  campaign: string,
  budgets: ReadonlyArray<readonly [budget: string, refuses: boolean]>,
): Effect.Effect<void> => {
  const all = new Map([...(said.get(campaign) ?? []).map((budget) => [budget, false] as const), ...budgets])
  if (all.size > 0) said.set(campaign, [...all.keys()])
  return Effect.forEach(
    all,
    ([budget, refuses]) => Metric.update(Metric.withAttributes(refusing, { campaign, budget }), refuses ? 1 : 0),
    { discard: true },
  )
}
