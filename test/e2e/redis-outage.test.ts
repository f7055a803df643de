/** The gate without its Redis: at the start, and while callers wait. */
import { assert, describe, it } from "@effect/vitest"
import { keysOf } from "../../src/fifo-queue/keys.ts"
import { type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { type Answer, textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

const assertUnavailable = (answer: Answer): void => {
  assert.deepStrictEqual([answer.status, answer.json.code], [503, "store_unavailable"])
  assert.isAbove(Number(answer.headers["retry-after"]), 0)
}

const ready = async (gate: Gate): Promise<number> => (await gate.ask("GET", "/health/ready")).status

describe("a gate whose Redis is away", () => {
  it.concurrent(
    "starts without it, logs that, and is ready when it is available",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      await redis.stop()
      const platform = bench.own(await startPlatform())
      const gate = await bench.gate(settingsFor(platform, { StoreConnectionString: redis.url }))
      await eventually("the log says so", () => /store cannot be reached/.test(gate.output()))
      assert.match(gate.output(), /ECONNREFUSED/)
      assert.strictEqual((await gate.ask("GET", "/health/live")).status, 200)
      const unready = await gate.ask("GET", "/health/ready")
      assert.deepStrictEqual([unready.status, unready.json.code], [503, "not_ready"])
      assertUnavailable(await gate.call())
      assert.strictEqual(platform.starts.length, 0)
      await redis.restart()
      await eventually("ready", async () => (await ready(gate)) === 200)
      assert.strictEqual((await gate.call()).status, 200)
    }),
  )

  it.concurrent(
    "answers 503 while it is down, and resumes in the same order when it is back",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis({ persistent: true }))
      const platform = bench.own(await startPlatform())
      const gate = await bench.gate(settingsFor(platform, { StoreConnectionString: redis.url }))
      await eventually("ready", async () => (await ready(gate)) === 200)
      assert.strictEqual((await gate.call()).status, 200)
      const tickets: Array<string> = []
      for (let i = 0; i < 5; i++) tickets.push(textOf(await gate.call(), "uniqueRequestId"))
      const sockets = await Promise.all(tickets.map(async (ticket) => bench.own(await openSocket(gate, ticket))))
      await Promise.all(sockets.map((socket, i) => socket.sees("position", { position: i + 1 })))

      redis.kill("SIGKILL")
      await eventually("unready", async () => (await ready(gate)) === 503)
      assertUnavailable(await gate.call())
      assertUnavailable(await gate.ask("GET", `/api/session/${tickets[0]}`))
      assertUnavailable(await gate.sessionEnded("conversation-1"))
      assert.isTrue(sockets.every((socket) => !socket.closed()))

      await redis.restart()
      await eventually("ready", async () => (await ready(gate)) === 200)
      for (const [index, ticket] of tickets.entries()) {
        const { json } = await gate.ask("GET", `/api/session/${ticket}`)
        assert.deepStrictEqual([json.state, json.queuePosition], ["waiting", index + 1])
      }
      assert.deepStrictEqual((await gate.sessionEnded("conversation-1")).json, { released: true })
      await sockets[0]?.sees("start_call")
      assert.strictEqual((await gate.ask("POST", `/api/session/${tickets[0]}/start`)).status, 200)
      await gate.sessionEnded("conversation-2")
      await sockets[1]?.sees("start_call")
      assert.deepStrictEqual(
        sockets.map((socket) => socket.count("start_call")),
        [1, 1, 0, 0, 0],
      )
    }),
  )

  it.concurrent(
    "tells its pages to reconnect in an outage longer than the grace, and gives up no place",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis({ persistent: true }))
      const platform = bench.own(await startPlatform())
      const gate = await bench.gate(
        settingsFor(platform, { StoreConnectionString: redis.url, Queue__DisconnectGraceSeconds: "2" }),
      )
      await eventually("ready", async () => (await ready(gate)) === 200)
      await gate.call()
      const ticket = textOf(await gate.call(), "uniqueRequestId")
      const socket = bench.own(await openSocket(gate, ticket))
      await socket.sees("position", { position: 1 })
      await eventually("a sweep", async () =>
        /^voicegate_waiting\{[^}]*\} 1$/m.test((await gate.ask("GET", "/metrics")).text),
      )
      redis.kill("SIGKILL")
      await eventually("unready", async () => (await ready(gate)) === 503)
      const gone = performance.now()
      // the grace and a tick: by its deadline alone the ticket would be absent
      await eventually("an outage of five seconds", () => performance.now() - gone > 5_000)
      // its page is told to reconnect, but there is no other instance
      await socket.sees("reconnect")
      assert.isTrue(socket.closed())
      await redis.restart()
      await eventually("ready", async () => (await ready(gate)) === 200)
      const again = bench.own(await openSocket(gate, ticket))
      await again.sees("position", { position: 1 })
      await gate.sessionEnded("conversation-1")
      await again.sees("start_call")
      assert.strictEqual(socket.count("ended") + again.count("ended"), 0)
    }),
  )

  it.concurrent(
    "is not ready while a key of the queue has a wrong type, and logs once what to do",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const gate = await bench.gate(settingsFor(platform, { StoreConnectionString: redis.url }))
      await eventually("ready", async () => (await ready(gate)) === 200)
      const [meta = ""] = keysOf("business-1/campaign-1")
      await redis.command("set", meta, "a text")
      await eventually("unready", async () => (await ready(gate)) === 503)
      assertUnavailable(await gate.call())
      const lines = gate.output().match(/The store refuses commands.*WRONGTYPE.*/g) ?? []
      assert.lengthOf(lines, 1)
      assert.include(lines[0], "delete the key")
      await redis.command("del", meta)
      await eventually("ready again", async () => (await ready(gate)) === 200)
      assert.strictEqual((await gate.call()).status, 200)
    }),
  )

  it.concurrent(
    "answers 503 within seconds while it hangs, and recovers",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const gate = await bench.gate(settingsFor(platform, { StoreConnectionString: redis.url }))
      await eventually("ready", async () => (await ready(gate)) === 200)
      redis.kill("SIGSTOP")
      const began = performance.now()
      const answer = await gate.call()
      const took = performance.now() - began
      redis.kill("SIGCONT")
      assertUnavailable(answer)
      assert.isBelow(took, 5_000)
      await eventually("ready", async () => (await ready(gate)) === 200)
      await eventually("a session", async () => (await gate.call()).status === 200)
    }),
  )
})
