/** How a step of the queue is carried out: what it signals is pushed, what it owes is settled. */
import { Effect, Metric } from "effect"
import type { At, Settlement, Signal, Stepped } from "../FifoQueue.ts"
import { FifoQueue } from "../FifoQueue.ts"
import { eventOf, PushChannel } from "../PushChannel.ts"
import { RateLimiter } from "../RateLimiter.ts"
import type { Campaign } from "../Settings.ts"
import type { Campaigns } from "./campaigns.ts"
import type { Capacity } from "./capacity.ts"
import * as metrics from "./metrics.ts"
import type { Memory } from "./withdrawals.ts"

export interface Steps {
  readonly at: (campaign: Campaign) => At
  /** Takes a step and does what it leaves to do. */
  readonly step: <A, E>(at: At, taken: Effect.Effect<Stepped<A>, E>) => Effect.Effect<A, E>
  /** Pays what the rate limiter owes; what cannot be paid now stays owed in the store. */
  readonly settle: (at: At, settlements: ReadonlyArray<Settlement>) => Effect.Effect<void>
}

export const makeSteps = (
  campaigns: Campaigns,
  capacity: Capacity,
  memory: Memory,
): Effect.Effect<Steps, never, FifoQueue | PushChannel | RateLimiter> =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const push = yield* PushChannel
    const queue = yield* FifoQueue

    const settle: Steps["settle"] = (at, settlements) =>
      // each on its own: on a Cluster another caller's keys may be on a node that is away
      // and all at once, so that a sweep waits for one command that times out, not for each
      Effect.filter(
        settlements,
        ({ caller, kind, ticket }) =>
          Effect.match(limiter[kind](caller, ticket), { onFailure: () => false, onSuccess: () => true }),
        { concurrency: "unbounded" },
      ).pipe(
        Effect.flatMap((done) => (done.length === 0 ? Effect.void : queue.settled(at, done))),
        Effect.catch(() => Effect.void),
      )

    const signal = (each: Signal): Effect.Effect<void> =>
      Effect.andThen(
        Metric.update(each.kind._tag === "called" ? metrics.called : metrics.over(each.kind.state), 1),
        push.send(each.ticket, eventOf(each)),
      )

    const carryOut = <A>(at: At, { result, settlements, signals }: Stepped<A>): Effect.Effect<A> => {
      if (signals.length === 0 && settlements.length === 0) return Effect.succeed(result)
      return Effect.forEach(signals, signal, { discard: true }).pipe(
        Effect.andThen(settlements.length === 0 ? Effect.void : settle(at, settlements)),
        Effect.as(result),
      )
    }

    return {
      at: (campaign) => ({
        campaign: campaigns.key(campaign),
        slots: capacity.slots(campaign),
        instance: push.address,
        withdrawals: memory.of(campaign),
      }),
      // whoever is called in a step whose asker hangs up is told all the same
      step: (at, taken) => Effect.uninterruptible(Effect.flatMap(taken, (stepped) => carryOut(at, stepped))),
      settle,
    }
  })
