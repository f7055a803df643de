/**
 * The limiter's part of a step of the store that also does something else (`admission/layer.ts`). Only the layer of this package's limiter
 * provides it, so a limiter of a host's own can have no part in such a step.
 */
import { Context, type Result } from "effect"
import type { CallerLimits } from "../protocol/identity.ts"
import type { RateLimited } from "../protocol/refusals.ts"
import type { Store } from "../store/Store.ts"
import type { Usage } from "./answers.ts"
import type { RateLimiter } from "./RateLimiter.ts"
import type { Budgets } from "./rules/units.ts"

export interface TakeRequest {
  /** the key of the caller's units, and that of its units of shadow limits if there are any */
  readonly logs: ReadonlyArray<string>
  /** the same object every time, for callers with the same limits */
  readonly budgets: Budgets
  /** whether the budgets are the caller's own */
  readonly own: boolean
  /** limits that are only counted; undefined for none */
  readonly shadow: Budgets | undefined
  /** Makes the error for a rule that took nothing. */
  readonly refusal: (usage: Usage) => RateLimited
}

export class TakeStep extends Context.Service<
  TakeStep,
  {
    /** the limiter and the store that this is a part of */
    readonly limiter: RateLimiter["Service"]
    readonly store: Store["Service"]
    /**
     * Makes the arguments for taking units without reading the budgets' state; undefined when there is no limit. Fails with a remembered
     * refusal.
     */
    readonly request: (
      caller: string,
      now: number,
      limits?: CallerLimits,
    ) => Result.Result<TakeRequest | undefined, RateLimited>
  }
>()("voicegate/rate-limiter/TakeStep") {}
