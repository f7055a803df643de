/** A gate that is told to stop says so to the store, so that no other gate waits for it as for a dead one. Two gates on one Redis. */
import { assert, describe, it } from "@effect/vitest"
import { type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { field } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { stopping } from "../harness/stopping.ts"

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
      /** Ends the call that holds the slot; whoever is called then never starts. Seconds from the start call until the turn is missed. */
      const missedTurn = async (session: string): Promise<void> => {
        await Promise.all(Array.from({ length: 2 }, () => call(staying)))
        await staying.sessionEnded(session)
        const stateOf = async (ticket: string) => field(await staying.ask("GET", `/api/session/${ticket}`), "state")
        // callers of the load who are absent for too long are passed over
        let called = ""
        await eventually("somebody is called", async () => {
          called = (await redis.command("zrange", key.replace(/gates$/, "leases"), "0", "0")).trim()
          return called !== "" && (await stateOf(called)) === "called"
        })
        // a gate that counts as silent would make it last 45 s more
        await eventually("the turn is missed", async () => (await stateOf(called)) === "missed", 30_000)
      }
      await call(staying)
      await missedTurn("conversation-1")

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

      await missedTurn("conversation-2")
    }),
    300_000,
  )
})
