/**
 * Gives back what a request has taken when nothing comes of it: its quota and, where its caller was answered 503, the ticket. What the
 * store cannot take back now is remembered (`withdrawals.ts`) and tried again until it can, at least once, so all of it is idempotent.
 */
import { Cause, Effect, type Scope } from "effect"
import { FifoQueue } from "../FifoQueue.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { WITHDRAW_LIMIT } from "../rules/queue/withdraw.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Campaign } from "../Settings.ts"
import type { Steps } from "./steps.ts"
import type { Kept, Memory, Taken } from "./withdrawals.ts"

/** How often it is tried again. */
export const RETRY_MILLIS = 250
/** So many callers' quota is given back at the same time. */
const AT_ONCE = 16

export interface GiveBack {
  /** Gives the quota back, later if the store is away. */
  readonly quota: (taken: Taken) => Effect.Effect<void>
  /** Gives the ticket back too, of which nobody was told. Waits for nothing. */
  readonly all: (taken: Taken) => Effect.Effect<void>
}

export const makeGiveBack = (
  { at, step }: Steps,
  memory: Memory,
): Effect.Effect<GiveBack, never, FifoQueue | RateLimiter | Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const limiter = yield* RateLimiter
    const scope = yield* Effect.scope
    let trying = false
    let forgotten = 0

    /**
     * The youngest first: the oldest may hold slots, and when those are free nobody should be called who is to be withdrawn by
     * the next step.
     */
    const withdraw = Effect.fnUntraced(function* (campaign: Campaign, theirs: ReadonlyArray<Kept>) {
      const where = at(campaign)
      for (let to = theirs.length; to > 0; to -= WITHDRAW_LIMIT) {
        const some = theirs.slice(Math.max(0, to - WITHDRAW_LIMIT), to)
        const tickets = some.map(({ taken }) => taken.ticket)
        yield* memory.of(campaign).done(tickets, yield* step(where, queue.withdraw(where, tickets)))
      }
    })
    const refund = (each: Kept): Effect.Effect<void, StoreUnavailable> => {
      const { taken } = each
      return limiter.refund(taken.caller, taken.ticket).pipe(
        Effect.tap(() => Effect.sync(() => void (each.ticket || memory.forget(taken)))),
        Effect.tapError(() =>
          // of a cluster one node may be away: others have their turn first
          Effect.sync(() => memory.postpone(taken)),
        ),
      )
    }
    const attempt = Effect.gen(function* () {
      const tickets = Map.groupBy(
        memory.all().filter(({ ticket }) => ticket),
        ({ taken }) => taken.campaign,
      )
      yield* Effect.forEach(tickets, ([campaign, theirs]) => Effect.ignore(withdraw(campaign, theirs)), {
        concurrency: "unbounded",
        discard: true,
      })
      const free = memory.all().filter(({ ticket }) => !ticket)
      yield* Effect.ignore(Effect.forEach(free, refund, { concurrency: AT_ONCE, discard: true }))
    }).pipe(
      Effect.catchDefect((defect) => {
        // a bug, which trying again would repeat
        for (const { taken } of memory.all()) memory.forget(taken)
        return Effect.logError("What requests had taken could not be given back", Cause.die(defect))
      }),
    )
    const again = Effect.gen(function* () {
      while (memory.size() > 0) {
        yield* Effect.sleep(RETRY_MILLIS)
        yield* attempt
      }
      trying = false
      if (forgotten === 0) return
      const count = forgotten
      forgotten = 0
      yield* Effect.logWarning(
        `${count} requests failed with the store beyond those that are remembered; what they hold is freed by its deadlines.`,
      )
    })
    const later = (taken: Taken, ticket: boolean): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (!memory.keep(taken, ticket)) forgotten++
        if (trying) return Effect.void
        trying = true
        return Effect.asVoid(Effect.forkIn(again, scope))
      })

    return {
      quota: (taken) => Effect.catch(limiter.refund(taken.caller, taken.ticket), () => later(taken, false)),
      all: (taken) => later(taken, true),
    }
  })
