/**
 * Takes the caller's units and admits the ticket: in one step of the store where its scripts may span both, so that nothing can
 * come between, else in two.
 */
import { Effect, Result } from "effect"
import { type Admission, type Asked, type At, FifoQueue, type Newcomer, type Stepped } from "../FifoQueue.ts"
import { ADMIT_ARGS } from "../queue/admit.ts"
import { RateLimiter, TAKE_ARGS, type Taking } from "../RateLimiter.ts"
import { type RateLimited, StoreUnavailable, stackless } from "../Session.ts"
import { type Script, Store } from "../Store.ts"
import { chain } from "../store/chain.ts"
import { list } from "../store/reply.ts"

export type Enter = (at: At, newcomer: Newcomer) => Effect.Effect<Stepped<Admission>, RateLimited | StoreUnavailable>

/** The store was asked: for the units, which are taken. */
const whenTaken = ({ message }: StoreUnavailable): StoreUnavailable =>
  stackless(() => new StoreUnavailable({ message }))

export const makeEnter: Effect.Effect<Enter, never, Store | RateLimiter | FifoQueue> = Effect.gen(function* () {
  const store = yield* Store
  const limiter = yield* RateLimiter
  const queue = yield* FifoQueue

  let chained: Script | undefined
  const together = (taking: Taking, admitting: Asked<Admission>) => {
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

  return (at, newcomer) => {
    const entered = (now: number): ReturnType<Enter> => {
      const taking = limiter.taking(newcomer.caller, newcomer.id, now)
      if (Result.isFailure(taking)) return Effect.fail(taking.failure)
      if (taking.success === undefined) return queue.admit(at, newcomer)
      if (store.spans) return together(taking.success, queue.admitting(at, newcomer, now))
      return Effect.flatMap(limiter.take(newcomer.caller, newcomer.id), () =>
        Effect.mapError(queue.admit(at, newcomer), whenTaken),
      )
    }
    // the units of a caller are not the campaign's affair where they are a step of their own
    return store.spans ? queue.reached(at, entered) : Effect.flatMap(store.now, entered)
  }
})
