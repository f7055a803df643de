/**
 * Quota and place of one request: both are taken, or neither.
 *
 * `layerAtomic` takes them in one step of the store, so that nothing can come between. `layerSeparate` asks the rate limiter and then the
 * queue, whatever these are; what the first took is given back by the caller of `admit` when the second fails.
 */
import { Context, Effect, Layer, Result } from "effect"
import { type Admitted, type At, admittingOf, FifoQueue, type Newcomer, type Stepped } from "./FifoQueue.ts"
import { takeAndAdmit } from "./queue/rules.ts"
import { steppedOf } from "./queue/step.ts"
import { RateLimiter, takeRequestsOf } from "./RateLimiter.ts"
import type { Budgets } from "./rules/limits/units.ts"
import type { QueueContext } from "./rules/step.ts"
import type { TakeAndAdmitContext } from "./rules/take-and-admit.ts"
import { type RateLimited, StoreUnavailable, stackless } from "./Session.ts"
import { Store } from "./Store.ts"

type Admit = (at: At, newcomer: Newcomer) => Effect.Effect<Stepped<Admitted>, RateLimited | StoreUnavailable>

export class Admission extends Context.Service<
  Admission,
  {
    /**
     * Takes a unit of each budget of the newcomer's caller and admits the ticket: to a slot, to the queue, or not at all. `RateLimited`
     * says that nothing was taken; after `StoreUnavailable` it is not known what was, unless the store was not asked (`unasked`).
     */
    readonly admit: Admit
  }
>()("voicegate/Admission") {}

/** The store was asked: for the units, which are taken. */
const whenTaken = ({ message }: StoreUnavailable): StoreUnavailable =>
  stackless(() => new StoreUnavailable({ message }))

const separate =
  (limiter: RateLimiter["Service"], queue: FifoQueue["Service"]): Admit =>
  (at, newcomer) =>
    Effect.flatMap(limiter.take(newcomer.caller, newcomer.id), () =>
      Effect.mapError(queue.admit(at, newcomer), whenTaken),
    )

/** Any rate limiter, and then any queue. */
export const layerSeparate: Layer.Layer<Admission, never, RateLimiter | FifoQueue> = Layer.effect(
  Admission,
  Effect.gen(function* () {
    return Admission.of({ admit: separate(yield* RateLimiter, yield* FifoQueue) })
  }),
)

/**
 * Both in one step of the store, where `RateLimiter` and `FifoQueue` are this package's own over the same `Store`, and a step of it may span
 * their keys (a Redis Cluster's may not); else as `layerSeparate`. So a host's own rate limiter or queue is always the one that is asked.
 */
export const layerAtomic: Layer.Layer<Admission, never, Store | RateLimiter | FifoQueue> = Layer.effect(
  Admission,
  Effect.gen(function* () {
    const store = yield* Store
    const limiter = yield* RateLimiter
    const queue = yield* FifoQueue
    const limits = takeRequestsOf(limiter, store)
    const line = admittingOf(queue, store)
    if (!store.crossSlot || limits === undefined || line === undefined) {
      return Admission.of({ admit: separate(limiter, queue) })
    }

    /** by the queue's, which is made anew when its slots change */
    const contexts = new WeakMap<QueueContext, TakeAndAdmitContext>()
    const contextOf = (budgets: Budgets, queue: QueueContext): TakeAndAdmitContext => {
      const known = contexts.get(queue) ?? { budgets, queue }
      contexts.set(queue, known)
      return known
    }
    return Admission.of({
      admit: (at, newcomer) =>
        line.reached(at, (now): ReturnType<Admit> => {
          const asked = limits(newcomer.caller, newcomer.id, now)
          if (Result.isFailure(asked)) return Effect.fail(asked.failure)
          if (asked.success === undefined) return queue.admit(at, newcomer)
          const { budgets, log, refusal, take } = asked.success
          const ask = {
            keys: line.keys(at),
            ownKeys: [log],
            now,
            context: contextOf(budgets, line.context(at)),
            call: { take, newcomer: line.newcomer(newcomer) },
          }
          return Effect.flatMap(store.run(takeAndAdmit, ask), (answer): ReturnType<Admit> => {
            const { result, ...left } = steppedOf(answer)
            if (result.admitted !== undefined) return Effect.succeed({ result: result.admitted, ...left })
            if (result.refused !== undefined) return Effect.fail(refusal(result.refused))
            return Effect.die(new TypeError("a newcomer was neither refused nor admitted"))
          })
        }),
    })
  }),
)
