/** The Redis store when another server becomes the primary while the old one keeps running, as in a planned failover. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, type Scope } from "effect"
import type { Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { type RedisServer, redisServer } from "../../harness/redis.ts"
import { redisSentinels, replicated } from "../../harness/redis-topologies.ts"
import { answering } from "../../harness/stores.ts"
import { add, adding, KEY, opened } from "./support.ts"

const replicaOf = Effect.fnUntraced(function* (primary: RedisServer) {
  const replica = yield* redisServer({ args: ["--replicaof", "127.0.0.1", String(primary.port)] })
  yield* Effect.promise(() =>
    eventually("the replica's link", async () =>
      (await replica.command("info", "replication")).includes("master_link_status:up"),
    ),
  )
  return replica
})

/** Writes one name after the other until it is stopped; records when each was acknowledged (ms). */
const startWriter = (store: Store["Service"], name: string) => {
  const acknowledged = new Map<string, number>()
  let stopped = false
  const writing = (async () => {
    for (let n = 0; !stopped; n++) {
      const id = `${name}${n}`
      if (await Effect.runPromise(Effect.isSuccess(store.run(add, adding(id))))) acknowledged.set(id, performance.now())
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  return {
    acknowledged,
    stop: async () => {
      stopped = true
      await writing
    },
  }
}

const roleOf = async (server: RedisServer): Promise<string> => (await server.command("role")).split("\n")[0] ?? ""

const live = (name: string, body: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () => Effect.provide(body(), Logger.layer([])))

describe.concurrent("a planned failover behind Sentinels", () => {
  live("is followed within a second by every instance, for writes and for subscriptions", () =>
    Effect.gen(function* () {
      const { master, masterPort, replica, sentinels, url } = yield* redisSentinels()
      const [one, two] = [yield* opened(url), yield* opened(url)]
      yield* answering(one)
      yield* answering(two)
      const received: Array<string> = []
      yield* one.subscribe("vg:c", (message) => received.push(message))
      yield* Effect.promise(async () => {
        const writers = [startWriter(one, "a"), startWriter(two, "b")]
        try {
          await eventually("both write", () => writers.every(({ acknowledged }) => acknowledged.size > 20))
          // the last Sentinel leads, which is not the first one that clients ask
          await sentinels.at(-1)?.command("sentinel", "failover", "mymaster")
          await eventually("the promotion", async () => (await masterPort()) === replica.port)
          const promoted = performance.now()
          await eventually(
            "both write again",
            () => writers.every(({ acknowledged }) => [...acknowledged.values()].some((at) => at > promoted)),
            2_000,
          )
          // the old master does not notice it for about ten seconds
          assert.strictEqual(await roleOf(master), "master")
          await eventually(
            "a message from one instance to the other",
            async () => {
              await Effect.runPromise(two.publish("vg:c", "after"))
              return received.includes("after")
            },
            2_000,
          )
          await eventually("the old master's demotion", async () => (await roleOf(master)) === "slave", 30_000)
        } finally {
          await Promise.all(writers.map((writer) => writer.stop()))
        }
        const kept = new Set((await replica.command("smembers", KEY)).split("\n"))
        const all = writers.flatMap(({ acknowledged }) => [...acknowledged])
        const lostAt = all.filter(([id]) => !kept.has(id)).map(([, at]) => at)
        const span = lostAt.length === 0 ? 0 : Math.max(...lostAt) - Math.min(...lostAt)
        assert.isBelow(span, 1_000, `${lostAt.length} of ${all.length} acknowledged writes are lost, over ${span} ms`)
      })
    }),
  )

  live("does not affect the connection when another master fails over", () =>
    Effect.gen(function* () {
      const { sentinels, url } = yield* redisSentinels()
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const store = yield* Effect.provide(opened(url), Logger.layer([logger]))
      yield* answering(store)
      const other = yield* redisServer()
      const next = yield* replicaOf(other)
      yield* Effect.promise(async () => {
        const each = (...command: ReadonlyArray<string>) =>
          Promise.all(sentinels.map((sentinel) => sentinel.command(...command)))
        await each("sentinel", "monitor", "other", "127.0.0.1", String(other.port), "2")
        await eventually("the Sentinels' view of the other", async () =>
          (await each("sentinel", "replicas", "other")).every((seen) => seen.includes(`127.0.0.1:${next.port}`)),
        )
        // refused until the Sentinel knows the replica
        await eventually(
          "the start of the failover",
          async () => (await sentinels[0]?.command("sentinel", "failover", "other")) === "OK",
        )
        await eventually("the other's failover", async () => {
          assert.isTrue(await Effect.runPromise(Effect.isSuccess(store.run(add, adding("c")))))
          const addresses = await each("sentinel", "get-master-addr-by-name", "other")
          return addresses.every((address) => address.includes(String(next.port)))
        })
        assert.isTrue(await Effect.runPromise(Effect.isSuccess(store.run(add, adding("d")))))
      })
      assert.lengthOf(lines, 1, lines.join("\n"))
    }),
  )
})

describe.concurrent("a Sentinel that refuses the subscription", () => {
  live("is logged once, however often it is tried again, and the store works all the same", () =>
    Effect.gen(function* () {
      const { url } = yield* redisSentinels()
      const closed = yield* redisServer({ password: "correct-horse" })
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const withOne = url.replace("/mymaster", `,127.0.0.1:${closed.port}/mymaster?sentinelPassword=battery-staple`)
      const store = yield* Effect.provide(opened(withOne), Logger.layer([logger]))
      yield* answering(store)
      const connections = async () =>
        Number(/total_connections_received:(\d+)/.exec(await closed.command("info", "stats"))?.[1])
      yield* Effect.promise(async () => {
        await eventually("the line", () => lines.some((line) => line.includes(String(closed.port))))
        // each check is a connection of redis-cli
        const before = await connections()
        let checks = 0
        await eventually("it is tried again twice", async () => (await connections()) - before - ++checks >= 2)
      })
      const subscribeErrors = lines.filter((line) => line.includes(String(closed.port)))
      assert.lengthOf(subscribeErrors, 1, lines.join("\n"))
      assert.match(subscribeErrors[0] ?? "", /^Cannot subscribe to the Sentinel 127\.0\.0\.1:\d+ \(.*WRONGPASS/)
      assert.notMatch(lines.join("\n"), /correct-horse|battery-staple/)
    }),
  )
})

describe.concurrent("a primary that became a replica", () => {
  live("refuses a write, which is then carried out once on the new primary", () =>
    Effect.gen(function* () {
      const primary = yield* redisServer()
      const replica = yield* replicaOf(primary)
      const store = yield* opened(`127.0.0.1:${primary.port},127.0.0.1:${replica.port}`)
      yield* answering(store)
      yield* store.run(add, adding("before"))
      // Redis replicates after it has answered
      yield* Effect.promise(() => replicated(primary, replica))
      yield* Effect.promise(() => replica.command("replicaof", "no", "one"))
      yield* Effect.promise(() => primary.command("replicaof", "127.0.0.1", String(replica.port)))
      const writes: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        ...["a", "b", "c"].map((name) => store.run(add, adding(name))),
        store.set("vg:v", "1", 60_000),
      ]
      yield* Effect.all(writes, { concurrency: "unbounded" })
      const members = yield* Effect.promise(() => replica.command("smembers", KEY))
      assert.sameMembers(members.split("\n"), ["before", "a", "b", "c"])
      assert.strictEqual(yield* Effect.promise(() => replica.command("get", "vg:v")), "1")
    }),
  )

  live("hands over by FAILOVER without losing an acknowledged write", () =>
    Effect.gen(function* () {
      const primary = yield* redisServer()
      const replica = yield* replicaOf(primary)
      const store = yield* opened(`127.0.0.1:${primary.port},127.0.0.1:${replica.port}`)
      yield* answering(store)
      yield* Effect.promise(async () => {
        const writer = startWriter(store, "a")
        try {
          await eventually("it writes", () => writer.acknowledged.size > 20)
          await primary.command("failover")
          await eventually("the promotion", async () => (await roleOf(replica)) === "master")
          const promoted = performance.now()
          await eventually("it writes again", () => [...writer.acknowledged.values()].some((at) => at > promoted))
        } finally {
          await writer.stop()
        }
        const kept = new Set((await replica.command("smembers", KEY)).split("\n"))
        assert.deepStrictEqual(
          [...writer.acknowledged.keys()].filter((id) => !kept.has(id)),
          [],
        )
      })
    }),
  )
})
