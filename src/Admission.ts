/**
 * Quota and place of one request: both are taken, or neither.
 *
 * `layerAtomic` takes them in one step of the store, so that nothing can come between. `layerSeparate` asks the rate limiter and then the
 * queue, whatever these are; what the first took is given back by the caller of `admit` when the second fails.
 */
import { Context, Effect, Layer, Result } from "effect"
import { type Admitted, type Asked, type At, admittingOf, FifoQueue, type Newcomer, type Stepped } from "./FifoQueue.ts"
import { ADMIT_ARGS } from "./queue/admit.ts"
import { RateLimiter, TAKE_ARGS, type Taking, takingOf } from "./RateLimiter.ts"
import { type RateLimited, StoreUnavailable, stackless } from "./Session.ts"
import { type Script, Store } from "./Store.ts"
import { chain } from "./store/chain.ts"
import { list } from "./store/reply.ts"

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
    const limits = takingOf(limiter, store)
    const line = admittingOf(queue, store)
    if (!store.spans || limits === undefined || line === undefined) {
      return Admission.of({ admit: separate(limiter, queue) })
    }

    let chained: Script | undefined
    const together = (taking: Taking, admitting: Asked<Admitted>) => {
      chained ??= chain(taking.script, TAKE_ARGS, admitting.script, ADMIT_ARGS)
      return Effect.flatMap(
        store.run(chained, [...taking.keys, ...admitting.keys], [...taking.args, ...admitting.args]),
        (reply) => {
          const [taken = [], admitted = []] = list(reply)
          const refused = taking.refusal(taken)
          return refused === undefined ? Effect.succeed(admitting.read(admitted)) : Effect.fail(refused)
        },
      )
    }
    return Admission.of({
      admit: (at, newcomer) =>
        line.reached(at, (now): ReturnType<Admit> => {
          const taking = limits(newcomer.caller, newcomer.id, now)
          if (Result.isFailure(taking)) return Effect.fail(taking.failure)
          if (taking.success === undefined) return queue.admit(at, newcomer)
          return together(taking.success, line.admitting(at, newcomer, now))
        }),
    })
  }),
)
