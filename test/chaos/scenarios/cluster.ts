/** A Redis Cluster of six nodes loses the master that serves the campaign: its replica takes over. */
import { setTimeout as sleep } from "node:timers/promises"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { startCluster } from "../../harness/redis-topologies.ts"
import { FAILOVER_OUTCOMES, lostCallers, makeFailoverRig } from "../support/failover.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import type { Scenario } from "../support/scenario.ts"

export const clusterFailover: Scenario = {
  name: "cluster-failover",
  run: async (size, seed, bench) => {
    const cluster = bench.own(await startCluster(3, 1))
    const { callers, rig } = await makeFailoverRig(cluster.url, size, seed, bench)
    const crowd = rig.crowd({ callers, arriveMillis: 4_000, talkMillis: [300, 900] })
    await sleep(rig.chance.between(2_000, 3_500))
    const [key = ""] = keysOf("business-1/campaign-1")
    const master = await cluster.masterOf(key)
    master.kill("SIGKILL")
    const times = await orderBack(rig, performance.now())
    const lost = (await lostCallers(rig)).length
    await crowd.done(200_000)
    const verdict = await judge(rig, { outcomes: FAILOVER_OUTCOMES, rollback: true })
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
