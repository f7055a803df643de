/** Thousands of clients reconnect at the same moment: a gate that is busy for a second must not refuse any. */
import { readFileSync } from "node:fs"
import { createConnection } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { settingsFor, withBench } from "../harness/gate.ts"
import { eventually } from "../harness/process.ts"
import { startPlatform } from "../harness/servers.ts"

/** More than Node's own 511, fewer than the 4096 that Linux allows a process by default. */
const CONNECTIONS = 1_500

/** The system's limit, which no process can exceed. */
const allowed = Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"))

describe("a gate that is busy", () => {
  it.skipIf(allowed < CONNECTIONS)(
    "accepts all connections that arrive meanwhile (needs net.core.somaxconn of 1,500; the default on Linux is 4096)",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const gate = await bench.gate(settingsFor(platform))
      gate.kill("SIGSTOP")
      let connected = 0
      const sockets = Array.from({ length: CONNECTIONS }, () => {
        const socket = createConnection({ host: "127.0.0.1", port: Number(new URL(gate.url).port) })
        socket.on("error", () => {})
        socket.on("connect", () => {
          connected++
        })
        return socket
      })
      try {
        await eventually("all connections", () => {
          if (connected < CONNECTIONS) throw new Error(`${connected} of ${CONNECTIONS}`)
          return true
        })
      } finally {
        gate.kill("SIGCONT")
        for (const socket of sockets) socket.destroy()
      }
      assert.strictEqual((await gate.ask("GET", "/health/live")).status, 200)
    }),
  )
})
