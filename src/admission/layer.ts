/**
 * Takes the quota and the place of one request: both, or neither.
 *
 * `layerAtomic` takes both in one step of the store. `layerSeparate` asks the rate limiter and then the queue, whatever
 * their layers. If the queue fails, the caller of `admit` gives back what the rate limiter took.
 */
import { Effect, Layer, Result } from "effect"
import { stepAnswer } from "../fifo-queue/answers.ts"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import { QueueStep } from "../fifo-queue/QueueStep.ts"
import type { QueueContext } from "../fifo-queue/rules/shared/step.ts"
import { stepResultOf } from "../fifo-queue/step.ts"
import { type LimitState, StoreUnavailable, stackless } from "../protocol/refusals.ts"
import type { LimitName } from "../rate-limiter/answers.ts"
import { NEAR_SHARE } from "../rate-limiter/layer.ts"
import { RateLimiter } from "../rate-limiter/RateLimiter.ts"
import { type TakeRequest, TakeStep } from "../rate-limiter/TakeStep.ts"

import { ruleOf } from "../store/rule.ts"
import { Store } from "../store/Store.ts"
import { Admission, type AdmissionResult, type Admit } from "./Admission.ts"
import { TakenAndAdmitted } from "./answers.ts"
import { runTakeAndAdmit, type TakeAndAdmitContext } from "./rules/take-and-admit.ts"

export const takeAndAdmit = ruleOf("takeAndAdmit", runTakeAndAdmit, stepAnswer(TakenAndAdmitted), {
  batch: true,
  texts: ["id", "caller", "network", "trace", "data"],
})

/** The units are already taken, so the store was asked. */
const afterTaking = ({ message }: StoreUnavailable): StoreUnavailable =>
  stackless(() => new StoreUnavailable({ message }))

const isNear = (limits: ReadonlyArray<LimitState>, name: LimitName): boolean =>
  limits.some((limit) => limit.name === name && limit.quota - limit.remaining >= NEAR_SHARE * limit.quota)

const separate =
  (limiter: RateLimiter["Service"], queue: FifoQueue["Service"]): Admit =>
  (at, newcomer, own) =>
    Effect.flatMap(limiter.take(newcomer.caller, newcomer.id, own), (limits) => {
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
 * Both in one step of the store, by this package's own limiter and queue. Where one step may not span their keys (a Redis Cluster), where
 * they do not share the `Store`, or where a host wraps one of them, like `layerSeparate`. A limiter or a queue of a host's own has no part in
 * such a step: it does not compile here.
 */
export const layerAtomic: Layer.Layer<Admission, never, Store | RateLimiter | TakeStep | FifoQueue | QueueStep> =
  Layer.effect(
    Admission,
    Effect.gen(function* () {
      const store = yield* Store
      const limiter = yield* RateLimiter
      const takeStep = yield* TakeStep
      const queue = yield* FifoQueue
      const queueStep = yield* QueueStep
      const isWrapped = takeStep.limiter !== limiter || queueStep.queue !== queue
      if (!store.crossSlot || isWrapped || takeStep.store !== store || queueStep.store !== store) {
        return Admission.of({ admit: separate(limiter, queue) })
      }

      /** the last context of the joined rule of each campaign, replaced with its queue's: calls share a command only with the same object */
      const contexts = new Map<string, TakeAndAdmitContext>()
      const contextOf = (
        campaign: string,
        { budgets, own, shadow }: TakeRequest,
        queue: QueueContext,
      ): TakeAndAdmitContext => {
        if (own) return { budgets, ...(shadow === undefined ? {} : { shadow }), queue }
        const known = contexts.get(campaign)
        if (known?.queue === queue) return known
        const context = { budgets, ...(shadow === undefined ? {} : { shadow }), queue }
        contexts.set(campaign, context)
        return context
      }
      return Admission.of({
        admit: (at, newcomer, limits) =>
          queueStep.reportFirst(at, (now): ReturnType<Admit> => {
            const taking = takeStep.request(newcomer.caller, now, limits)
            if (Result.isFailure(taking)) return Effect.fail(taking.failure)
            if (taking.success === undefined) return queue.admit(at, newcomer)
            const { logs, refusal } = taking.success
            const { context, keys } = queueStep.input(at, now)
            const ask = {
              keys,
              ownKeys: logs,
              now,
              context: contextOf(at.campaign, taking.success, context),
              call: newcomer,
            }
            return Effect.flatMap(store.run(takeAndAdmit, ask), (answer): ReturnType<Admit> => {
              const stepped = stepResultOf(answer, at.campaign)
              const { result } = stepped
              if (result._tag === "refused") return Effect.fail(refusal(result.usage))
              if (result.near === undefined && result.shadow === undefined)
                return Effect.succeed({ ...stepped, result })
              const { near, shadow, ...admitted } = result
              return Effect.succeed({
                ...stepped,
                result: admitted,
                ...(near === undefined ? {} : { near }),
                ...(shadow === undefined ? {} : { shadow }),
              })
            })
          }),
      })
    }),
  )
