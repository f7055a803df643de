/**
 * The embedded store: all data is in this process and is lost when it ends. For one instance; several need Redis.
 *
 * Its time begins with the wall clock's and advances by the monotonic clock, so that a wall clock which is set moves no deadline. From
 * then on it is no time of day: `aheadMillis` says how far that is ahead.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import { Store } from "../Store.ts"
import { withSpans } from "../spans.ts"
import { MemoryDb } from "./MemoryDb.ts"

const EVICT_EVERY_MILLIS = 60_000
/** By how much the wall clock differs when it was set or the machine slept; two clocks of a machine do not drift so far apart (ms). */
const MIN_STEP_MILLIS = 1_000

export const layer: Layer.Layer<Store> = Layer.effect(
  Store,
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const origin = clock.currentTimeMillisUnsafe() - steady()
    const now = (): number => origin + steady()
    let ahead = 0
    // the same number until the next step, so that a time which is given and told again is the same
    const aheadMillis = (): number => {
      const difference = clock.currentTimeMillisUnsafe() - now()
      if (Math.abs(difference - ahead) >= MIN_STEP_MILLIS) ahead = difference
      return ahead
    }
    const listeners = new Map<string, Set<(message: string) => void>>()
    // delivered after the step, so that a listener never runs in the middle of a rule
    let outgoing: Array<readonly [channel: string, message: string]> = []
    const db = new MemoryDb((channel, message) => outgoing.push([channel, message]))
    const deliver = (): void => {
      if (outgoing.length === 0) return
      const messages = outgoing
      outgoing = []
      for (const [channel, message] of messages) {
        for (const listener of listeners.get(channel) ?? []) listener(message)
      }
    }
    const at = <A>(step: () => A): Effect.Effect<A> =>
      Effect.sync(() => {
        db.now = now()
        const reply = step()
        deliver()
        return reply
      })

    yield* at(() => db.evict()).pipe(Effect.schedule(Schedule.spaced(EVICT_EVERY_MILLIS)), Effect.forkScoped)

    return yield* withSpans({
      run: (rule, { call, context, keys, now: askedAt, ownKeys }) =>
        at(() => {
          const [answer] = rule.run(db, ownKeys === undefined ? keys : [...keys, ...ownKeys], askedAt, context, [call])
          if (answer === undefined) throw new TypeError(`the rule ${rule.name} returned no answer`)
          return answer
        }),
      crossSlot: true,
      get: (key) => at(() => db.get(key)),
      set: (key, value, ttlMillis) => at(() => db.set(key, value, ttlMillis)),
      publish: (channel, message) => at(() => db.publish(channel, message)),
      subscribe: (channel, onMessage) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const set = listeners.get(channel) ?? new Set()
            listeners.set(channel, set.add(onMessage))
          }),
          () =>
            Effect.sync(() => {
              const set = listeners.get(channel)
              set?.delete(onMessage)
              if (set?.size === 0) listeners.delete(channel)
            }),
        ),
      ping: Effect.void,
      now: Effect.sync(now),
      aheadMillis,
    })
  }),
)
