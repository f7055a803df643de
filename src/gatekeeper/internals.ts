/** The parts of a running gate that an operator sees and acts through (`operator/`). No request needs them. */
import type { Effect } from "effect"
import type { CampaignContext, StepResult } from "../FifoQueue.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Campaign } from "../Settings.ts"
import type { Campaigns } from "./campaigns.ts"
import type { Capacity } from "./capacity.ts"
import type { Gates, GatesStatus } from "./gates.ts"
import type { Instance } from "./instance.ts"
import type { RemovedCampaign } from "./removed-campaigns.ts"
import type { Steps } from "./steps.ts"

export interface Internals {
  readonly instance: Instance
  readonly campaigns: Pick<Campaigns, "all" | "find">
  readonly slots: (campaign: Campaign) => number
  /** Takes a step in the campaign's queue; its signals are pushed, and its settlements are carried out. */
  readonly step: <A>(
    campaign: Campaign,
    take: (at: CampaignContext) => Effect.Effect<StepResult<A>, StoreUnavailable>,
  ) => Effect.Effect<A, StoreUnavailable>
  /** The other gates on this store, and conflicts with them. */
  readonly gatesStatus: () => GatesStatus
  /** Removed campaigns of which tickets or sessions are left. */
  readonly removed: () => ReadonlyArray<RemovedCampaign>
}

export const internalsOf = (
  instance: Instance,
  campaigns: Campaigns,
  { slots }: Capacity,
  { at, step }: Steps,
  { removed, status }: Gates,
): Internals => ({
  instance,
  campaigns,
  slots,
  step: (campaign, take) => {
    const where = at(campaign)
    return step(where, take(where))
  },
  gatesStatus: status,
  removed: removed.known,
})
