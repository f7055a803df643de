/** What a newcomer to each campaign would find, by its last sweep: how long to wait, and what an operator has decided. An answer from memory, for whoever asks. */
import { Context, Layer } from "effect"
import type { Swept } from "../fifo-queue/FifoQueue.ts"
import type { Campaign } from "../settings/Settings.ts"
import { estimateSeconds } from "./outcomes.ts"

/** What an operator has decided, and a budget for which callers wait. `draining`: no newcomer is let in. `paused`: newcomers queue, and nobody is called, until `pausedUntil` (ms since 1970) if that is known. */
export type Decided = Pick<Swept, "draining" | "paused" | "pausedUntil" | "resumesAt">

export class ExpectedWaits extends Context.Service<
  ExpectedWaits,
  {
    /** A sweep found these figures, with so many slots. */
    readonly swept: (campaign: Campaign, swept: Swept, slots: number) => void
    /** In seconds: 0 while a slot is free, null while nothing is known. */
    readonly secondsOf: (campaign: Campaign) => number | null
    /** What an operator has decided; empty while nothing is known. */
    readonly decided: (campaign: Campaign) => Decided
  }
>()("voicegate/gatekeeper/ExpectedWaits") {}

export const layer: Layer.Layer<ExpectedWaits> = Layer.sync(ExpectedWaits, () => {
  const seconds = new Map<Campaign, number | null>()
  const decided = new Map<Campaign, Decided>()
  return {
    swept: (campaign, swept, configured) => {
      const { allowed, averageMillis, disrupted, heldMillis, leases, resumesAt, unpaid = 0, waiting } = swept
      decided.set(campaign, swept)
      const slots = allowed ?? configured
      const place = {
        averageMillis,
        disrupted,
        position: waiting - unpaid + 1,
        slots,
        ...(heldMillis && { heldMillis }),
      }
      const isServed = waiting <= unpaid && leases < slots && resumesAt === undefined
      seconds.set(campaign, isServed ? 0 : estimateSeconds(place, configured))
    },
    secondsOf: (campaign) => seconds.get(campaign) ?? null,
    decided: (campaign) => decided.get(campaign) ?? {},
  }
})
