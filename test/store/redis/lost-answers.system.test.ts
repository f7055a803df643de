/**
 * The Redis store when answers never arrive: the connection breaks after the server has carried out a command, or the server
 * does not answer for a while. No rule may be carried out twice because of that.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger, type Scope } from "effect"
import { startCutter } from "../../chaos/support/cutter.ts"
import { Chance } from "../../harness/chance.ts"
import { eventually, freePort } from "../../harness/process.ts"
import { type RedisServer, redisServer, serve } from "../../harness/redis.ts"
import { answering } from "../../harness/stores.ts"
import { count, on, opened } from "./support.ts"

const cutter = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(() => startCutter(port, new Chance(1))),
    (each) => Effect.promise(each.dispose),
  )

/** A node of a cluster that announces this port to clients and serves these slots. */
const clusterNode = Effect.fnUntraced(function* (announced: number | undefined, from: number, to: number) {
  const bus = String(yield* Effect.promise(freePort))
  const cluster = ["--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-config-file", "nodes.conf"]
  const node = yield* Effect.acquireRelease(
    Effect.promise(() =>
      serve((_, port) => [
        ...["--save", "", ...cluster, "--cluster-require-full-coverage", "no"],
        ...["--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", String(announced ?? port)],
      ]),
    ),
    (server) => Effect.promise(() => server.dispose()),
  )
  yield* Effect.promise(() => node.command("cluster", "addslotsrange", String(from), String(to)))
  return { node, bus }
})

const LAST_SLOT = 16_383
/** "k" is below, "a" above (CRC16 modulo 16384: 7629 and 15495). */
const MIDDLE = 8_000

/** A cluster whose node for the lower slots is behind a proxy that cuts connections; with one node, no node has the upper slots. */
const clusterBehindCutter = Effect.fnUntraced(function* (nodes: 1 | 2) {
  const announced = yield* Effect.promise(freePort)
  const { bus, node } = yield* clusterNode(announced, 0, MIDDLE)
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => startCutter(node.port, new Chance(1), announced)),
    (each) => Effect.promise(each.dispose),
  )
  if (nodes === 2) {
    const other = yield* clusterNode(undefined, MIDDLE + 1, LAST_SLOT)
    yield* Effect.promise(() => other.node.command("cluster", "meet", "127.0.0.1", String(node.port), bus))
  }
  yield* Effect.promise(() =>
    eventually("the cluster's state", async () => {
      const info = await node.command("cluster", "info")
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${nodes}`)
    }),
  )
  yield* Effect.promise(() =>
    eventually("the slots", async () => (await node.command("cluster", "slots")).split("127.0.0.1").length > nodes),
  )
  return { node, proxy, url: `redis+cluster://127.0.0.1:${announced}` }
})

const counted = (server: RedisServer): Effect.Effect<string> => Effect.promise(() => server.command("hget", "k", "n"))

const live = (name: string, body: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () => Effect.provide(body(), Logger.layer([])))

describe("a rule whose answer is lost with the connection", () => {
  live("is carried out once on one Redis", () =>
    Effect.gen(function* () {
      const node = yield* redisServer()
      const proxy = yield* cutter(node.port)
      const store = yield* opened(`redis://127.0.0.1:${proxy.port}`)
      yield* answering(store)
      yield* store.run(count, on("k"))
      proxy.loseAnswerTo = "evalsha"
      const exit = yield* Effect.exit(store.run(count, on("k")))
      assert.strictEqual(yield* counted(node), "2")
      assert.isTrue(Exit.isFailure(exit))
      yield* answering(store)
    }),
  )

  live("is carried out once on a Cluster", () =>
    Effect.gen(function* () {
      const { node, proxy, url } = yield* clusterBehindCutter(2)
      const store = yield* opened(url)
      yield* answering(store)
      yield* store.run(count, on("k"))
      proxy.loseAnswerTo = "evalsha"
      const exit = yield* Effect.exit(store.run(count, on("k")))
      assert.strictEqual(yield* counted(node), "2")
      assert.isTrue(Exit.isFailure(exit))
      yield* answering(store)
      assert.strictEqual(yield* store.run(count, on("k")), 3)
    }),
  )
})

describe("a server that did not answer TIME at first", () => {
  live("is asked again soon", () =>
    Effect.gen(function* () {
      const node = yield* redisServer()
      const proxy = yield* cutter(node.port)
      // longer than the command timeout
      proxy.holdAnswerTo = { text: "TIME", millis: 2_500 }
      const store = yield* opened(`redis://127.0.0.1:${proxy.port}`)
      yield* answering(store)
      assert.isUndefined(proxy.holdAnswerTo)
    }),
  )
})

describe("a Cluster", () => {
  live("a Cluster without a node for a key's slot is unavailable for that key only", () =>
    Effect.gen(function* () {
      const { url } = yield* clusterBehindCutter(1)
      const store = yield* opened(url)
      yield* Effect.promise(() =>
        eventually("the store answers", () => Effect.runPromise(Effect.isSuccess(store.run(count, on("k"))))),
      )
      const exit = yield* Effect.exit(store.run(count, on("a")))
      assert.isTrue(Exit.hasFails(exit), String(exit))
    }),
  )
})
