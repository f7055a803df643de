/**
 * The master behind Sentinels is killed: its replica takes over with all writes that had reached it. Or a failover is
 * requested while the master lives: it accepts writes for some ten more seconds, which are lost.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../harness/process.ts"
import { startSentinel } from "../../harness/redis-topologies.ts"
import { FAILOVER_OUTCOMES, lostCallers, makeFailoverRig } from "../support/failover.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import type { Scenario } from "../support/scenario.ts"

/** Of the Sentinels, as the times in `src/docs/promises.md` were measured. */
const DOWN_AFTER_MILLIS = 500

export const sentinelFailover: Scenario = {
  name: "sentinel-failover",
  run: async (size, seed, bench) => {
    const sentinels = bench.own(await startSentinel(3, DOWN_AFTER_MILLIS))
    const { callers, rig } = await makeFailoverRig(sentinels.url, size, seed, bench)
    const crowd = rig.crowd({ callers, arriveMillis: 4_000, talkMillis: [300, 900] })
    await sleep(rig.chance.between(2_000, 3_500))
    sentinels.master.kill("SIGKILL")
    const times = await orderBack(rig, performance.now())
    const lost = (await lostCallers(rig)).length
    await crowd.done(200_000)
    const verdict = await judge(rig, { outcomes: FAILOVER_OUTCOMES, rollback: true })
    return [
      {
        fault: `kill -9 of the master behind 3 Sentinels, ${callers} callers`,
        promised:
          "replication is asynchronous: the last writes may be lost, their callers are told; all else goes on in order",
        seen: `${inWords(verdict.outcomes)}; ${lost} accepted tickets lost; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: timesInWords(times),
        wrongs: verdict.wrongs,
      },
    ]
  },
}

/** What a gate may still have written to the old master. */
const NOTICED_MILLIS = 1_000

export const sentinelPlanned: Scenario = {
  name: "sentinel-planned",
  run: async (size, seed, bench) => {
    const sentinels = bench.own(await startSentinel(3, DOWN_AFTER_MILLIS))
    const { callers, rig } = await makeFailoverRig(sentinels.url, size, seed, bench)
    // callers arrive until the old master is a replica too
    const crowd = rig.crowd({ callers, arriveMillis: 16_000, talkMillis: [300, 900] })
    await sleep(rig.chance.between(2_000, 3_500))
    const leader = sentinels.sentinels[rig.chance.below(sentinels.sentinels.length)]
    const since = performance.now()
    await leader?.command("sentinel", "failover", "mymaster")
    // requests before the promotion are answered as usual
    await eventually("the promotion", async () => (await sentinels.replica.command("role")).startsWith("master"))
    const times = await orderBack(rig, since)
    await eventually(
      "the old master's demotion",
      async () => (await sentinels.master.command("role")).startsWith("slave"),
      30_000,
    )
    const lost = await lostCallers(rig)
    const moments = lost.map(({ answeredAt }) => answeredAt)
    const span = lost.length === 0 ? 0 : Math.round(Math.max(...moments) - Math.min(...moments))
    await crowd.done(200_000)
    const verdict = await judge(rig, { outcomes: FAILOVER_OUTCOMES, rollback: true })
    const late = `tickets of ${span} ms were lost, and ${NOTICED_MILLIS} are allowed`
    return [
      {
        fault: `planned failover behind 3 Sentinels, ${callers} callers`,
        promised:
          "nothing is written from just before the promotion until it is known: nothing is lost, or a second at most",
        seen: `${inWords(verdict.outcomes)}; ${lost.length} accepted tickets lost; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: timesInWords(times),
        wrongs: span > NOTICED_MILLIS ? [...verdict.wrongs, late] : verdict.wrongs,
      },
    ]
  },
}
