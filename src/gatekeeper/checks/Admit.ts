/**
 * The last two checks of a request, limits and slot or queue, and the start of its session. What they took is given back if the
 * queue is full or draining, and if the store failed, so that it is unknown whether it applied the step.
 */

import { Context, Effect, Layer, Result } from "effect"
import { Admission } from "../../admission/Admission.ts"
import { Budgets, type OwnWait } from "../../budgets/Budgets.ts"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import type { Admitted } from "../../fifo-queue/answers.ts"
import { FifoQueue, type Place } from "../../fifo-queue/FifoQueue.ts"
import type { Newcomer } from "../../fifo-queue/inputs.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import { type EventFacts, MAX_EVENT_METADATA } from "../../protocol/host-events.ts"
import type { CallerLimits } from "../../protocol/identity.ts"
import type {
  BudgetExhausted,
  Draining,
  PlatformUnavailable,
  QueueFull,
  RateLimited,
  StoreUnavailable,
} from "../../protocol/refusals.ts"
import { draining, platformRejected, queueFull } from "../../protocol/refusals.ts"
import type { SessionConfig } from "../../protocol/request.ts"
import type { Queued, Started } from "../../protocol/session-answers.ts"
import { RateLimiter } from "../../rate-limiter/RateLimiter.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Campaigns, Secrets } from "../Campaigns.ts"
import { GiveBack } from "../calls/GiveBack.ts"
import { Starts } from "../calls/Starts.ts"
import { dataOfConfig, identifierOf, type StoredConfig } from "../calls/stored-config.ts"
import { Overflow } from "../Overflow.ts"
import { queued } from "../outcomes.ts"
import { Steps } from "../Steps.ts"
import { tracing } from "../spans.ts"
import { callerKeys, groupOfCaller } from "./caller-keys.ts"
import { FullQueues } from "./FullQueues.ts"
import type { Identified } from "./Identify.ts"
import { Shadow } from "./Shadow.ts"
import type { Validated } from "./Validate.ts"

/** What the events of a ticket say of its caller, JSON. Metadata that is too long is left out: a caller must not fill the log. */
const eventFactsOf = (id: string, config: SessionConfig, subject: string | undefined): string => {
  const named = { ...(subject === undefined ? {} : { subject }), clientIdentifier: identifierOf(id, config) }
  const metadata = JSON.stringify(config.metadata)
  const isShort = metadata !== "{}" && Buffer.byteLength(metadata) <= MAX_EVENT_METADATA
  return JSON.stringify((isShort ? { ...named, metadata: config.metadata } : named) satisfies EventFacts)
}

export class Admit extends Context.Service<
  Admit,
  {
    /**
     * The new ticket of a request that has passed the checks of its content and address, with what its start needs.
     * @param trace the context of the caller's trace; undefined without a tracer
     */
    readonly newcomer: (
      validated: Validated & Partial<Pick<Identified, "identity" | "newTicket">>,
      address: string,
      trace: string | undefined,
    ) => { readonly newcomer: Newcomer; readonly stored: StoredConfig }
    /**
     * Takes quota and a slot, and returns the slot's lease. Fails with `Queued` if the ticket got a place instead of a slot. The
     * caller must run it uninterruptibly.
     *
     * @param limits the caller's own, in place of those of the settings
     * @param wait the budget of his own for which the caller waits; a slot that he gets is given back when its call is to be held
     */
    readonly admit: (
      campaign: Campaign,
      newcomer: Newcomer,
      limits?: CallerLimits,
      wait?: OwnWait,
    ) => Effect.Effect<
      string,
      RateLimited | Queued | QueueFull | Draining | BudgetExhausted | PlatformUnavailable | StoreUnavailable
    >
    /** Starts the session of an admitted ticket. Fails with `Queued` if the platform has not started it and the ticket waits. */
    readonly start: (
      campaign: Campaign,
      newcomer: Newcomer,
      stored: StoredConfig,
      lease: string,
    ) => Effect.Effect<Started, Queued | BudgetExhausted | PlatformUnavailable | StoreUnavailable>
  }
>()("voicegate/gatekeeper/Admit") {}

const thenFail = <E>(given: Effect.Effect<void>, error: E): Effect.Effect<never, E> =>
  Effect.andThen(given, Effect.fail(error))

export const layer: Layer.Layer<
  Admit,
  never,
  | Admission
  | Budgets
  | CallerNames
  | Campaigns
  | FifoQueue
  | FullQueues
  | GiveBack
  | Overflow
  | RateLimiter
  | Shadow
  | Starts
  | Steps
  | Store
> = Layer.effect(
  Admit,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const fullQueues = yield* FullQueues
    const giveBack = yield* GiveBack
    const names = yield* CallerNames
    const overflow = yield* Overflow
    const shadow = yield* Shadow
    const { at, carryOut, step } = yield* Steps
    const { unpaid } = yield* FifoQueue
    const { startSession } = yield* Starts
    const traced = yield* tracing
    const limiter = yield* RateLimiter
    const budgets = yield* Budgets
    const admission = yield* Admission
    const secret = yield* Secrets
    const store = yield* Store

    /**
     * The newcomer waits for a budget of his own, and others are called meanwhile. If the store does not answer, or this process dies first, he
     * begins to wait for it when his turn comes (`../calls/Starts.ts`).
     */
    const awaitOwn = (
      campaign: Campaign,
      where: CampaignContext,
      ticket: string,
      admitted: Place,
      { refusal, until }: OwnWait,
    ): Effect.Effect<Place, BudgetExhausted> =>
      unpaid === undefined
        ? Effect.succeed(admitted)
        : Effect.matchEffect(step(where, unpaid.await(where, ticket, until)), {
            onFailure: () => Effect.succeed(admitted),
            onSuccess: (found) =>
              found._tag === "failed"
                ? overflow.refuseForBudget(campaign, refusal)
                : Effect.succeed(found._tag === "waiting" ? found : admitted),
          })

    /** The newcomer is told of the place in the queue, and of offers if the wait is long. */
    const placed = (
      campaign: Campaign,
      { slots }: CampaignContext,
      ticket: string,
      waiting: Place,
    ): Effect.Effect<never, Queued> =>
      Effect.flatMapEager(store.now, (now) =>
        Effect.fail(overflow.added(campaign, queued(ticket, waiting, slots), now)),
      )

    const steps: Admit["Service"] = {
      newcomer: ({ campaign, config, identity, newTicket }, address, trace) => {
        const { caller, network } = callerKeys(names, address, identity)
        const callSeconds = identity?.limits?.callSeconds
        const stored: StoredConfig = {
          ...config,
          from: groupOfCaller(names, address),
          ...(callSeconds === undefined ? {} : { callSeconds }),
          ...(budgets.has(campaign) ? { caller } : {}),
        }
        const id = newTicket ?? campaigns.newTicket(campaign, secret())
        const plain = { id, caller, network, holds: limiter.holds, data: dataOfConfig(stored) }
        const newcomer =
          campaign.Events === undefined ? plain : { ...plain, about: eventFactsOf(id, config, identity?.subject) }
        return { newcomer: trace === undefined ? newcomer : { ...newcomer, trace }, stored }
      },
      admit: (campaign, newcomer, limits, wait) => {
        const where = at(campaign)
        const place = (waiting: Place) => placed(campaign, where, newcomer.id, waiting)
        const answer = (
          admitted: Admitted,
        ): Effect.Effect<string, Queued | QueueFull | Draining | BudgetExhausted | PlatformUnavailable> => {
          switch (admitted._tag) {
            case "starting":
              return Effect.succeed(admitted.lease)
            case "waiting":
              return wait === undefined
                ? place(admitted)
                : Effect.flatMap(awaitOwn(campaign, where, newcomer.id, admitted, wait), place)
            case "full":
              return Effect.flatMapEager(store.now, (now) => {
                const refusal = queueFull(
                  admitted.averageMillis,
                  where.slots,
                  campaign.Overflow && overflow.atRefusal(campaign, "queue_full", now),
                )
                fullQueues.refused(campaign, refusal, admitted.length)
                return thenFail(giveBack.quota(campaign, newcomer), refusal)
              })
            case "rejected":
              return thenFail(giveBack.quota(campaign, newcomer), platformRejected())
            case "draining":
              return thenFail(giveBack.quota(campaign, newcomer), draining())
          }
        }
        return Effect.matchEffect(admission.admit(where, newcomer, limits), {
          onSuccess: (stepped) => {
            const answered = Effect.flatMapEager(carryOut(where, stepped), answer)
            const noted = shadow.note(campaign, stepped)
            return noted === undefined ? answered : Effect.andThen(noted, answered)
          },
          // unless the store was never called, the ticket may have been admitted
          onFailure: (error) =>
            error._tag === "StoreUnavailable" && error.unasked !== true
              ? thenFail(giveBack.all(campaign, newcomer), error)
              : Effect.fail(error),
        })
      },
      start: (campaign, newcomer, stored, lease) => {
        const where = at(campaign)
        const ofNewcomer = { unplaced: giveBack.all(campaign, newcomer), rejected: platformRejected }
        return Effect.matchEffect(startSession(where, newcomer.id, lease, stored, ofNewcomer), {
          onSuccess: (started) =>
            Result.isSuccess(started)
              ? Effect.succeed(started.success)
              : placed(campaign, where, newcomer.id, started.failure),
          // the slot is kept, because a session may run: the session's end or the start's deadline frees it
          onFailure: (error): Effect.Effect<never, BudgetExhausted | PlatformUnavailable | StoreUnavailable> =>
            error._tag === "StoreUnavailable"
              ? thenFail(giveBack.quota(campaign, newcomer), error)
              : error._tag === "BudgetExhausted"
                ? overflow.refuseForBudget(campaign, error)
                : Effect.fail(error),
        })
      },
    }
    const ofCampaign = ({ name }: Campaign) => ({ attributes: { "voicegate.campaign": name } })
    return {
      ...steps,
      admit: traced("Gatekeeper.admit", steps.admit, ofCampaign),
      start: traced("Gatekeeper.startSession", steps.start, ofCampaign),
    }
  }),
)
