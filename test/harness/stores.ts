/**
 * Runs one suite on every store: memory, a real Redis, and where it is asked for a real Redis Cluster, which live as long as the suite. In a test
 * with `TestClock` all of them follow it: on Redis the measured clock difference stays as it was on connecting.
 */
import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Result, type Scope } from "effect"
import { parseConnectionString, type RedisConnection } from "../../src/store/connection-string.ts"
import * as memory from "../../src/store/memory/layer.ts"
import * as redis from "../../src/store/redis/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { inOneSlot, onDeclaredKeys } from "./one-slot.ts"
import { eventually } from "./process.ts"
import { type RedisServer, startRedis } from "./redis.ts"
import { type RedisCluster, startCluster } from "./redis-topologies.ts"

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

/** A connected store on the server. On a Cluster a step with keys of several hash slots fails the test. */
export const redisStore = (url: () => string): Layer.Layer<Store> => {
  const unconnected = Layer.unwrap(Effect.sync(() => redis.layer(connectionTo(url())))).pipe(Layer.orDie)
  const answers = Effect.map(Effect.tap(Store, answering), (store) => (store.crossSlot ? store : inOneSlot(store)))
  return Layer.effect(Store, answers).pipe(Layer.provide(unconnected), Layer.provide(steady))
}

/** A Redis as long as the suite around lives. */
const suiteRedis = (): (() => RedisServer) => {
  let server: RedisServer | undefined
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.dispose())
  return () => {
    if (server === undefined) throw new Error("the Redis was not started")
    return server
  }
}

/** A Redis Cluster as long as the suite around lives. */
const suiteCluster = (): (() => RedisCluster) => {
  let cluster: RedisCluster | undefined
  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(() => cluster?.dispose())
  return () => {
    if (cluster === undefined) throw new Error("the Cluster was not started")
    return cluster
  }
}

/** Runs the suite once per store; every test that provides the layer gets its own connection. */
export const onEveryStore = (suite: (store: Layer.Layer<Store>) => void): void => {
  describe("in memory", () => suite(memoryStore))
  describe("on Redis", () => {
    const server = suiteRedis()
    suite(redisStore(() => server().url))
  })
}

/** The same, and once more on a Redis Cluster. */
export const onEveryStoreAndCluster = (suite: (store: Layer.Layer<Store>) => void): void => {
  onEveryStore(suite)
  describe("on a Cluster", () => {
    const cluster = suiteCluster()
    suite(redisStore(() => cluster().url))
  })
}

/** A store that several gates share. */
export interface SharedStore {
  /** a connection of its own for each gate; the same store in memory */
  readonly connect: () => Layer.Layer<Store>
  /** where the data is; none in memory */
  readonly servers: ReadonlyArray<RedisServer>
}

const emptied = (servers: ReadonlyArray<RedisServer>, url: string): Effect.Effect<SharedStore> =>
  Effect.promise(async () => {
    for (const server of servers) await server.command("flushall")
    return { connect: () => redisStore(() => url), servers }
  })

/**
 * Runs the suite for gates that share a store: in memory, a Redis, and a Redis Cluster, where the keys of callers and of a campaign are on
 * different servers. The store of each test is empty.
 */
export const onSharedStores = (
  suite: (store: Effect.Effect<SharedStore, never, Scope.Scope>, name: string) => void,
): void => {
  describe("in memory", () =>
    suite(
      Effect.map(Layer.build(Layer.fresh(memoryStore)), (built) => ({
        connect: () => Layer.succeed(Store, onDeclaredKeys(Context.get(built, Store))),
        servers: [],
      })),
      "in memory",
    ))
  describe("on Redis", () => {
    const server = suiteRedis()
    suite(
      Effect.suspend(() => emptied([server()], server().url)),
      "on Redis",
    )
  })
  describe("on a Cluster", () => {
    const cluster = suiteCluster()
    suite(
      Effect.suspend(() => emptied(cluster().nodes, cluster().url)),
      "on a Cluster",
    )
  })
}
