/**
 * Connections are cut in the middle of a message, in both directions: to Redis, to the platform, and of the callers.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Chance } from "../../harness/chance.ts"
import { startRedis } from "../../harness/redis.ts"
import { type Cutter, startCutter } from "../support/cutter.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Row, Scenario, Size } from "../support/scenario.ts"

const SIZES = {
  small: { gates: 1, callers: 60, slots: 5, millis: 4_000 },
  full: { gates: 2, callers: 400, slots: 10, millis: 15_000 },
}

type Where = "redis" | "platform" | "callers"
/** how many of a thousand chunks are cut; Redis sees by far the most */
const RATES: Readonly<Record<Where, number>> = { redis: 3, platform: 100, callers: 60 }
const BETWEEN: Readonly<Record<Where, string>> = {
  redis: "between gates and Redis",
  platform: "between gates and platform",
  callers: "between callers and gates",
}

const cut = async (where: Where, size: Size, seed: number, bench: Parameters<Scenario["run"]>[2]): Promise<Row> => {
  const { callers, gates, millis, slots } = SIZES[size]
  const redis = bench.own(await startRedis())
  const cutters: Array<Cutter> = []
  const through = async (port: number): Promise<number> => {
    const cutter = bench.own(await startCutter(port, new Chance(seed + 10 + cutters.length)))
    cutters.push(cutter)
    return cutter.port
  }
  const rig = await makeRig({
    seed,
    bench,
    storeUrl: where === "redis" ? `redis://127.0.0.1:${await through(redis.port)}` : redis.url,
    viewUrl: redis.url,
    gates,
    slots,
    joinMillis: 10_000,
    startMillis: 100,
    // a ticket whose start was cut off keeps waiting and is called again
    calledAnew: where !== "callers",
    ...(where === "platform" ? { platformPort: through } : {}),
    ...(where === "callers" ? { entrance: async (port) => `http://127.0.0.1:${await through(port)}` } : {}),
    settings: {
      // on a busy machine callers who are cut off again and again need longer than 10 s to be back
      Queue__DisconnectGraceSeconds: where === "callers" ? "30" : "10",
      Queue__StartWindowSeconds: "10",
    },
  })
  const crowd = rig.crowd({ callers, arriveMillis: millis, talkMillis: [200, 600] })
  for (const cutter of cutters) cutter.perMille = RATES[where]
  await sleep(millis)
  for (const cutter of cutters) {
    cutter.perMille = 0
    cutter.cutAll()
  }
  const times = await orderBack(rig, performance.now())
  await crowd.done(200_000)
  const cuts = cutters.reduce((sum, cutter) => sum + cutter.cuts(), 0)
  // a ticket whose start was cut off three times has failed; one whose webhook or answer was cut off is told late
  const outcomes: Readonly<Record<Where, ReadonlyArray<string>>> = {
    redis: ["failed", "missed", "dead session"],
    platform: ["failed"],
    callers: [],
  }
  const verdict = await judge(rig, { outcomes: outcomes[where], putBack: where !== "callers" })
  const ghosts = crowd.callers.reduce((sum, caller) => sum + caller.ghosts.length, 0)
  return {
    fault: `sockets ${BETWEEN[where]} cut in the middle of a message, ${cuts} cuts in ${millis / 1000} s`,
    promised: {
      redis: "503 and nothing half done; what was carried out and could not be said is freed by its deadline",
      platform:
        "the caller waits on and is called again; a slot whose session may run is held until the history says; three failures while others start end a ticket",
      callers: "places are kept; a request may be repeated; who comes back hears what it missed",
    }[where],
    seen:
      `${inWords(verdict.outcomes)}; ${ghosts} requests broke or were answered 503; ${inWords(verdict.troubles)}; ` +
      `${peaksInWords(verdict, rig)}`,
    back: `after the last cut: ${timesInWords(times)}`,
    wrongs: verdict.wrongs,
  }
}

const scenario = (where: Where): Scenario => ({
  name: `cut-${where}`,
  run: async (size, seed, bench) => [await cut(where, size, seed, bench)],
})

export const cutRedis = scenario("redis")
export const cutPlatform = scenario("platform")
export const cutCallers = scenario("callers")
