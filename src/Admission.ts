/**
 * Takes the quota and the place of one request: both, or neither.
 *
 * `layerAtomic` takes both in one step of the store. `layerSeparate` asks the rate limiter and then the queue, whatever
 * their layers. If the queue fails, the caller of `admit` gives back what the rate limiter took.
 */
import { Context, Effect, Layer, Result } from "effect"
import { type Admitted, type CampaignContext, FifoQueue, type Newcomer, type StepResult } from "./FifoQueue.ts"
import { admissionPortOf } from "./queue/admission-port.ts"
import { rules } from "./queue/rules.ts"
import { stepResultOf } from "./queue/step.ts"
import { RateLimiter, takeRequestsOf } from "./RateLimiter.ts"
import type { Budgets } from "./rules/limits/units.ts"
import type { QueueContext } from "./rules/step.ts"
import type { TakeAndAdmitContext } from "./rules/take-and-admit.ts"
import { type RateLimited, StoreUnavailable, stackless } from "./Session.ts"
import { Store } from "./Store.ts"

type Admit = (
  at: CampaignContext,
  newcomer: Newcomer,
) => Effect.Effect<StepResult<Admitted>, RateLimited | StoreUnavailable>

export class Admission extends Context.Service<
  Admission,
  {
    /**
     * Takes a unit of each budget of the newcomer's caller and admits the ticket: to a slot, to the queue, or not at
     * all. After `RateLimited` nothing was taken. After `StoreUnavailable` it is unknown what was taken, unless the
     * store was not asked (`unasked`).
     */
    readonly admit: Admit
  }
>()("voicegate/Admission") {}

/** The units are already taken, so the store was asked. */
const afterTaking = ({ message }: StoreUnavailable): StoreUnavailable =>
  stackless(() => new StoreUnavailable({ message }))

const separate =
  (limiter: RateLimiter["Service"], queue: FifoQueue["Service"]): Admit =>
  (at, newcomer) =>
    Effect.flatMap(limiter.take(newcomer.caller, newcomer.id), () =>
      Effect.mapError(queue.admit(at, newcomer), afterTaking),
    )

/** Any rate limiter, then any queue. */
export const layerSeparate: Layer.Layer<Admission, never, RateLimiter | FifoQueue> = Layer.effect(
  Admission,
  Effect.gen(function* () {
    return Admission.of({ admit: separate(yield* RateLimiter, yield* FifoQueue) })
  }),
)

/**
 * Both in one step of the store when `RateLimiter` and `FifoQueue` are this package's own, share the same `Store`, and
 * one step may span their keys (not on a Redis Cluster). Otherwise like `layerSeparate`, so a host's own rate limiter
 * or queue is always used.
 */
export const layerAtomic: Layer.Layer<Admission, never, Store | RateLimiter | FifoQueue> = Layer.effect(
  Admission,
  Effect.gen(function* () {
    const store = yield* Store
    const limiter = yield* RateLimiter
    const queue = yield* FifoQueue
    const takingFor = takeRequestsOf(limiter, store)
    const admission = admissionPortOf(queue, store)
    if (!store.crossSlot || takingFor === undefined || admission === undefined) {
      return Admission.of({ admit: separate(limiter, queue) })
    }

    /** by the queue's context, which is replaced when its slots change */
    const contexts = new WeakMap<QueueContext, TakeAndAdmitContext>()
    const contextOf = (budgets: Budgets, queue: QueueContext): TakeAndAdmitContext => {
      const known = contexts.get(queue) ?? { budgets, queue }
      contexts.set(queue, known)
      return known
    }
    return Admission.of({
      admit: (at, newcomer) =>
        admission.reportFirst(at, (now): ReturnType<Admit> => {
          const taking = takingFor(newcomer.caller, newcomer.id, now)
          if (Result.isFailure(taking)) return Effect.fail(taking.failure)
          if (taking.success === undefined) return queue.admit(at, newcomer)
          const { budgets, log, refusal, take } = taking.success
          const ask = {
            keys: admission.keys(at),
            ownKeys: [log],
            now,
            context: contextOf(budgets, admission.context(at)),
            call: { take, newcomer: admission.newcomer(newcomer) },
          }
          return Effect.flatMap(store.run(rules.takeAndAdmit, ask), (answer): ReturnType<Admit> => {
            const { result, ...left } = stepResultOf(answer)
            if (result.admitted !== undefined) return Effect.succeed({ result: result.admitted, ...left })
            if (result.refused !== undefined) return Effect.fail(refusal(result.refused))
            return Effect.die(new TypeError("a newcomer was neither refused nor admitted"))
          })
        }),
    })
  }),
)
