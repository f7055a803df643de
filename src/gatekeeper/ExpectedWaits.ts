/** How long a newcomer to each campaign would wait, by the figures of its last sweep: an answer from memory, for whoever asks. */
import { Context, Layer } from "effect"
import type { Swept } from "../fifo-queue/FifoQueue.ts"
import type { Campaign } from "../settings/Settings.ts"
import { estimateSeconds } from "./outcomes.ts"

export class ExpectedWaits extends Context.Service<
  ExpectedWaits,
  {
    /** A sweep found these figures, with so many slots. */
    readonly swept: (campaign: Campaign, swept: Swept, slots: number) => void
    /** In seconds: 0 while a slot is free, null while nothing is known. */
    readonly secondsOf: (campaign: Campaign) => number | null
  }
>()("voicegate/gatekeeper/ExpectedWaits") {}

export const layer: Layer.Layer<ExpectedWaits> = Layer.sync(ExpectedWaits, () => {
  const seconds = new Map<Campaign, number | null>()
  return {
    swept: (campaign, { allowed, averageMillis, disrupted, leases, waiting }, configured) => {
      const slots = allowed ?? configured
      const place = { averageMillis, disrupted, position: waiting + 1, slots }
      seconds.set(campaign, waiting === 0 && leases < slots ? 0 : estimateSeconds(place, configured))
    },
    secondsOf: (campaign) => seconds.get(campaign) ?? null,
  }
})
