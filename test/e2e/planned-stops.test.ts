/** A gate that is told to stop says so to the store, so that no other gate waits for it as for a dead one. Two gates on one Redis. */
import { assert, describe, it } from "@effect/vitest"
import { type Gate, settingsFor, withBench } from "../../scripts/harness/gate.ts"
import { field, textOf } from "../../scripts/harness/http.ts"
import { eventually } from "../../scripts/harness/process.ts"
import { startRedis } from "../../scripts/harness/redis.ts"
import { startPlatform } from "../../scripts/harness/servers.ts"
import { stopping } from "../../scripts/harness/stopping.ts"
import { note } from "./support/evidence.ts"

const TOPIC = "17-planned-stops"
const STOPS = Number(process.env.PLANNED_STOPS ?? 2)
const WINDOW_SECONDS = 5

const ready = (gate: Gate) => eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)

describe("a gate that is told to stop under load", () => {
  it(
    `is not among the living afterwards, ${STOPS} of ${STOPS} times, and a called caller who never starts holds the slot no longer`,
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const settings = settingsFor(platform, {
        StoreConnectionString: redis.url,
        Queue__StartWindowSeconds: String(WINDOW_SECONDS),
        Security__TrustedProxies__0: "loopback",
      })
      const staying = await bench.gate(settings)
      await ready(staying)
      const [key = ""] = (await redis.command("--scan", "--pattern", "vg:2:*:gates")).split("\n")
      const living = async () =>
        (await redis.command("zrange", key, "0", "-1")).split("\n").filter((each) => each !== "")
      let caller = 0
      const call = (gate: Gate) => {
        caller++
        return gate.call(`198.18.${caller >> 8}.${caller & 255}`)
      }

      for (let stop = 1; stop <= STOPS; stop++) {
        const leaving = await bench.gate(settings)
        await ready(leaving)
        await eventually("both live", async () => (await living()).length === 2)
        // as after SCRIPT FLUSH or a failover, the server knows no script
        if (stop % 2 === 0) await redis.command("script", "flush")
        let loaded = true
        const load = (async () => {
          while (loaded) await Promise.allSettled([call(staying), call(leaving)])
        })()
        const { exit } = await stopping(leaving, "SIGTERM")
        loaded = false
        await load
        assert.strictEqual(exit.code, 0)
        assert.lengthOf(await living(), 1, `after stop ${stop}`)
      }

      // the one who is called never starts: the slot goes on after the window, not after the time of a dead gate
      const waiting = await Promise.all(
        Array.from({ length: 2 }, async () => textOf(await call(staying), "uniqueRequestId")),
      )
      const line = await redis.command("zrange", key.replace(/gates$/, "waiting"), "0", "0")
      const began = performance.now()
      await staying.sessionEnded("conversation-1")
      const stateOf = async (ticket: string) => field(await staying.ask("GET", `/api/session/${ticket}`), "state")
      assert.strictEqual(await stateOf(line), "called")
      await eventually("the turn is missed", async () => (await stateOf(line)) === "missed", 30_000)
      const seconds = (performance.now() - began) / 1_000
      note(
        TOPIC,
        `${STOPS} planned stops under load: none left among the living; a turn of ${WINDOW_SECONDS} s was over after ${seconds.toFixed(1)} s`,
      )
      assert.lengthOf(waiting, 2)
    }),
    300_000,
  )
})
