/** The parts of a running gate that an operator sees and acts through (`operator/`). No request needs them. */

import { Context, Effect, Layer } from "effect"
import { type Adjusted, type Adjustment, type BudgetBalance, Budgets } from "../budgets/Budgets.ts"
import { CallerNames } from "../caller-names/CallerNames.ts"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import type { AccountCapacity, CampaignContext, StepResult } from "../fifo-queue/step.ts"
import { IdentityTokens, type KeysState } from "../identity-tokens/IdentityTokens.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { RateLimiter } from "../rate-limiter/RateLimiter.ts"
import type { Campaign } from "../settings/Settings.ts"
import { ClosedQueues } from "./background/ClosedQueues.ts"
import { CallerWatch, type Watch } from "./CallerWatch.ts"
import { Campaigns } from "./Campaigns.ts"
import { callerOf } from "./checks/caller-keys.ts"
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
    /** The balances of a campaign's budgets, those for which callers wait, and their adjustment, with a line in the audit log of the campaign. */
    readonly budgets: {
      readonly awaitedWindows: Budgets["Service"]["awaitedWindows"]
      readonly balances: (
        campaign: Campaign,
        caller?: string,
      ) => Effect.Effect<ReadonlyArray<BudgetBalance>, StoreUnavailable>
      readonly adjust: (
        campaign: Campaign,
        name: string,
        adjustment: Adjustment,
        by: { readonly operator: string; readonly reason: string },
      ) => Effect.Effect<Adjusted | undefined, StoreUnavailable>
    }
    /** How a caller is known to limits and budgets: by the subject of a token, or the address. */
    readonly callerKey: (caller: { readonly subject?: string; readonly address?: string }) => string
    /** The same in a removed campaign. */
    readonly stepIn: Steps["Service"]["step"]
    readonly at: Steps["Service"]["at"]
    /** how callers are named, and their limits: for who is forgotten */
    readonly names: CallerNames["Service"]
    readonly limiter: RateLimiter["Service"]
    readonly peers: () => PeersStatus
    /** Removed campaigns of which tickets or sessions are left. */
    readonly removed: () => ReadonlyArray<RemovedCampaign>
    /** Why campaigns are closed that Redis refuses, by their names. */
    readonly closedQueues: () => ReadonlyMap<string, string>
    readonly handover: Handover["Service"]
    /** What is known of the server of public keys; undefined without `Identity.JwksUrl`. */
    readonly keys: (() => KeysState) | undefined
    /** Who asks and is refused, and whom operators block; undefined without a console. */
    readonly watch: Watch | undefined
    /** Checks a campaign's platform. What that shows becomes the state that everybody is told (`PlatformStates.ts`). */
    readonly verify: PlatformApi["Service"]["verify"]
  }
>()("voicegate/gatekeeper/Internals") {}

export const layer: Layer.Layer<
  Internals,
  never,
  | CallerWatch
  | Budgets
  | CallerNames
  | Campaigns
  | ClosedQueues
  | FifoQueue
  | Handover
  | Hours
  | IdentityTokens
  | Instance
  | Peers
  | PlatformApi
  | RateLimiter
  | RemovedCampaigns
  | Steps
  | Successor
> = Layer.effect(
  Internals,
  Effect.gen(function* () {
    const { at, step } = yield* Steps
    const { account, slots } = yield* Successor
    const budgets = yield* Budgets
    const campaigns = yield* Campaigns
    const names = yield* CallerNames
    const queue = yield* FifoQueue
    return {
      budgets: {
        awaitedWindows: budgets.awaitedWindows,
        balances: (campaign, caller) => budgets.balances({ campaign, key: campaigns.key(campaign) }, caller),
        adjust: Effect.fnUntraced(function* (campaign, name, adjustment, { operator, reason }) {
          const of = { campaign, key: campaigns.key(campaign) }
          const { by, caller, id } = adjustment
          if (!budgets.adjustable(campaign, name, caller)) return undefined
          // a repetition changes nothing, and has no line of its own
          if (yield* budgets.wasAdjusted(of, name, adjustment)) return yield* budgets.adjust(of, name, adjustment)
          // logged before it is made: if this gate dies in between, the line is there, and a repetition makes it
          const setting = `budget ${name}`
          const change = { setting, before: "", after: `${by > 0 ? "+" : ""}${by} (${id}): ${reason}` }
          const changes = JSON.stringify({ settings: [change], more: 0 })
          const where = at(campaign)
          yield* step(where, queue.operator.act(where, operator, { type: "settings", changed: setting, changes }))
          const adjusted = yield* budgets.adjust(of, name, adjustment)
          if (adjusted?.result === "made")
            yield* Effect.logInfo(
              `The budget ${name} was changed by ${by} for its present ${adjusted.balance.budget.Per}: ${reason}`,
            ).pipe(Effect.annotateLogs({ campaign: campaign.name, budget: name }))
          return adjusted
        }),
      },
      callerKey: ({ address, subject }) =>
        callerOf(names, address ?? "", subject === undefined ? undefined : { subject }),
      instance: yield* Instance,
      campaigns,
      slots,
      hours: (yield* Hours).stateOf,
      account,
      step: (campaign, take) => {
        const where = at(campaign)
        return step(where, take(where))
      },
      stepIn: step,
      at,
      names,
      limiter: yield* RateLimiter,
      peers: (yield* Peers).status,
      removed: (yield* RemovedCampaigns).known,
      closedQueues: (yield* ClosedQueues).reasons,
      handover: yield* Handover,
      keys: (yield* IdentityTokens).keys,
      watch: (yield* CallerWatch).watch,
      verify: (yield* PlatformApi).verify,
    }
  }),
)
