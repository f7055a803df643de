/** Metrics with a series for each campaign, of which a process shows a bounded number. */
import type { Metric } from "effect"

/** How many campaigns a metric names; those beyond share one label, so that a scrape keeps its size with any number of campaigns. */
const MAX_CAMPAIGNS = 200
const OTHERS = "(others)"

export interface CampaignSeries<M> {
  readonly of: (campaign: string) => M
  /** All series that exist so far. */
  readonly all: () => ReadonlyArray<M>
  /** The same by campaign. */
  readonly byCampaign: () => ReadonlyMap<string, M>
}

/** Makes each series once, when it is first asked for. */
export const campaignSeries = <M extends Metric.Metric<number, unknown>>(
  make: (campaign: string) => M,
): CampaignSeries<M> => {
  const series = new Map<string, M>()
  const made = (label: string): M => {
    const one = make(label)
    series.set(label, one)
    return one
  }
  return {
    of: (campaign) =>
      series.get(campaign) ?? (series.size < MAX_CAMPAIGNS ? made(campaign) : (series.get(OTHERS) ?? made(OTHERS))),
    all: () => [...series.values()],
    byCampaign: () => series,
  }
}
