/**
 * The queue's part of a step of the store that also does something else (`admission/layer.ts`). Only the layer of this package's queue provides
 * it, so a queue of a host's own can have no part in such a step.
 */
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Store } from "../store/Store.ts"
import type { FifoQueue } from "./FifoQueue.ts"
import type { QueueContext } from "./rules/shared/step.ts"
import type { CampaignContext, StepResult } from "./step.ts"

export class QueueStep extends Context.Service<
  QueueStep,
  {
    /** the queue and the store that this is a part of */
    readonly queue: FifoQueue["Service"]
    readonly store: Store["Service"]
    /** The keys and the context of a step at this time (ms since 1970); the context is the same object while nothing changes. */
    readonly input: (
      at: CampaignContext,
      now: number,
    ) => { readonly keys: ReadonlyArray<string>; readonly context: QueueContext }
    /**
     * Runs a step of the campaign. An outage of this gate is reported to the store first, and a failure of the step is recorded as an
     * outage. The step gets the store's time.
     */
    readonly reportFirst: <A, E extends { readonly _tag: string }>(
      at: CampaignContext,
      step: (now: number) => Effect.Effect<StepResult<A>, E>,
    ) => Effect.Effect<StepResult<A>, E | StoreUnavailable>
  }
>()("voicegate/fifo-queue/QueueStep") {}
