/** A slow drain (`Server.DrainSeconds`): a reload meanwhile is refused, and a further signal ends it at once. */
import { assert, describe, it } from "@effect/vitest"
import { settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { GONE_WITHIN_MILLIS } from "../harness/stopping.ts"
import { openSocket } from "./support/push.ts"

/** One connection every ten seconds. */
const CALLERS = 60
const DRAIN_SECONDS = 600

describe("a gate in a slow drain", { timeout: 120_000 }, () => {
  for (const [which, flags] of [
    ["one process", []],
    ["two processes", ["--processes", "2"]],
  ] as const) {
    it(
      `refuses a reload and keeps its connections, until a further SIGTERM sends all of them away: ${which}`,
      withBench(async (bench) => {
        const platform = bench.own(await startPlatform())
        const redis = bench.own(await startRedis())
        const gate = await bench.gate(
          settingsFor(platform, {
            StoreConnectionString: redis.url,
            Server__DrainSeconds: String(DRAIN_SECONDS),
            Server__MaxConnectionsPerAddress: "0",
          }),
          [...flags],
        )
        assert.strictEqual((await gate.call()).status, 200)
        const sockets = await Promise.all(
          Array.from({ length: CALLERS }, async () =>
            bench.own(await openSocket(gate, textOf(await gate.call(), "uniqueRequestId"))),
          ),
        )
        const away = () => sockets.filter((socket) => socket.count("reconnect") > 0).length
        // a service manager signals every process of a gate, and its first process does too: that is one signal
        gate.kill("SIGTERM")
        gate.kill("SIGTERM")
        await eventually("the drain begins", () => away() > 0, 40_000)
        gate.kill("SIGHUP")
        await eventually("the reload is refused", () =>
          /The settings were not changed \(SIGHUP\)\. The gate is shutting down/.test(gate.output()),
        )
        assert.isBelow(away(), CALLERS / 2)
        const began = performance.now()
        gate.kill("SIGTERM")
        assert.deepStrictEqual(await gate.exit, { code: 0, signal: null })
        assert.isBelow(performance.now() - began, GONE_WITHIN_MILLIS)
        await eventually("all were told to reconnect", () => away() === CALLERS)
        assert.match(gate.output(), /Stopping at once/)
      }),
    )
  }
})
