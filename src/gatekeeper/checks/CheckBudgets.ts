/**
 * Refuses a caller for whom a budget leaves too little, before anything else is spent on the request: no lookup, no quota, no place in the
 * queue. It holds nothing; that is done when the call starts (`calls/Starts.ts`).
 *
 * A caller who waits for a budget of his own is let through, unless the campaign closes before, or a host's queue has no such wait.
 */
import { Context, Effect, Layer } from "effect"
import { Budgets, type OwnWait } from "../../budgets/Budgets.ts"
import * as metrics from "../../budgets/metrics.ts"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { Identity } from "../../protocol/identity.ts"
import type { BudgetExhausted, StoreUnavailable } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Campaigns } from "../Campaigns.ts"
import { Hours } from "../Hours.ts"
import { Overflow } from "../Overflow.ts"
import { UsedUpBudgets } from "../UsedUpBudgets.ts"
import { callerOf } from "./caller-keys.ts"

export class CheckBudgets extends Context.Service<
  CheckBudgets,
  /** Undefined where the campaign has no budgets. Answers with the budget of his own for which the caller waits; undefined for none. */
  (
    campaign: Campaign,
    address: string,
    identity: Pick<Identity, "subject"> | undefined,
  ) => Effect.Effect<OwnWait | undefined, BudgetExhausted | StoreUnavailable> | undefined
>()("voicegate/gatekeeper/CheckBudgets") {}

export const layer: Layer.Layer<
  CheckBudgets,
  never,
  Budgets | CallerNames | Campaigns | FifoQueue | Hours | Overflow | Store | UsedUpBudgets
> = Layer.effect(
  CheckBudgets,
  Effect.gen(function* () {
    const budgets = yield* Budgets
    const names = yield* CallerNames
    const campaigns = yield* Campaigns
    const hours = yield* Hours
    const overflow = yield* Overflow
    const { unpaid } = yield* FifoQueue
    const store = yield* Store
    const usedUp = yield* UsedUpBudgets

    /** Who would wait for longer than the campaign is open does not wait in vain. */
    const waitsInTime = (campaign: Campaign, wait: OwnWait): Effect.Effect<OwnWait, BudgetExhausted> =>
      Effect.flatMap(store.now, (now) => {
        const state = hours.stateOf(campaign, now)
        const closesAt = state?.state === "open" ? state.closesAt : undefined
        const isInVain = closesAt !== undefined && wait.refusal.resetsAt > closesAt
        return unpaid === undefined || isInVain ? Effect.fail(wait.refusal) : Effect.succeed(wait)
      })

    return (campaign, address, identity) =>
      budgets.has(campaign)
        ? budgets.check({ campaign, key: campaigns.key(campaign) }, callerOf(names, address, identity)).pipe(
            Effect.flatMap((wait) => (wait === undefined ? Effect.undefined : waitsInTime(campaign, wait))),
            Effect.tapErrorTag("BudgetExhausted", (refusal) => {
              usedUp.refused(campaign, refusal)
              return metrics.refused(campaign.name, refusal.budget)
            }),
            Effect.catchTag("BudgetExhausted", (refusal) => overflow.refuseForBudget(campaign, refusal)),
          )
        : undefined
  }),
)
