/**
 * The path of one of two gates to Redis drops every packet for longer than the disconnect grace and the start window,
 * and closes nothing; the other gate keeps sweeping. Afterwards the dropped data arrive, as TCP retransmits them. Half
 * of the callers cannot use the other gate, as behind a load balancer with sticky sessions.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Chance } from "../../harness/chance.ts"
import { startRedis } from "../../harness/redis.ts"
import { startCutter } from "../support/cutter.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

const SIZES = {
  small: { callers: 60, slots: 4, millis: 14_000, times: 1 },
  full: { callers: 300, slots: 10, millis: 17_000, times: 3 },
}

export const swallowedPath: Scenario = {
  name: "swallowed-path",
  run: async (size, seed, bench) => {
    const { callers, millis, slots, times } = SIZES[size]
    const redis = bench.own(await startRedis())
    const cutter = bench.own(await startCutter(redis.port, new Chance(seed + 10)))
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates: 2,
      slots,
      joinMillis: 10_000,
      startMillis: 100,
      // a ticket whose start was in flight keeps waiting and is called again
      calledAnew: true,
      settings: { Queue__StartWindowSeconds: "6", Queue__DisconnectGraceSeconds: "5" },
      settingsOf: (gate): Readonly<Record<string, string>> =>
        gate === 0 ? { StoreConnectionString: `redis://127.0.0.1:${cutter.port}` } : {},
    })
    const { chance, seats } = rig
    const backs: Array<string> = []
    for (let n = 0; n < times; n++) {
      const half = { callers: Math.ceil(callers / times / 2), arriveMillis: 1_000, talkMillis: [200, 600] } as const
      const crowds = [rig.crowd(half), rig.crowd({ ...half, entrances: () => [seats[0]?.url ?? ""] })]
      await sleep(chance.between(1_200, 2_500))
      cutter.swallow(true)
      await sleep(millis)
      cutter.swallow(false)
      backs.push(timesInWords(await orderBack(rig, performance.now())))
      await Promise.all(crowds.map((crowd) => crowd.done(150_000)))
    }
    const verdict = await judge(rig, { outcomes: ["failed", "dead session", "ended"], putBack: true })
    return [
      {
        fault: `the path of one of 2 gates to Redis swallows for ${millis / 1000} s and closes nothing, ${times} times; grace 5 s, window 6 s; half of the callers stay there`,
        promised: "nobody misses a turn or loses a place by it; requests there are answered 503 meanwhile",
        seen: `${inWords(verdict.outcomes)}; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: backs.join(" · "),
        wrongs: verdict.wrongs,
      },
    ]
  },
}
