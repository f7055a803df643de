/** The service `RateLimiter`, without its layers. */
import { Context, type Effect } from "effect"
import type { CallerLimits } from "../protocol/identity.ts"
import type { LimitState, RateLimited, StoreUnavailable } from "../protocol/refusals.ts"
import type { LimitName } from "./answers.ts"

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** whether open tickets are limited, so that the end of each must be reported */
    readonly holds: boolean
    /**
     * Takes a unit from each budget of `caller` (the name of its address's `limitKey`, or of its subject) under `token`, which must be new.
     * Returns the state of the budgets.
     *
     * @param limits the caller's own, in place of those of the settings
     */
    readonly take: (
      caller: string,
      token: string,
      limits?: CallerLimits,
    ) => Effect.Effect<ReadonlyArray<LimitState>, RateLimited | StoreUnavailable>
    /**
     * A refusal of this caller that still holds, from this instance's memory; undefined when none is remembered, which does
     * not mean that a unit is free. Does not access the store and takes nothing.
     */
    readonly refusal: (caller: string, limits?: CallerLimits) => Effect.Effect<RateLimited | undefined>
    /**
     * Gives back all units that the token took, because the call did not happen. After `Security.RefundsPerHour` refunds in
     * an hour it gives back only the open ticket. Idempotent.
     */
    readonly refund: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
    /**
     * Takes a unit of each shadow limit (`Security.Shadow`) and names the one that would have refused it; undefined for none. Absent
     * without shadow limits.
     */
    readonly shadow?: (caller: string, token: string) => Effect.Effect<LimitName | undefined, StoreUnavailable>
    /** The token's ticket is no longer open; its units of the hour and the day stay used. Idempotent. */
    readonly release: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
    /** As `release`, after a missed turn: takes further units until it has cost `Security.MissedTurnCost`. Idempotent. */
    readonly missed: (caller: string, token: string) => Effect.Effect<void, StoreUnavailable>
    /**
     * Forgets what a caller has used, or counts it: `units`. Those of `open` tickets are kept. Absent for a limiter of a host's own that cannot.
     */
    readonly forget?: (
      caller: string,
      remove: boolean,
    ) => Effect.Effect<{ readonly units: number; readonly open: number }, StoreUnavailable>
  }
>()("voicegate/RateLimiter") {}
