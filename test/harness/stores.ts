/**
 * Runs one suite on every store: memory, and a real Redis that lives as long as the suite. In a test with `TestClock`
 * both stores follow it: on Redis the measured clock difference stays as it was on connecting.
 */
import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Clock, Effect, Layer, Result } from "effect"
import { parseConnectionString, type RedisConnection } from "../../src/store/connection-string.ts"
import * as memory from "../../src/store/memory/layer.ts"
import * as redis from "../../src/store/redis/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { eventually } from "./process.ts"
import { type RedisServer, startRedis } from "./redis.ts"

export const connectionTo = (url: string): RedisConnection => {
  const { connection } = Result.getOrThrow(parseConnectionString(url))
  if (connection.kind === "memory") throw new Error("memory: is not a connection to Redis")
  return connection
}

/** Waits, in real time, until the store answers. */
export const answering = (store: Store["Service"]): Effect.Effect<void> =>
  Effect.promise(() => eventually("the store answers", () => Effect.runPromise(Effect.isSuccess(store.ping))))

/**
 * The test's time, without its sleeps: measuring the clocks again would undo the jumps of the test's time, because the
 * server's time does not jump with it, and a memory store would run its cleanup 1,440 times for each day jumped over.
 */
const withoutSleep = (clock: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
  currentTimeMillis: clock.currentTimeMillis,
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
  currentTimeNanos: clock.currentTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: () => Effect.never,
})
const steady = Layer.effect(Clock.Clock, Effect.map(Clock.Clock, withoutSleep))

/** A store in memory. */
export const memoryStore: Layer.Layer<Store> = Layer.provide(memory.layer, steady)

/** A connected store on the server. */
export const redisStore = (url: () => string): Layer.Layer<Store> => {
  const unconnected = Layer.unwrap(Effect.sync(() => redis.layer(connectionTo(url())))).pipe(Layer.orDie)
  return Layer.effect(Store, Effect.tap(Store, answering)).pipe(Layer.provide(unconnected), Layer.provide(steady))
}

/** Runs the suite once per store; every test that provides the layer gets its own connection. */
export const onEveryStore = (suite: (store: Layer.Layer<Store>) => void): void => {
  describe("in memory", () => suite(memoryStore))
  describe("on Redis", () => {
    let server: RedisServer | undefined
    beforeAll(async () => {
      server = await startRedis()
    })
    afterAll(() => server?.dispose())
    suite(redisStore(() => server?.url ?? ""))
  })
}
