/** The memory of circuit breakers, by the monotonic clock: an open circuit closes on time when the clock is set back meanwhile. */
import { Clock, Context, Effect, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"

const onMonotonicTime = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => {
    const currentTimeMillisUnsafe = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000n) / 1_000
    const steady: Clock.Clock = {
      currentTimeMillisUnsafe,
      currentTimeMillis: Effect.sync(currentTimeMillisUnsafe),
      currentTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      currentTimeNanos: clock.monotonicTimeNanos,
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration),
    }
    return Effect.provideService(self, Clock.Clock, steady)
  })

export const layer: Layer.Layer<CircuitBreaker.CircuitBreakerStore> = Layer.effect(
  CircuitBreaker.CircuitBreakerStore,
  Effect.gen(function* () {
    const built = yield* Layer.build(CircuitBreaker.layerStoreMemory())
    const memory = Context.get(built, CircuitBreaker.CircuitBreakerStore)
    return CircuitBreaker.CircuitBreakerStore.of({
      admit: (key) => onMonotonicTime(memory.admit(key)),
      record: (outcome) => onMonotonicTime(memory.record(outcome)),
      state: (key) => onMonotonicTime(memory.state(key)),
    })
  }),
)
