/** Shutdown: the gate turns unready, finishes requests in progress, and exits within ten seconds. */
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { GONE_WITHIN_MILLIS, stopping } from "../harness/stopping.ts"
import { openEvents, openSocket } from "./support/push.ts"

const accepts = (gate: Gate): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(gate.url).port) })
    const done = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once("connect", () => done(true))
    socket.once("error", () => done(false))
  })

describe("a gate that is told to stop", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.concurrent(
      `drains on ${signal}: not ready, channels sent elsewhere, the start in flight finished, exit code 0`,
      withBench(async (bench) => {
        const platform = bench.own(await startPlatform())
        const redis = bench.own(await startRedis())
        const settings = settingsFor(platform, { StoreConnectionString: redis.url })
        const gate = await bench.gate(settings)
        await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)
        platform.script = () => "hang"
        const inFlight = gate.call()
        await eventually("the start is under way", () => platform.starts.length === 1)
        const tickets = [await gate.call(), await gate.call()].map((answer) => textOf(answer, "uniqueRequestId"))
        const [one = "", two = ""] = tickets
        const socket = bench.own(await openSocket(gate, one))
        const events = bench.own(await openEvents(gate, two))
        await socket.sees("position", { position: 1 })
        await events.sees("position", { position: 2 })

        const stopped = stopping(gate, signal)
        await eventually("not ready", async () => (await gate.ask("GET", "/health/ready")).status === 503)
        await socket.sees("reconnect")
        await events.sees("reconnect")
        await eventually("the channels' close", () => socket.closed() && events.closed())
        assert.strictEqual(socket.closeCode(), 1001)
        await eventually("no more connections", async () => !(await accepts(gate)))
        platform.starts[0]?.release()
        assert.strictEqual((await inFlight).status, 200)
        const { exit, millis } = await stopped
        assert.deepStrictEqual(exit, { code: 0, signal: null })
        assert.isBelow(millis, GONE_WITHIN_MILLIS)

        const next = await bench.gate(settings)
        await eventually("ready", async () => (await next.ask("GET", "/health/ready")).status === 200)
        await bench.own(await openSocket(next, one)).sees("position", { position: 1 })
        assert.strictEqual((await next.ask("GET", `/api/session/${two}`)).json.queuePosition, 2)
      }),
    )
  }

  it.concurrent(
    "exits within ten seconds although the platform hangs and a client never closes",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const gate = await bench.gate(settingsFor(platform))
      platform.script = () => "hang"
      const unanswered = gate.call().catch(() => "broken")
      await eventually("the start is under way", () => platform.starts.length === 1)
      // a client that has sent half a request
      const slow = connect({ host: "127.0.0.1", port: Number(new URL(gate.url).port) })
      slow.on("error", () => {})
      slow.write(
        "POST /api/session/request HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
      )
      const { exit, millis } = await stopping(gate, "SIGTERM")
      await unanswered
      slow.destroy()
      assert.deepStrictEqual(exit, { code: 0, signal: null })
      assert.isBelow(millis, GONE_WITHIN_MILLIS)
    }),
  )

  it.concurrent(
    "exits at once if nothing is in progress",
    withBench(async (bench) => {
      const gate = await bench.gate(settingsFor(bench.own(await startPlatform())))
      const { exit, millis } = await stopping(gate, "SIGTERM")
      assert.deepStrictEqual(exit, { code: 0, signal: null })
      assert.isBelow(millis, 5_000)
    }),
  )

  it.concurrent(
    "exits although its Redis is unreachable",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      await redis.stop()
      const gate = await bench.gate(settingsFor(bench.own(await startPlatform()), { StoreConnectionString: redis.url }))
      const { exit, millis } = await stopping(gate, "SIGTERM")
      assert.deepStrictEqual(exit, { code: 0, signal: null })
      assert.isBelow(millis, GONE_WITHIN_MILLIS)
    }),
  )
})
