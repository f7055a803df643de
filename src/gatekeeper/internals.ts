/** The parts of a running gate that an operator sees and acts through (`operator/`). No request needs them. */
import type { Effect } from "effect/Effect"
import type { AccountCapacity, CampaignContext, StepResult } from "../fifo-queue/FifoQueue.ts"
import type { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { Campaigns } from "./Campaigns.ts"
import type { Instance } from "./peers/Instance.ts"
import type { Gates, GatesStatus } from "./peers/Peers.ts"
import type { RemovedCampaign } from "./peers/RemovedCampaigns.ts"
import type { Steps } from "./Steps.ts"

export interface Internals {
  readonly instance: Instance
  readonly campaigns: Pick<Campaigns, "all" | "find" | "key">
  readonly slots: (campaign: Campaign) => number
  /** The capacity of the campaign's account; undefined without an account. */
  readonly account: (campaign: Campaign) => AccountCapacity | undefined
  /** Takes a step in the campaign's queue; its signals are pushed, and its settlements are carried out. */
  readonly step: <A>(
    campaign: Campaign,
    take: (at: CampaignContext) => Effect<StepResult<A>, StoreUnavailable>,
  ) => Effect<A, StoreUnavailable>
  /** The other gates on this store, and conflicts with them. */
  readonly gatesStatus: () => GatesStatus
  /** Removed campaigns of which tickets or sessions are left. */
  readonly removed: () => ReadonlyArray<RemovedCampaign>
  /** Why campaigns are closed that Redis refuses, by their names. */
  readonly closedQueues: () => ReadonlyMap<string, string>
  readonly handover: Handover
  /** Checks a campaign's platform. What that shows becomes the state that everybody is told (`PlatformStates.ts`). */
  readonly verify: PlatformApi["Service"]["verify"]
}

/** The other gatekeeper, as far as the one that it replaces must know it. */
export type Successor = Pick<Internals, "campaigns" | "slots" | "account">

/** How another gatekeeper of the same instance takes over, with other settings (`reload/`). */
export interface Handover {
  /** Tickets whose pages an outage has moved and that may not have returned yet. */
  readonly movedTickets: () => ReadonlyArray<string>
  /**
   * Stops the background tasks, after the other gatekeeper has started its own. What still runs here finishes with the slots of the
   * other gatekeeper. Other gates are told that this instance no longer serves the campaigns that the other gatekeeper does not
   * serve.
   */
  readonly stopBackground: (successor: Successor) => Effect<void>
  /** How many failed requests have not given back yet what they took, plus the number of follow-ups that are running. */
  readonly pending: () => number
}

export const internalsOf = (
  instance: Instance,
  campaigns: Campaigns,
  { account, slots }: Pick<Internals, "account" | "slots">,
  { at, step }: Steps,
  { removed, status }: Gates,
  closedQueues: Internals["closedQueues"],
  handover: Handover,
  verify: Internals["verify"],
): Internals => ({
  instance,
  campaigns,
  slots,
  account,
  step: (campaign, take) => {
    const where = at(campaign)
    return step(where, take(where))
  },
  gatesStatus: status,
  removed: removed.known,
  closedQueues,
  handover,
  verify,
})
