/**
 * The last two checks of a request, limits and slot or queue, and the start of its session. What they take is given back when nothing comes
 * of it: after a full or draining queue, and when the store could not say whether it did what it was asked.
 */
import { Effect, Result } from "effect"
import { Admission } from "../Admission.ts"
import type { CallerNames } from "../CallerNames.ts"
import type { Admitted, At } from "../FifoQueue.ts"
import { limitKey, networkKey } from "../ip-intel/address.ts"
import { RateLimiter } from "../RateLimiter.ts"
import type {
  Draining,
  PlatformUnavailable,
  Queued,
  QueueFull,
  RateLimited,
  Started,
  StoreUnavailable,
} from "../Session.ts"
import { callerGroup } from "./caller-group.ts"
import { type Campaigns, Secrets } from "./campaigns.ts"
import type { GiveBack } from "./give-back.ts"
import type { Launch, StoredConfig } from "./launch.ts"
import { draining, queued, queueFull } from "./outcomes.ts"
import type { Steps } from "./steps.ts"
import type { Validated } from "./validate.ts"
import type { Taken } from "./withdrawals.ts"

/** A request that passed the checks of its content and address, under its new ticket. */
export interface Entrant extends Taken {
  readonly at: At
  readonly stored: StoredConfig
}

/** What the limiter and the queue know a caller by. */
export type CallerKeys = Pick<Taken, "caller" | "network">

export interface Entrance {
  readonly keysOf: (address: string) => CallerKeys
  readonly newTicket: (asked: Validated, address: string) => Entrant
  /** Takes a unit of each budget, and a slot, whose lease it answers. Fails with `Queued` where it took a place instead. */
  readonly admit: (
    entrant: Entrant,
  ) => Effect.Effect<string, RateLimited | Queued | QueueFull | Draining | StoreUnavailable>
  /** Starts the session of an admitted ticket. Fails with `Queued` where the platform has not started it: the ticket waits then. */
  readonly start: (
    entrant: Entrant,
    lease: string,
  ) => Effect.Effect<Started, Queued | PlatformUnavailable | StoreUnavailable>
}

const after = <E>(given: Effect.Effect<void>, error: E): Effect.Effect<never, E> =>
  Effect.andThen(given, Effect.fail(error))

export const makeEntrance = Effect.fnUntraced(function* (
  campaigns: Campaigns,
  names: CallerNames["Service"],
  { at, step }: Steps,
  giveBack: GiveBack,
  launch: Launch,
) {
  const limiter = yield* RateLimiter
  const admission = yield* Admission
  const secret = yield* Secrets

  const keysOf = (address: string): CallerKeys => {
    // without its `.0/24` or `::/48`, which would be stored with every ticket
    const short = networkKey(address).slice(0, -5)
    return { caller: names.of(limitKey(address)), network: short === "" ? "" : names.of(short) }
  }

  const entrance: Entrance = {
    keysOf,
    newTicket: ({ campaign, config }, address) => ({
      ...keysOf(address),
      campaign,
      at: at(campaign),
      ticket: campaigns.newTicket(campaign, secret()),
      stored: { ...config, from: callerGroup(names.of(networkKey(address) || limitKey(address))) },
    }),
    admit: (entrant) => {
      const { at, caller, network, stored, ticket } = entrant
      const newcomer = { id: ticket, caller, network, holds: limiter.holds, data: JSON.stringify(stored) }
      return Effect.matchEffect(step(at, admission.admit(at, newcomer)), {
        onSuccess: (admitted: Admitted): Effect.Effect<string, Queued | QueueFull | Draining> => {
          switch (admitted._tag) {
            case "starting":
              return Effect.succeed(admitted.lease)
            case "waiting":
              return Effect.fail(queued(ticket, admitted, at.slots))
            case "full":
              return after(giveBack.quota(entrant), queueFull(admitted.averageMillis, at.slots))
            case "draining":
              return after(giveBack.quota(entrant), draining())
          }
        },
        // whether the ticket was admitted is not known, unless the store was not even asked
        onFailure: (error) =>
          error._tag === "StoreUnavailable" && error.unasked !== true
            ? after(giveBack.all(entrant), error)
            : Effect.fail(error),
      })
    },
    start: (entrant, lease) => {
      const { at, stored, ticket } = entrant
      return Effect.matchEffect(launch(at, ticket, lease, stored, giveBack.all(entrant)), {
        onSuccess: (launched) =>
          Result.isSuccess(launched)
            ? Effect.succeed(launched.success)
            : Effect.fail(queued(ticket, launched.failure, at.slots)),
        // a slot whose session may run is left to the session's end, or to the deadline of the start
        onFailure: (error): Effect.Effect<never, PlatformUnavailable | StoreUnavailable> =>
          error._tag === "StoreUnavailable" ? after(giveBack.quota(entrant), error) : Effect.fail(error),
      })
    },
  }
  return entrance
})
