import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "./process.ts"
import { redisServer } from "./redis.ts"
import { redisCluster, redisSentinels } from "./redis-topologies.ts"

const command = (server: { command: (...args: Array<string>) => Promise<string> }, ...args: Array<string>) =>
  Effect.promise(() => server.command(...args))

const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("a Redis server for tests", () => {
  it.live("answers with its password, and is gone after its scope", () =>
    Effect.gen(function* () {
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const server = yield* redisServer({ password: "pass:word/@" })
          assert.strictEqual(yield* command(server, "set", "a", "1"), "OK")
          assert.isTrue(alive(server.pid()))
          return server.pid()
        }),
      )
      assert.isFalse(alive(pid))
    }),
  )

  it.live("keeps its data after a crash only when it is persistent", () =>
    Effect.gen(function* () {
      for (const [persistent, kept] of [
        [true, "1"],
        [false, ""],
      ] as const) {
        const server = yield* redisServer({ persistent })
        yield* command(server, "set", "a", "1")
        server.kill("SIGKILL")
        yield* Effect.promise(() => server.restart())
        assert.strictEqual(yield* command(server, "get", "a"), kept)
      }
    }),
  )

  it.live("is a cluster whose nodes agree", () =>
    Effect.gen(function* () {
      const { nodes, url } = yield* redisCluster()
      assert.strictEqual(url, `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`)
      for (const node of nodes) assert.include(yield* command(node, "cluster", "info"), "cluster_slots_ok:16384")
    }),
  )

  it.live("fails over to the replica when the master dies behind Sentinels", () =>
    Effect.gen(function* () {
      const { master, replica, masterPort } = yield* redisSentinels()
      assert.strictEqual(yield* Effect.promise(masterPort), master.port)
      master.kill("SIGKILL")
      yield* Effect.promise(() =>
        eventually("the fail-over", async () => (await masterPort()) === replica.port, 30_000),
      )
      assert.include(yield* command(replica, "role"), "master")
    }),
  )
})
