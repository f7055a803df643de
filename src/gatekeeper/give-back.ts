/**
 * Gives back what a request has taken when nothing comes of it: its quota and, where its caller was not told of its ticket, the
 * ticket. What the store cannot take back now is remembered and tried again until it can, at least once, so that all of it is
 * idempotent. What is remembered is bounded in all and by caller and network; beyond that, and when this process dies, the ticket is
 * left to the disconnect grace or to the deadline of its slot.
 */
import { Cause, Effect, Metric, type Scope } from "effect"
import { makeConnectionCounter } from "../connection-counter.ts"
import { FifoQueue } from "../FifoQueue.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { WITHDRAW_LIMIT } from "../rules/queue/withdraw.ts"
import { shareOf } from "../rules/ticket.ts"
import type { StoreUnavailable } from "../Session.ts"
import { type Campaign, Settings } from "../Settings.ts"
import * as metrics from "./metrics.ts"
import type { Steps } from "./steps.ts"

/** How often it is tried again. */
export const RETRY_MILLIS = 250
/** The most requests that are remembered, and the most of one caller. */
export const MOST_KEPT = 10_000
export const MOST_OF_CALLER = 100
/** So many callers' quota is given back at the same time. */
const AT_ONCE = 16

/** What a request has taken, or may have. */
export interface Taken {
  readonly ticket: string
  /** the rate limiter's key */
  readonly caller: string
  /** whose share of what is remembered it counts to; empty for none */
  readonly network: string
  readonly campaign: Campaign
}

export interface GiveBack {
  /** Gives the quota back, later if the store is away. */
  readonly quota: (taken: Taken) => Effect.Effect<void>
  /** Gives the ticket back too, of which nobody was told. Waits for nothing. */
  readonly all: (taken: Taken) => Effect.Effect<void>
}

interface Kept {
  readonly taken: Taken
  /** the ticket is still to be given back */
  ticket: boolean
}

export const makeGiveBack = ({
  at,
  step,
}: Steps): Effect.Effect<GiveBack, never, FifoQueue | RateLimiter | Settings | Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* FifoQueue
    const limiter = yield* RateLimiter
    const share = (yield* Settings).Queue.NetworkShare
    const scope = yield* Effect.scope

    /** by ticket, the oldest first */
    const kept = new Map<string, Kept>()
    const callers = makeConnectionCounter(MOST_OF_CALLER)
    const networks = new Map<string, number>()
    let trying = false
    let forgotten = 0

    /** A network that has its share of the free places gets no more, as in the queue: others need them too. */
    const hasPlace = (network: string): boolean => {
      const free = MOST_KEPT - kept.size
      const crowded = network !== "" && kept.size >= free && (networks.get(network) ?? 0) >= shareOf(share, free)
      return free > 0 && !crowded
    }
    const keep = (taken: Taken, ticket: boolean): void => {
      const known = kept.get(taken.ticket)
      if (known !== undefined) {
        known.ticket ||= ticket
      } else if (hasPlace(taken.network) && callers.acquire(taken.caller)) {
        kept.set(taken.ticket, { taken, ticket })
        networks.set(taken.network, (networks.get(taken.network) ?? 0) + 1)
      } else {
        forgotten++
      }
    }
    const done = ({ caller, network, ticket }: Taken): void => {
      if (!kept.delete(ticket)) return
      callers.release(caller)
      const left = (networks.get(network) ?? 1) - 1
      if (left === 0) networks.delete(network)
      else networks.set(network, left)
    }

    /**
     * The youngest first: the oldest may hold slots, and when those are free nobody should be called who is to be withdrawn by
     * the next step.
     */
    const withdraw = Effect.fnUntraced(function* (campaign: Campaign, theirs: ReadonlyArray<Kept>) {
      const where = at(campaign)
      for (let to = theirs.length; to > 0; to -= WITHDRAW_LIMIT) {
        const some = theirs.slice(Math.max(0, to - WITHDRAW_LIMIT), to)
        const tickets = some.map(({ taken }) => taken.ticket)
        const ended = yield* step(where, queue.withdraw(where, tickets))
        for (const each of some) each.ticket = false
        if (ended > 0) yield* Metric.update(metrics.over("left"), ended)
      }
    })
    const refund = (each: Kept): Effect.Effect<void, StoreUnavailable> => {
      const { taken } = each
      return limiter.refund(taken.caller, taken.ticket).pipe(
        Effect.tap(() => Effect.sync(() => void (each.ticket || done(taken)))),
        Effect.tapError(() =>
          Effect.sync(() => {
            // of a cluster one node may be away: others have their turn first
            const waits = kept.get(taken.ticket)
            if (waits !== undefined && kept.delete(taken.ticket)) kept.set(taken.ticket, waits)
          }),
        ),
      )
    }
    const attempt = Effect.gen(function* () {
      const tickets = Map.groupBy(
        [...kept.values()].filter(({ ticket }) => ticket),
        ({ taken }) => taken.campaign,
      )
      yield* Effect.forEach(tickets, ([campaign, theirs]) => Effect.ignore(withdraw(campaign, theirs)), {
        concurrency: "unbounded",
        discard: true,
      })
      const free = [...kept.values()].filter(({ ticket }) => !ticket)
      yield* Effect.ignore(Effect.forEach(free, refund, { concurrency: AT_ONCE, discard: true }))
    }).pipe(
      Effect.catchDefect((defect) => {
        // a bug, which trying again would repeat
        for (const { taken } of [...kept.values()]) done(taken)
        return Effect.logError("What requests had taken could not be given back", Cause.die(defect))
      }),
    )
    const again = Effect.gen(function* () {
      while (kept.size > 0) {
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
        keep(taken, ticket)
        if (trying) return Effect.void
        trying = true
        return Effect.asVoid(Effect.forkIn(again, scope))
      })

    return {
      quota: (taken) => Effect.catch(limiter.refund(taken.caller, taken.ticket), () => later(taken, false)),
      all: (taken) => later(taken, true),
    }
  })
