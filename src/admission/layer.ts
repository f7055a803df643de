/**
 * Takes the quota and the place of one request: both, or neither.
 *
 * `layerAtomic` takes both in one step of the store. `layerSeparate` asks the rate limiter and then the queue, whatever
 * their layers. If the queue fails, the caller of `admit` gives back what the rate limiter took.
 */
import { Effect, Layer, Result } from "effect"
import { admissionPortOf } from "../fifo-queue/admission-port.ts"
import { stepAnswer } from "../fifo-queue/answers.ts"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import type { QueueContext } from "../fifo-queue/rules/shared/step.ts"
import { stepResultOf } from "../fifo-queue/step.ts"
import { type LimitState, StoreUnavailable, stackless } from "../protocol/refusals.ts"
import type { LimitName } from "../rate-limiter/answers.ts"
import { NEAR_SHARE, type TakeRequest, takeRequestsOf } from "../rate-limiter/layer.ts"
import { RateLimiter } from "../rate-limiter/RateLimiter.ts"

import { ruleOf } from "../store/rule.ts"
import { Store } from "../store/Store.ts"
import { Admission, type AdmissionResult, type Admit } from "./Admission.ts"
import { TakenAndAdmitted } from "./answers.ts"
import { runTakeAndAdmit, type TakeAndAdmitContext } from "./rules/take-and-admit.ts"

/** The joined rule. */
export const takeAndAdmit = ruleOf("takeAndAdmit", runTakeAndAdmit, stepAnswer(TakenAndAdmitted), {
  batch: true,
  texts: ["id", "network", "origin", "data"],
})

/** The units are already taken, so the store was asked. */
const afterTaking = ({ message }: StoreUnavailable): StoreUnavailable =>
  stackless(() => new StoreUnavailable({ message }))

/** Whether this limit of the caller is nearly used up. */
const isNear = (limits: ReadonlyArray<LimitState>, name: LimitName): boolean =>
  limits.some((limit) => limit.name === name && limit.quota - limit.remaining >= NEAR_SHARE * limit.quota)

const separate =
  (limiter: RateLimiter["Service"], queue: FifoQueue["Service"]): Admit =>
  (at, newcomer) =>
    Effect.flatMap(limiter.take(newcomer.caller, newcomer.id), (limits) => {
      const near = { hour: isNear(limits, "hour"), day: isNear(limits, "day") }
      const admitted: Effect.Effect<AdmissionResult, StoreUnavailable> = Effect.map(
        queue.admit(at, newcomer),
        (stepped) => (near.hour || near.day ? { ...stepped, near } : stepped),
      )
      const watched =
        limiter.shadow === undefined
          ? admitted
          : // shadow limits that cannot be counted refuse nobody
            Effect.flatMap(
              Effect.catch(limiter.shadow(newcomer.caller, newcomer.id), () => Effect.undefined),
              (shadow) =>
                shadow === undefined ? admitted : Effect.map(admitted, (stepped) => ({ ...stepped, shadow })),
            )
      return Effect.mapError(watched, afterTaking)
    })

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
    const contextOf = ({ budgets, shadow }: TakeRequest, queue: QueueContext): TakeAndAdmitContext => {
      const known = contexts.get(queue) ?? { budgets, ...(shadow === undefined ? {} : { shadow }), queue }
      contexts.set(queue, known)
      return known
    }
    return Admission.of({
      admit: (at, newcomer) =>
        admission.reportFirst(at, (now): ReturnType<Admit> => {
          const taking = takingFor(newcomer.caller, now)
          if (Result.isFailure(taking)) return Effect.fail(taking.failure)
          if (taking.success === undefined) return queue.admit(at, newcomer)
          const { logs, refusal } = taking.success
          const ask = {
            keys: admission.keys(at),
            ownKeys: logs,
            now,
            context: contextOf(taking.success, admission.context(at)),
            call: admission.newcomer(newcomer),
          }
          return Effect.flatMap(store.run(takeAndAdmit, ask), (answer): ReturnType<Admit> => {
            const { result, ...effects } = stepResultOf(answer, at.campaign)
            if (result._tag === "refused") return Effect.fail(refusal(result.usage))
            const { near, shadow, ...admitted } = result
            return Effect.succeed({
              result: admitted,
              ...effects,
              ...(near === undefined ? {} : { near }),
              ...(shadow === undefined ? {} : { shadow }),
            })
          })
        }),
    })
  }),
)
