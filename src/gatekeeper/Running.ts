/** What the sweeps of this gate have found in each campaign. */
import { Context, Layer } from "effect"
import type { Swept } from "../fifo-queue/FifoQueue.ts"
import type { Campaign } from "../settings/Settings.ts"

export type Found = Pick<Swept, "live" | "doubts">

export class Running extends Context.Service<
  Running,
  {
    /** Undefined before its first sweep. */
    readonly of: (campaign: Campaign) => Found | undefined
    /** The calls of these campaigns, with those that may run. */
    readonly ofAll: (campaigns: ReadonlyArray<Campaign>) => number
    readonly found: (campaign: Campaign, found: Found) => void
    readonly swept: (campaign: Campaign, succeeded: boolean) => void
    /** The campaigns whose last sweep failed, by their names. */
    readonly failing: () => ReadonlyArray<string>
  }
>()("voicegate/gatekeeper/Running") {}

export const layer: Layer.Layer<Running> = Layer.sync(Running, () => {
  const known = new Map<Campaign, Found>()
  const failing = new Set<string>()
  return {
    of: (campaign) => known.get(campaign),
    ofAll: (campaigns) =>
      campaigns.reduce((sum, campaign) => {
        const { doubts, live } = known.get(campaign) ?? { doubts: 0, live: 0 }
        return sum + live + doubts
      }, 0),
    found: (campaign, { doubts, live }) => void known.set(campaign, { doubts, live }),
    swept: ({ name }, succeeded) => void (succeeded ? failing.delete(name) : failing.add(name)),
    failing: () => [...failing],
  }
})
