/**
 * What `Admission.layerAtomic` needs of this package's queue to admit a newcomer within a step that also takes quota. A host's own queue
 * has no port, so it is asked through its service.
 */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Store } from "../store/Store.ts"
import type { FifoQueue, Newcomer } from "./FifoQueue.ts"
import type { Newcomer as NewcomerCall } from "./rules/admit.ts"
import type { QueueContext } from "./rules/shared/step.ts"
import type { CampaignContext, StepResult } from "./step.ts"

/** The queue's part of a store step that also does something else (`admission/layer.ts`). */
export interface AdmissionPort {
  readonly keys: (at: CampaignContext) => ReadonlyArray<string>
  /** The same object while nothing changes. */
  readonly context: (at: CampaignContext) => QueueContext
  readonly newcomer: (newcomer: Newcomer) => NewcomerCall
  /**
   * Runs a step of the campaign. An outage of this gate is reported to the store first, and a failure of the step is recorded as an
   * outage. The step gets the store's time.
   */
  readonly reportFirst: <A, E extends { readonly _tag: string }>(
    at: CampaignContext,
    step: (now: number) => Effect.Effect<StepResult<A>, E>,
  ) => Effect.Effect<StepResult<A>, E | StoreUnavailable>
}

interface PortOverStore extends AdmissionPort {
  readonly store: Store["Service"]
}

const ports = new WeakMap<FifoQueue["Service"], PortOverStore>()

/** Records the queue's part for this store. */
export const registerAdmissionPort = (queue: FifoQueue["Service"], port: PortOverStore): void => {
  ports.set(queue, port)
}

/** The queue's part for this store; undefined for a queue that is not this package's, or is over another store. */
export const admissionPortOf = (queue: FifoQueue["Service"], store: Store["Service"]): AdmissionPort | undefined => {
  const found = ports.get(queue)
  return found?.store === store ? found : undefined
}
