/** A Redis Cluster of six nodes loses the master that serves the campaign: its replica takes over. */
import { setTimeout as sleep } from "node:timers/promises"
import { keysOf } from "../../../src/queue/keys.ts"
import { startCluster } from "../../harness/redis-topologies.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

const SIZES = { small: { callers: 60, slots: 5 }, full: { callers: 300, slots: 10 } }

export const clusterFailover: Scenario = {
  name: "cluster-failover",
  run: async (size, seed, bench) => {
    const { callers, slots } = SIZES[size]
    const cluster = bench.own(await startCluster(3, 1))
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: cluster.url,
      gates: 2,
      slots,
      joinMillis: 5_000,
      startMillis: 200,
      calledAnew: true,
    })
    const crowd = rig.crowd({ callers, arriveMillis: 4_000, talkMillis: [300, 900] })
    await sleep(rig.chance.between(2_000, 3_500))
    const [key = ""] = keysOf("business-1/campaign-1")
    const master = await cluster.masterOf(key)
    master.kill("SIGKILL")
    const times = await orderBack(rig, performance.now())
    const state = await rig.view.look()
    const lost = crowd.callers.filter(
      ({ ticket }) => ticket !== undefined && state?.tickets.has(ticket) === false,
    ).length
    await crowd.done(200_000)
    const outcomes = ["failed", "unknown", "missed", "dead session", "reclaimed"]
    const verdict = await judge(rig, { outcomes, rollback: true })
    return [
      {
        fault: `kill -9 of the campaign's master in a Cluster of 6, ${callers} callers`,
        promised:
          "replication is asynchronous: the last writes may be lost, their callers are told; all else goes on in order",
        seen: `${inWords(verdict.outcomes)}; ${lost} accepted tickets lost; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: timesInWords(times),
        wrongs: verdict.wrongs,
      },
    ]
  },
}
