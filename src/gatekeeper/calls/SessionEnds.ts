/** What the end of a session does that the platform has reported: its slot is free, once. */

import { Context, Effect, Layer, Metric } from "effect"
import { Budgets } from "../../budgets/Budgets.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { EndAttempt } from "../../fifo-queue/inputs.ts"
import { campaignIdOf } from "../../fifo-queue/keys.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import type { CallUse } from "../../platform-api/adapter.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Campaigns } from "../Campaigns.ts"
import * as metrics from "../metrics.ts"
import { RemovedCampaigns } from "../peers/RemovedCampaigns.ts"
import { Steps } from "../Steps.ts"
import { Traces } from "../Traces.ts"
import { LostEnds } from "./LostEnds.ts"
import { type EndResult, makeUnknownEnds } from "./unknown-sessions.ts"

/** Who reports that a session is over. */
export interface EndSource {
  /** the names of the campaigns that may have the session */
  readonly campaigns: ReadonlyArray<string>
  /** removed campaigns of this platform may have it too */
  readonly platform?: string
}

export class SessionEnds extends Context.Service<
  SessionEnds,
  {
    /**
     * Handles a session's end that the platform has reported, under any of its ids, and returns what that did: `released` if it freed a slot.
     * Ids are unique only within a vendor, so `by` names the vendor if it is known. `used` is charged to budgets, in place of what the gate has measured or has charged before.
     */
    readonly sessionEnded: (
      sessionIds: ReadonlyArray<string>,
      by?: EndSource,
      used?: CallUse,
    ) => Effect.Effect<EndResult, StoreUnavailable>
    /** Whether the end of this session is known, and no ticket has it. */
    readonly hasEnded: (sessionId: string, by: EndSource) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("voicegate/gatekeeper/SessionEnds") {}

export const layer: Layer.Layer<
  SessionEnds,
  never,
  Budgets | Campaigns | FifoQueue | LostEnds | RemovedCampaigns | Steps | Traces
> = Layer.effect(
  SessionEnds,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const budgets = yield* Budgets
    const queue = yield* FifoQueue
    const lostEnds = yield* LostEnds
    const removed = yield* RemovedCampaigns
    const { at, step } = yield* Steps
    const traces = yield* Traces
    const noteEnd = makeUnknownEnds()

    const endIn = (
      queues: ReadonlyArray<CampaignContext>,
      sessionIds: ReadonlyArray<string>,
      attempt: EndAttempt,
      used: CallUse | undefined,
    ): Effect.Effect<ReadonlyArray<EndResult>, StoreUnavailable> =>
      Effect.forEach(
        queues,
        (where) =>
          Effect.map(step(where, queue.end(where, sessionIds, "webhook", attempt, used?.seconds)), (result) =>
            result === "again" ? "released" : result,
          ),
        { concurrency: "unbounded" },
      )

    /** The removed campaigns that may have the session: what names a campaign, also within its account, begins with its platform if that is a vendor. */
    const goneOf = (by: EndSource | undefined): Effect.Effect<ReadonlyArray<CampaignContext>, StoreUnavailable> =>
      by !== undefined && by.platform === undefined
        ? Effect.succeed([])
        : Effect.map(removed.queues, (queues) =>
            queues.filter(
              ({ campaign }) => by === undefined || campaignIdOf(campaign).campaign.startsWith(`${by.platform}/`),
            ),
          )

    return {
      hasEnded: (sessionId, { campaigns: names }) =>
        Effect.gen(function* () {
          const states = yield* Effect.forEach(
            campaigns.all.filter(({ name }) => names.includes(name)).map(at),
            (where) => step(where, queue.sessionState(where, sessionId)),
          )
          // a campaign that never had the session may know its end, from a webhook that did not name the campaign
          return states.includes("ended") && !states.includes("held")
        }),
      sessionEnded: traces.inSessionTrace(
        "Gatekeeper.sessionEnded",
        (sessionIds: ReadonlyArray<string>, by?: EndSource, used?: CallUse) =>
          Effect.gen(function* () {
            // at most one campaign holds the session, and its id does not tell which; others may know the id from an earlier webhook
            const named = campaigns.all.filter(({ name }) => by === undefined || by.campaigns.includes(name))
            const results = yield* lostEnds.carryOut(sessionIds, named.length > 1, (attempt, ids) =>
              Effect.gen(function* () {
                const own = yield* endIn(named.map(at), ids, attempt, used)
                return own.includes("released")
                  ? own
                  : [...own, ...(yield* endIn(yield* goneOf(by), ids, attempt, used))]
              }),
            )
            const result = metrics.WEBHOOK_RESULTS.find((each) => results.includes(each)) ?? "unknown"
            yield* Metric.update(metrics.webhooks(result), 1)
            yield* noteEnd(result)
            if (used !== undefined) {
              yield* Effect.forEach(
                named.filter((campaign) => budgets.has(campaign)),
                (campaign) => budgets.correct({ campaign, key: at(campaign).campaign }, sessionIds, used),
                { discard: true },
              )
            }
            return result
          }),
      ),
    }
  }),
)
