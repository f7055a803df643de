/**
 * The gatekeeper that has taken over from this one, with other settings (`reload/`). A step that finishes here must not call more tickets
 * than the other one has slots.
 */

import { Context, Effect, Layer } from "effect"
import type { AccountCapacity } from "../fifo-queue/step.ts"
import type { Campaign } from "../settings/Settings.ts"
import { Campaigns } from "./Campaigns.ts"
import { Capacity } from "./capacity/Capacity.ts"

/** The other gatekeeper, as far as this one must know it. */
export interface Other {
  readonly campaigns: Pick<Campaigns["Service"], "all" | "key">
  readonly slots: (campaign: Campaign) => number
  readonly account: (campaign: Campaign) => AccountCapacity | undefined
}

export class Successor extends Context.Service<
  Successor,
  {
    readonly set: (other: Other) => void
    readonly serves: (campaign: Campaign) => boolean
    /** The slots of a campaign: of the other gatekeeper, once there is one. */
    readonly slots: (campaign: Campaign) => number
    /** The capacity of the campaign's account, likewise; undefined without an account. */
    readonly account: (campaign: Campaign) => AccountCapacity | undefined
  }
>()("voicegate/gatekeeper/Successor") {}

export const layer: Layer.Layer<Successor, never, Campaigns | Capacity> = Layer.effect(
  Successor,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const capacity = yield* Capacity
    let other: Other | undefined
    /** This campaign in the settings of the other gatekeeper, under any name. */
    const served = (campaign: Campaign): Campaign | undefined => {
      const key = campaigns.key(campaign)
      return other?.campaigns.all.find((each) => other?.campaigns.key(each) === key)
    }
    return {
      set: (next) => {
        other = next
      },
      serves: (campaign) => served(campaign) !== undefined,
      slots: (campaign) => {
        if (other === undefined) return capacity.slots(campaign)
        const taken = served(campaign)
        return taken === undefined ? 0 : other.slots(taken)
      },
      account: (campaign) => {
        if (other === undefined) return capacity.account(campaign)
        const taken = served(campaign)
        return taken && other.account(taken)
      },
    }
  }),
)
