/**
 * Refuses a caller for whom a budget leaves too little, before anything else is spent on the request: no lookup, no quota, no place in the
 * queue. It holds nothing; that is done when the call starts (`calls/Starts.ts`).
 */
import { Context, Effect, Layer } from "effect"
import { Budgets } from "../../budgets/Budgets.ts"
import * as metrics from "../../budgets/metrics.ts"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import type { Identity } from "../../protocol/identity.ts"
import type { BudgetExhausted, StoreUnavailable } from "../../protocol/refusals.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Campaigns } from "../Campaigns.ts"
import { UsedUpBudgets } from "../UsedUpBudgets.ts"
import { callerOf } from "./caller-keys.ts"

export class CheckBudgets extends Context.Service<
  CheckBudgets,
  /** Undefined where the campaign has no budgets. */
  (
    campaign: Campaign,
    address: string,
    identity: Pick<Identity, "subject"> | undefined,
  ) => Effect.Effect<void, BudgetExhausted | StoreUnavailable> | undefined
>()("voicegate/gatekeeper/CheckBudgets") {}

export const layer: Layer.Layer<CheckBudgets, never, Budgets | CallerNames | Campaigns | UsedUpBudgets> = Layer.effect(
  CheckBudgets,
  Effect.gen(function* () {
    const budgets = yield* Budgets
    const names = yield* CallerNames
    const campaigns = yield* Campaigns
    const usedUp = yield* UsedUpBudgets
    return (campaign, address, identity) =>
      budgets.has(campaign)
        ? Effect.tapErrorTag(
            budgets.check({ campaign, key: campaigns.key(campaign) }, callerOf(names, address, identity)),
            "BudgetExhausted",
            (refusal) => {
              usedUp.refused(campaign, refusal)
              return metrics.refused(campaign.name, refusal.budget)
            },
          )
        : undefined
  }),
)
