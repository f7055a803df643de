/** The Redis store beyond the contract: servers that stop, hang, lose their scripts or have another time. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Layer, Logger, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { layer as queueLayer } from "../../../src/fifo-queue/layer.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { readSignal } from "../../../src/protocol/signals.ts"
import { layer as limiterLayer } from "../../../src/rate-limiter/layer.ts"
import { RateLimiter } from "../../../src/rate-limiter/RateLimiter.ts"
import { StoreRefused } from "../../../src/store/redis/problems.ts"
import { MEASURE_EVERY_MILLIS } from "../../../src/store/redis/server-clock.ts"
import { type Rule, Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { type RedisServer, redisServer } from "../../harness/redis.ts"
import { redisCluster } from "../../harness/redis-topologies.ts"
import { settingsWith } from "../../harness/settings.ts"
import { answering, redisStore } from "../../harness/stores.ts"
import { swallower } from "../../harness/swallower.ts"
import { count, on, opened } from "./support.ts"

/** Rules whose Lua returns no list, no JSON, fewer answers than calls, or an answer with the wrong shape. */
const FAULTY: ReadonlyArray<Rule<object, object, number>> = [
  "return {false}",
  "return 'junk'",
  "return '7'",
  "return '{}'",
  "return '[]'",
  "return cjson.encode({'seven'})",
].map((lua) => ({
  name: "test.faulty",
  run: () => [],
  lua,
  decode: Schema.decodeUnknownSync(Schema.Finite),
  batch: false,
}))

/** A store on this server, in this test's scope. */
const arrived = (received: ReadonlyArray<string>, message: string): Effect.Effect<void> =>
  Effect.promise(() => eventually(`the message ${message}`, () => received.includes(message)))

/** Runs all concurrently; returns the total time and each outcome. */
const timed = Effect.fnUntraced(function* <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) {
  const start = performance.now()
  const exits = yield* Effect.forEach(effects, Effect.exit, { concurrency: "unbounded" })
  return { exits, millis: performance.now() - start }
})

const isUnavailable = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof StoreUnavailable

const everything = (store: Store["Service"]) => [
  store.run(count, on("{k}")),
  store.get("{k}v"),
  store.set("{k}v", "1", 1_000),
  store.publish("c", "m"),
  store.ping,
]

const stateIn = (message: string): string => {
  const signal = readSignal(message)
  return `${signal?.ticket} ${signal?.kind._tag}`
}

const serverTime = (server: RedisServer): Effect.Effect<number> =>
  Effect.map(
    Effect.promise(() => server.command("time")),
    (answer) => {
      const [seconds, micros] = answer.split("\n").map(Number)
      return (seconds ?? 0) * 1_000 + (micros ?? 0) / 1_000
    },
  )

const live = (name: string, body: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () => Effect.provide(body(), Logger.layer([])))

describe("the store on Redis", () => {
  live("loads a rule again after the server lost its scripts", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const store = yield* opened(server.url)
      yield* answering(store)
      assert.strictEqual(yield* store.run(count, on("k")), 1)
      yield* Effect.promise(() => server.command("script", "flush"))
      // concurrently, so that several find the script missing
      const replies = yield* Effect.all(
        [1, 2, 3].map(() => store.run(count, on("k"))),
        { concurrency: "unbounded" },
      )
      assert.sameMembers([...replies].map(Number), [2, 3, 4])
    }),
  )

  live("continues when the server is back behind a proxy that accepts connections and closes them meanwhile", () =>
    Effect.gen(function* () {
      const server = yield* redisServer({ persistent: true })
      const proxy = yield* swallower(server.port)
      const store = yield* opened(`redis://127.0.0.1:${proxy.port}`)
      yield* answering(store)
      yield* Effect.promise(() => server.stop())
      const before = proxy.made()
      yield* Effect.promise(() => eventually("several connections were closed", () => proxy.made() >= before + 6))
      yield* Effect.promise(() => server.restart())
      yield* answering(store)
    }),
  )

  live("fails every operation fast while the server is down, and continues when it is back", () =>
    Effect.gen(function* () {
      const server = yield* redisServer({ persistent: true })
      const store = yield* opened(server.url)
      yield* answering(store)
      const received: Array<string> = []
      yield* store.subscribe("c", (message) => received.push(message))
      yield* store.run(count, on("k"))

      yield* Effect.promise(() => server.stop())
      yield* Effect.promise(() =>
        eventually("the loss is noticed", async () => isUnavailable(await Effect.runPromiseExit(store.ping))),
      )
      const { exits, millis } = yield* timed(Array.from({ length: 20 }, () => everything(store)).flat())
      assert.isTrue(exits.every(isUnavailable))
      assert.isBelow(millis, 1_000)

      yield* Effect.promise(() => server.restart())
      yield* answering(store)
      assert.strictEqual(yield* store.run(count, on("k")), 2)
      // the subscription has its own connection, which reconnects by itself
      yield* Effect.promise(() =>
        eventually("the subscription is renewed", async () => {
          await Effect.runPromise(store.publish("c", "again"))
          return received.includes("again")
        }),
      )
    }),
  )

  live("connects later when it was built while the server was down, subscriptions included", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      yield* Effect.promise(() => server.stop())
      const store = yield* opened(server.url)
      const received: Array<string> = []
      yield* store.subscribe("c", (message) => received.push(message))
      const { exits, millis } = yield* timed(everything(store))
      assert.isTrue(exits.every(isUnavailable))
      assert.isBelow(millis, 1_000)

      yield* Effect.promise(() => server.restart())
      yield* answering(store)
      assert.strictEqual(yield* store.run(count, on("k")), 1)
      yield* Effect.promise(() =>
        eventually("the subscription is made", async () => {
          await Effect.runPromise(store.publish("c", "hello"))
          return received.includes("hello")
        }),
      )
    }),
  )

  live("times out when a hanging server does not answer a command, and never sends it twice", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const store = yield* opened(server.url)
      yield* answering(store)
      yield* store.run(count, on("k"))
      server.kill("SIGSTOP")
      const { exits, millis } = yield* timed([store.run(count, on("k")), store.run(count, on("k")), store.ping])
      server.kill("SIGCONT")
      assert.isTrue(exits.every(isUnavailable))
      assert.isBelow(millis, 10_000)
      yield* answering(store)
      // the server may have received both or neither, but none of them twice
      const after = Number(yield* store.run(count, on("k")))
      assert.isAtLeast(after, 2)
      assert.isAtMost(after, 4)
      assert.strictEqual(yield* store.run(count, on("k")), after + 1)
    }),
  )

  live("does not start with a wrong password, and does not reveal it", () =>
    Effect.gen(function* () {
      const server = yield* redisServer({ password: "right" })
      const right = yield* opened(server.url)
      yield* answering(right)
      const exit = yield* Effect.exit(opened(server.url.replace("right", "wr0ng-s3cret")))
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof StoreRefused)
      assert.notInclude(JSON.stringify(exit), "wr0ng-s3cret")
    }),
  )

  live(
    "is unavailable when its password is changed while it runs, logs that, and continues when it is changed back",
    () =>
      Effect.gen(function* () {
        const server = yield* redisServer({ password: "right" })
        const store = yield* opened(server.url)
        yield* answering(store)
        yield* Effect.promise(() => server.command("config", "set", "requirepass", "other"))
        const admin = ["--no-auth-warning", "-a", "other"]
        yield* Effect.promise(() => server.command(...admin, "client", "kill", "type", "normal"))
        yield* Effect.promise(() =>
          eventually("the refusal is the cause", async () => {
            const exit = await Effect.runPromiseExit(store.ping)
            return isUnavailable(exit) && JSON.stringify(exit).includes("WRONGPASS")
          }),
        )
        yield* Effect.promise(() => server.command(...admin, "config", "set", "requirepass", "right"))
        yield* answering(store)
      }),
  )

  it.effect("reads the server's time on connecting, whatever this process's clock says", () =>
    Effect.gen(function* () {
      // the test clock starts in 1970
      const server = yield* redisServer()
      yield* Effect.gen(function* () {
        const store = yield* Store
        const before = yield* serverTime(server)
        assert.closeTo(yield* store.now, before, 2_000)
        assert.isTrue(Number.isInteger(yield* store.now))
      }).pipe(Effect.provide(redisStore(() => server.url)))
    }),
  )

  it.effect("reads the server's time again every second, because clocks drift and stop", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const store = yield* opened(server.url)
      yield* answering(store)
      const before = yield* store.now
      yield* TestClock.adjust(MEASURE_EVERY_MILLIS - 1)
      assert.strictEqual((yield* store.now) - before, MEASURE_EVERY_MILLIS - 1)
      yield* TestClock.adjust(30_000)
      // a reply that took 30 s is imprecise, so wait for the next one
      const isRight = Effect.gen(function* () {
        yield* TestClock.adjust(MEASURE_EVERY_MILLIS)
        yield* Effect.promise(() => sleep(20))
        return Math.abs((yield* store.now) - (yield* serverTime(server))) < 2_000
      })
      assert.isTrue(yield* Effect.repeat(isRight, { until: (right) => right, times: 100 }))
    }),
  )

  live("keeps the server's time when this process's wall clock is set", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const clock = yield* Clock.Clock
      let step = 0
      const stepped: Clock.Clock = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + step,
        currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + step),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(step) * 1_000_000n,
        currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() + BigInt(step) * 1_000_000n),
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => clock.sleep(duration),
      }
      const store = yield* Effect.provideService(opened(server.url), Clock.Clock, stepped)
      yield* answering(store)
      for (const millis of [3_600_000, -3_600_000]) {
        step = millis
        assert.closeTo(yield* store.now, yield* serverTime(server), 2_000)
      }
    }),
  )

  live("measures the server's time before it is used when this process's monotonic clock has stopped", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const clock = yield* Clock.Clock
      let lost = 0n
      const suspended: Clock.Clock = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
        currentTimeMillis: clock.currentTimeMillis,
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
        currentTimeNanos: clock.currentTimeNanos,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe() - lost,
        monotonicTimeNanos: Effect.sync(() => clock.monotonicTimeNanosUnsafe() - lost),
        // only reading the server's time reveals it
        sleep: () => Effect.never,
      }
      const store = yield* Effect.provideService(opened(server.url), Clock.Clock, suspended)
      yield* answering(store)
      lost = 40_000_000_000n
      assert.closeTo(yield* store.now, yield* serverTime(server), 2_000)
    }),
  )

  live("dies when a rule's answer has the wrong shape", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const store = yield* opened(server.url)
      yield* answering(store)
      for (const rule of FAULTY) {
        assert.isTrue(Exit.hasDies(yield* Effect.exit(store.run(rule, on("k")))), rule.lua)
        // in a batch each call fails
        const batched = { ...rule, batch: true }
        const { exits } = yield* timed([store.run(batched, on("k")), store.run(batched, on("k"))])
        assert.isTrue(exits.every(Exit.hasDies), rule.lua)
      }
      assert.strictEqual(yield* store.run(count, on("k")), 1)
    }),
  )

  live("runs queue and limits on a cluster, whichever node a campaign or caller belongs to", () =>
    Effect.gen(function* () {
      const { url } = yield* redisCluster()
      yield* Effect.gen(function* () {
        const store = yield* Store
        const queue = yield* FifoQueue
        const limiter = yield* RateLimiter
        const received: Array<string> = []
        yield* store.subscribe("vg:i:there", (message) => received.push(stateIn(message)))
        for (let n = 0; n < 12; n++) {
          const at = { campaign: `campaign ${n}`, slots: 1, instance: "here" }
          const ticket = { caller: `10.0.0.${n}`, holds: true, network: "", data: "" }
          assert.lengthOf(yield* limiter.take(ticket.caller, "a"), 3)
          assert.strictEqual((yield* Effect.flip(limiter.take(ticket.caller, "b")))._tag, "RateLimited")
          yield* limiter.refund(ticket.caller, "a")
          const { result } = yield* queue.admit(at, { id: `a${n}`, ...ticket })
          assert.strictEqual(result._tag, "starting")
          yield* queue.admit(at, { id: `b${n}`, ...ticket })
          yield* queue.attach({ ...at, instance: "there" }, `b${n}`, true)
          const lease = result._tag === "starting" ? result.lease : ""
          const bound = yield* queue.bind(at, `a${n}`, lease, { ids: [`s${n}`], data: {} })
          assert.strictEqual(bound.result, "live")
          assert.strictEqual((yield* queue.end(at, [`s${n}`])).result, "released")
          yield* arrived(received, `b${n} called`)
        }
      }).pipe(
        Effect.provide(
          Layer.mergeAll(queueLayer, limiterLayer).pipe(
            Layer.provideMerge(redisStore(() => url)),
            Layer.provide(settingsWith({ Security: { RateLimitConcurrency: 1 } })),
          ),
        ),
      )
    }),
  )
})
