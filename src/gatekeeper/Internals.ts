/** The parts of a running gate that an operator sees and acts through (`operator/`). No request needs them. */

import { Context, Effect, Layer } from "effect"
import type { AccountCapacity, CampaignContext, StepResult } from "../fifo-queue/step.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Campaign } from "../settings/Settings.ts"
import { ClosedQueues } from "./background/ClosedQueues.ts"
import { Campaigns } from "./Campaigns.ts"
import { Handover } from "./Handover.ts"
import { Hours, type HoursState } from "./Hours.ts"
import { Instance } from "./peers/Instance.ts"
import { Peers, type PeersStatus } from "./peers/Peers.ts"
import { type RemovedCampaign, RemovedCampaigns } from "./peers/RemovedCampaigns.ts"
import { Steps } from "./Steps.ts"
import { Successor } from "./Successor.ts"

export class Internals extends Context.Service<
  Internals,
  {
    readonly instance: Instance["Service"]
    readonly campaigns: Pick<Campaigns["Service"], "all" | "find" | "key">
    readonly slots: (campaign: Campaign) => number
    /** What the hours of a campaign say at a time (ms); undefined for one that is always open. */
    readonly hours: (campaign: Campaign, now: number) => HoursState | undefined
    /** Undefined without an account. */
    readonly account: (campaign: Campaign) => AccountCapacity | undefined
    /** Takes a step in the campaign's queue; its signals are pushed, and its settlements are carried out. */
    readonly step: <A>(
      campaign: Campaign,
      take: (at: CampaignContext) => Effect.Effect<StepResult<A>, StoreUnavailable>,
    ) => Effect.Effect<A, StoreUnavailable>
    readonly peers: () => PeersStatus
    /** Removed campaigns of which tickets or sessions are left. */
    readonly removed: () => ReadonlyArray<RemovedCampaign>
    /** Why campaigns are closed that Redis refuses, by their names. */
    readonly closedQueues: () => ReadonlyMap<string, string>
    readonly handover: Handover["Service"]
    /** Checks a campaign's platform. What that shows becomes the state that everybody is told (`PlatformStates.ts`). */
    readonly verify: PlatformApi["Service"]["verify"]
  }
>()("voicegate/gatekeeper/Internals") {}

export const layer: Layer.Layer<
  Internals,
  never,
  Campaigns | ClosedQueues | Handover | Hours | Instance | Peers | PlatformApi | RemovedCampaigns | Steps | Successor
> = Layer.effect(
  Internals,
  Effect.gen(function* () {
    const { at, step } = yield* Steps
    const { account, slots } = yield* Successor
    return {
      instance: yield* Instance,
      campaigns: yield* Campaigns,
      slots,
      hours: (yield* Hours).stateOf,
      account,
      step: (campaign, take) => {
        const where = at(campaign)
        return step(where, take(where))
      },
      peers: (yield* Peers).status,
      removed: (yield* RemovedCampaigns).known,
      closedQueues: (yield* ClosedQueues).reasons,
      handover: yield* Handover,
      verify: (yield* PlatformApi).verify,
    }
  }),
)
