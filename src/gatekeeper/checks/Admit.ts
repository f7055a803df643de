/**
 * The last two checks of a request, limits and slot or queue, and the start of its session. What they took is given back if the
 * queue is full or draining, and if the store failed, so that it is unknown whether it applied the step.
 */

import { Context, Effect, Layer, Result } from "effect"
import { Admission } from "../../admission/Admission.ts"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import type { Admitted } from "../../fifo-queue/answers.ts"
import type { CampaignContext } from "../../fifo-queue/step.ts"
import type { Queued, Started } from "../../protocol/outcomes.ts"
import type {
  Draining,
  PlatformUnavailable,
  QueueFull,
  RateLimited,
  StoreUnavailable,
} from "../../protocol/refusals.ts"
import { draining, platformRejected, queueFull } from "../../protocol/refusals.ts"
import { RateLimiter } from "../../rate-limiter/RateLimiter.ts"
import { Campaigns, Secrets } from "../Campaigns.ts"
import { GiveBack } from "../calls/GiveBack.ts"
import type { Taken } from "../calls/NotGivenBack.ts"
import { Starts } from "../calls/Starts.ts"
import type { StoredConfig } from "../calls/stored-config.ts"
import { queued } from "../outcomes.ts"
import { Steps } from "../Steps.ts"
import { tracing } from "../spans.ts"
import { callerKeys, groupOfCaller } from "./caller-keys.ts"
import { FullQueues } from "./FullQueues.ts"
import { Shadow } from "./Shadow.ts"
import type { Validated } from "./Validate.ts"

/** A request that passed the checks of its content and address, with its new ticket. */
export interface NewTicket extends Taken {
  readonly at: CampaignContext
  readonly stored: StoredConfig
  /** the context of the caller's trace; undefined without a tracer */
  readonly trace: string | undefined
}

export class Admit extends Context.Service<
  Admit,
  {
    readonly newTicket: (validated: Validated, address: string, trace: string | undefined) => NewTicket
    /**
     * Takes quota and a slot, and returns the slot's lease. Fails with `Queued` if the ticket got a place instead of a slot. The
     * caller must run it uninterruptibly.
     */
    readonly admit: (
      newTicket: NewTicket,
    ) => Effect.Effect<string, RateLimited | Queued | QueueFull | Draining | PlatformUnavailable | StoreUnavailable>
    /** Starts the session of an admitted ticket. Fails with `Queued` if the platform has not started it and the ticket waits. */
    readonly start: (
      entrant: NewTicket,
      lease: string,
    ) => Effect.Effect<Started, Queued | PlatformUnavailable | StoreUnavailable>
  }
>()("voicegate/gatekeeper/Admit") {}

const thenFail = <E>(given: Effect.Effect<void>, error: E): Effect.Effect<never, E> =>
  Effect.andThen(given, Effect.fail(error))

export const layer: Layer.Layer<
  Admit,
  never,
  Admission | CallerNames | Campaigns | FullQueues | GiveBack | RateLimiter | Shadow | Starts | Steps
> = Layer.effect(
  Admit,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const fullQueues = yield* FullQueues
    const giveBack = yield* GiveBack
    const names = yield* CallerNames
    const shadow = yield* Shadow
    const { at, carryOut } = yield* Steps
    const { startSession } = yield* Starts
    const traced = yield* tracing
    const limiter = yield* RateLimiter
    const admission = yield* Admission
    const secret = yield* Secrets

    const steps: Admit["Service"] = {
      newTicket: ({ campaign, config }, address, trace) => ({
        ...callerKeys(names, address),
        campaign,
        at: at(campaign),
        ticket: campaigns.newTicket(campaign, secret()),
        stored: { ...config, from: groupOfCaller(names, address) },
        trace,
      }),
      admit: (newTicket) => {
        const { at, caller, network, stored, ticket, trace } = newTicket
        const data = JSON.stringify(stored)
        const own = { id: ticket, caller, network, holds: limiter.holds, data }
        const newcomer = trace === undefined ? own : { ...own, trace }
        const answer = (
          admitted: Admitted,
        ): Effect.Effect<string, Queued | QueueFull | Draining | PlatformUnavailable> => {
          switch (admitted._tag) {
            case "starting":
              return Effect.succeed(admitted.lease)
            case "waiting":
              return Effect.fail(queued(ticket, admitted, at.slots))
            case "full": {
              const refusal = queueFull(admitted.averageMillis, at.slots)
              fullQueues.refused(newTicket.campaign, refusal, admitted.length)
              return thenFail(giveBack.quota(newTicket), refusal)
            }
            case "rejected":
              return thenFail(giveBack.quota(newTicket), platformRejected())
            case "draining":
              return thenFail(giveBack.quota(newTicket), draining())
          }
        }
        return Effect.matchEffect(admission.admit(at, newcomer), {
          onSuccess: (stepped) => {
            const answered = Effect.flatMapEager(carryOut(at, stepped), answer)
            const noted = shadow.note(newTicket.campaign, stepped)
            return noted === undefined ? answered : Effect.andThen(noted, answered)
          },
          // unless the store was never called, the ticket may have been admitted
          onFailure: (error) =>
            error._tag === "StoreUnavailable" && error.unasked !== true
              ? thenFail(giveBack.all(newTicket), error)
              : Effect.fail(error),
        })
      },
      start: (newTicket, lease) => {
        const { at, stored, ticket } = newTicket
        const newcomer = { unplaced: giveBack.all(newTicket), rejected: platformRejected }
        return Effect.matchEffect(startSession(at, ticket, lease, stored, newcomer), {
          onSuccess: (started) =>
            Result.isSuccess(started)
              ? Effect.succeed(started.success)
              : Effect.fail(queued(ticket, started.failure, at.slots)),
          // the slot is kept, because a session may run: the session's end or the start's deadline frees it
          onFailure: (error): Effect.Effect<never, PlatformUnavailable | StoreUnavailable> =>
            error._tag === "StoreUnavailable" ? thenFail(giveBack.quota(newTicket), error) : Effect.fail(error),
        })
      },
    }
    const ofCampaign = ({ campaign }: NewTicket) => ({ attributes: { "voicegate.campaign": campaign.name } })
    return {
      ...steps,
      admit: traced("Gatekeeper.admit", steps.admit, ofCampaign),
      start: traced("Gatekeeper.startSession", steps.start, ofCampaign),
    }
  }),
)
