/**
 * Gives back what a request that led to nothing has taken: its quota and, if its caller was answered with 503, its
 * ticket. What the store cannot take back now is remembered (`NotGivenBack.ts`) and retried until it succeeds. At least
 * once, so every operation is idempotent.
 */

import { Cause, Context, Effect, Layer } from "effect"
import { MAX_WITHDRAWN_PER_STEP } from "../../fifo-queue/bounds.ts"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { RateLimiter } from "../../rate-limiter/RateLimiter.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Steps } from "../Steps.ts"
import { NotGivenBack, type Remembered } from "./NotGivenBack.ts"

export const RETRY_MILLIS = 250
const MAX_CONCURRENT_REFUNDS = 16

type GiveBackOf = (campaign: Campaign, newcomer: Remembered["newcomer"]) => Effect.Effect<void>

export class GiveBack extends Context.Service<
  GiveBack,
  {
    /** Gives the quota back, later if the store is unavailable. */
    readonly quota: GiveBackOf
    /** Also gives back the ticket, which its caller does not know of. Does not wait. */
    readonly all: GiveBackOf
  }
>()("voicegate/gatekeeper/GiveBack") {}

export const layer: Layer.Layer<GiveBack, never, FifoQueue | NotGivenBack | RateLimiter | Steps | Store> = Layer.effect(
  GiveBack,
  Effect.gen(function* () {
    const { at, step } = yield* Steps
    const notGivenBack = yield* NotGivenBack
    const queue = yield* FifoQueue
    const limiter = yield* RateLimiter
    const { crossSlot } = yield* Store
    const scope = yield* Effect.scope
    let isRetrying = false
    let dropped = 0

    /**
     * Newest first: the oldest may hold slots, and a freed slot must not call a ticket that the next step withdraws.
     */
    const withdraw = Effect.fnUntraced(function* (campaign: Campaign, entries: ReadonlyArray<Remembered>) {
      const where = at(campaign)
      for (let end = entries.length; end > 0; end -= MAX_WITHDRAWN_PER_STEP) {
        const batch = entries.slice(Math.max(0, end - MAX_WITHDRAWN_PER_STEP), end)
        const tickets = batch.map(({ newcomer }) => newcomer.id)
        yield* step(where, queue.withdraw(where, tickets))
        yield* notGivenBack.of(campaign).done(tickets)
      }
    })
    const refund = (taken: Remembered): Effect.Effect<void, StoreUnavailable> =>
      limiter.refund(taken.newcomer.caller, taken.newcomer.id).pipe(
        Effect.tap(() =>
          Effect.sync(() => {
            taken.quota = false
          }),
        ),
        // or interrupted, because it does not answer
        Effect.onError(() =>
          // one node of a cluster may be down: try the others first
          Effect.sync(() => notGivenBack.postpone(taken)),
        ),
      )
    const refundAll = (entries: ReadonlyArray<Remembered>): Effect.Effect<void> =>
      Effect.ignore(
        Effect.forEach(
          entries.filter(({ quota }) => quota),
          refund,
          { concurrency: MAX_CONCURRENT_REFUNDS, discard: true },
        ),
      )
    const attempt = Effect.gen(function* () {
      // the campaign's node may be down for longer than that of the limits: whoever asks again meanwhile must not use the limits up
      if (!crossSlot) yield* Effect.timeoutOption(refundAll(notGivenBack.all()), RETRY_MILLIS)
      const tickets = Map.groupBy(
        notGivenBack.all().filter(({ ticket }) => ticket),
        ({ campaign }) => campaign,
      )
      yield* Effect.forEach(tickets, ([campaign, entries]) => Effect.ignore(withdraw(campaign, entries)), {
        concurrency: "unbounded",
        discard: true,
      })
      yield* refundAll(notGivenBack.all().filter(({ ticket }) => !ticket))
      for (const taken of notGivenBack.all()) if (!taken.ticket && !taken.quota) notGivenBack.forget(taken)
    }).pipe(
      Effect.catchDefect((defect) => {
        // a bug, which a retry would repeat
        for (const taken of notGivenBack.all()) notGivenBack.forget(taken)
        return Effect.logError("What requests had taken could not be given back", Cause.die(defect))
      }),
    )
    const retryLoop = Effect.gen(function* () {
      while (notGivenBack.size() > 0) {
        yield* Effect.sleep(RETRY_MILLIS)
        yield* attempt
      }
      isRetrying = false
      if (dropped === 0) return
      const count = dropped
      dropped = 0
      yield* Effect.logWarning(
        `${count} more requests failed with the store than can be remembered; their tickets and slots are freed at their deadlines.`,
      )
    })
    const retryLater = (
      campaign: Campaign,
      { caller, id, network }: Remembered["newcomer"],
      ticket: boolean,
    ): Effect.Effect<void> =>
      Effect.suspend(() => {
        // without the newcomer's data, which may be long
        if (!notGivenBack.keep({ campaign, newcomer: { id, caller, network }, ticket, quota: true })) dropped++
        if (isRetrying) return Effect.void
        isRetrying = true
        return Effect.asVoid(Effect.forkIn(retryLoop, scope))
      })

    return {
      quota: (campaign, newcomer) =>
        Effect.catch(limiter.refund(newcomer.caller, newcomer.id), () => retryLater(campaign, newcomer, false)),
      all: (campaign, newcomer) => retryLater(campaign, newcomer, true),
    }
  }),
)
