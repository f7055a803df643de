/**
 * The last two checks of a request, limits and slot or queue, and the start of its session. What they took is given back if the
 * queue is full or draining, and if the store failed, so that it is unknown whether it applied the step.
 */
import { Effect, Result } from "effect"
import { Admission } from "../../admission/Admission.ts"
import type { CallerNames } from "../../caller-names/CallerNames.ts"
import type { Admitted, CampaignContext } from "../../fifo-queue/FifoQueue.ts"
import { limitKey, networkKey, shortNetworkKey } from "../../ip-intel/address.ts"
import type {
  Draining,
  PlatformUnavailable,
  QueueFull,
  RateLimited,
  StoreUnavailable,
} from "../../protocol/refusals.ts"
import { draining, platformRejected, queueFull } from "../../protocol/refusals.ts"
import type { Queued, Started } from "../../protocol/Session.ts"
import { RateLimiter } from "../../rate-limiter/RateLimiter.ts"
import { type Campaigns, Secrets } from "../Campaigns.ts"
import type { GiveBack } from "../calls/GiveBack.ts"
import type { StartSession, StoredConfig } from "../calls/Starts.ts"
import type { Taken } from "../calls/withdrawals.ts"
import { queued } from "../outcomes.ts"
import type { Steps } from "../Steps.ts"
import { callerGroup } from "./caller-group.ts"
import type { FullQueues } from "./FullQueues.ts"
import type { Shadow } from "./Shadow.ts"
import type { Validated } from "./validate.ts"

/** A request that passed the checks of its content and address, with its new ticket. */
export interface NewTicket extends Taken {
  readonly at: CampaignContext
  readonly stored: StoredConfig
  /** the context of the caller's trace; undefined without a tracer */
  readonly trace: string | undefined
}

/** The keys of a caller in the limiter and the queue. */
export type CallerKeys = Pick<Taken, "caller" | "network">

export interface AdmissionSteps {
  readonly keysOf: (address: string) => CallerKeys
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

const thenFail = <E>(given: Effect.Effect<void>, error: E): Effect.Effect<never, E> =>
  Effect.andThen(given, Effect.fail(error))

export const makeAdmissionSteps = Effect.fnUntraced(function* (
  campaigns: Campaigns,
  names: CallerNames["Service"],
  { at, carryOut }: Steps,
  giveBack: GiveBack,
  startSession: StartSession,
  shadow: Shadow,
  fullQueues: Pick<FullQueues, "refused">,
) {
  const limiter = yield* RateLimiter
  const admission = yield* Admission
  const secret = yield* Secrets

  const keysOf = (address: string): CallerKeys => {
    const short = shortNetworkKey(address)
    return { caller: names.of(limitKey(address)), network: short === "" ? "" : names.of(short) }
  }

  const steps: AdmissionSteps = {
    keysOf,
    newTicket: ({ campaign, config }, address, trace) => ({
      ...keysOf(address),
      campaign,
      at: at(campaign),
      ticket: campaigns.newTicket(campaign, secret()),
      stored: { ...config, from: callerGroup(names.of(networkKey(address) || limitKey(address))) },
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
      return Effect.matchEffect(startSession(at, ticket, lease, stored, giveBack.all(newTicket)), {
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
  return steps
})
