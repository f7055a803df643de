/** The service `Admission`, without its layers. */

import { Context, type Effect } from "effect"
import type { Admitted } from "../fifo-queue/answers.ts"
import type { Newcomer } from "../fifo-queue/inputs.ts"
import type { CampaignContext, StepResult } from "../fifo-queue/step.ts"
import type { CallerLimits } from "../protocol/identity.ts"
import type { RateLimited, StoreUnavailable } from "../protocol/refusals.ts"
import type { Noted } from "./answers.ts"

/** The result of an admission, with the limits that metrics count for the caller. */
export interface AdmissionResult extends StepResult<Admitted>, Noted {}

/** @param limits the caller's own, in place of those of the settings */
export type Admit = (
  at: CampaignContext,
  newcomer: Newcomer,
  limits?: CallerLimits,
) => Effect.Effect<AdmissionResult, RateLimited | StoreUnavailable>

export class Admission extends Context.Service<
  Admission,
  {
    /**
     * Takes a unit of each budget of the newcomer's caller and admits the ticket: to a slot, to the queue, or not at
     * all. After `RateLimited` nothing was taken. After `StoreUnavailable` it is unknown what was taken, unless the
     * store was not asked (`unasked`).
     */
    readonly admit: Admit
  }
>()("voicegate/Admission") {}
