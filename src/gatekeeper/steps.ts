/** Carries out a step of the queue: pushes its signals and settles what it owes. */
import { Effect, Metric } from "effect"
import type { CampaignContext, Settlement, Signal, StepResult } from "../FifoQueue.ts"
import { FifoQueue } from "../FifoQueue.ts"
import { eventOf, inSignalSpan, PushChannel } from "../PushChannel.ts"
import { RateLimiter } from "../RateLimiter.ts"
import type { Campaign } from "../Settings.ts"
import type { Campaigns } from "./campaigns.ts"
import * as metrics from "./metrics.ts"
import type { Memory } from "./withdrawals.ts"

export interface Steps {
  readonly at: (campaign: Campaign) => CampaignContext
  /** Runs a step and carries out its effects. */
  readonly step: <A, E>(at: CampaignContext, taken: Effect.Effect<StepResult<A>, E>) => Effect.Effect<A, E>
  /** Carries out settlements with the rate limiter. One that fails now stays owed in the store. */
  readonly settle: (at: CampaignContext, settlements: ReadonlyArray<Settlement>) => Effect.Effect<void>
}

export const makeSteps = (
  campaigns: Campaigns,
  slots: (campaign: Campaign) => number,
  memory: Memory,
): Effect.Effect<Steps, never, FifoQueue | PushChannel | RateLimiter> =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const push = yield* PushChannel
    const queue = yield* FifoQueue

    const settle: Steps["settle"] = (at, settlements) =>
      // separately: on a Cluster another caller's keys may be on a node that is down;
      // and concurrently, so that a sweep waits for one timeout, not for several
      Effect.filter(
        settlements,
        ({ caller, kind, ticket }) =>
          Effect.match(limiter[kind](caller, ticket), { onFailure: () => false, onSuccess: () => true }),
        { concurrency: "unbounded" },
      ).pipe(
        Effect.flatMap((done) => (done.length === 0 ? Effect.void : queue.acknowledge(at, done))),
        Effect.catch(() => Effect.void),
      )

    const send = (signal: Signal): Effect.Effect<void> =>
      Effect.andThen(
        Metric.update(signal.kind._tag === "called" ? metrics.called : metrics.over(signal.kind.state), 1),
        inSignalSpan(signal)(push.send(signal.ticket, eventOf(signal))),
      )

    const carryOut = <A>(at: CampaignContext, { result, settlements, signals }: StepResult<A>): Effect.Effect<A> => {
      if (signals.length === 0 && settlements.length === 0) return Effect.succeed(result)
      return Effect.forEach(signals, send, { discard: true }).pipe(
        Effect.andThen(settlements.length === 0 ? Effect.void : settle(at, settlements)),
        Effect.as(result),
      )
    }

    const contextOf = (campaign: Campaign): CampaignContext => ({
      campaign: campaigns.key(campaign),
      // read at each step: a start may take long, and slots may have shrunk since it began
      get slots() {
        return slots(campaign)
      },
      instance: push.address,
      withdrawals: memory.of(campaign),
    })
    const contexts = new Map<Campaign, CampaignContext>()

    return {
      at: (campaign) => {
        const known = contexts.get(campaign) ?? contextOf(campaign)
        contexts.set(campaign, known)
        return known
      },
      // a caller who hangs up must not prevent the notification of a ticket called in the same step
      step: (at, taken) => Effect.uninterruptible(Effect.flatMap(taken, (stepped) => carryOut(at, stepped))),
      settle,
    }
  })
