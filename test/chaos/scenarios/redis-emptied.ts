/** kill -9 of a Redis without persistence: the queue is lost, waiting callers are told, and everything starts again. */
import { setTimeout as sleep } from "node:timers/promises"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

const SIZES = { small: { gates: 1, callers: 60, slots: 5 }, full: { gates: 2, callers: 300, slots: 10 } }

export const redisEmptied: Scenario = {
  name: "redis-emptied",
  run: async (size, seed, bench) => {
    const { callers, gates, slots } = SIZES[size]
    const redis = bench.own(await startRedis())
    // a platform that runs as many calls as the gate has slots
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates,
      slots,
      platformLimit: slots,
      joinMillis: 5_000,
      startMillis: 200,
      calledAnew: true,
    })
    const { chance, platform } = rig
    const before = rig.crowd({ callers, arriveMillis: 1_500, talkMillis: [1_000, 4_000] })
    await sleep(chance.between(2_500, 3_500))
    redis.kill("SIGKILL")
    const since = performance.now()
    await sleep(chance.between(300, 1_000))
    await redis.restart()
    const back = performance.now()
    const after = rig.crowd({ callers: Math.ceil(callers / 2), arriveMillis: 1_000, talkMillis: [200, 600] })
    const times = await orderBack(rig, since)
    const told = before.callers.filter(({ outcome }) => outcome === "unknown").length
    await before.done(120_000)
    const toldBy = performance.now() - back
    await after.done(120_000)
    const outcomes = ["unknown", "failed", "dead session", "missed"]
    const verdict = await judge(rig, { outcomes, emptied: true })
    const newcomers = after.callers.filter(({ outcome }) => outcome !== "talked").length
    const over = verdict.platformPeak > slots ? [`I1: ${verdict.platformPeak} sessions at once on the platform`] : []
    const lost = newcomers === 0 ? [] : [`I3: ${newcomers} who came after the restart did not talk`]
    return [
      {
        fault: `kill -9 of a Redis without persistence, ${callers} callers`,
        promised:
          "the queue is emptied, waiting pages are told, slots come back; calls that run on are known to the platform alone",
        seen:
          `${inWords(verdict.outcomes)}; ${told} were told when order was back, the last talked or told ${(toldBy / 1000).toFixed(1)} s after the restart; ` +
          `the platform refused ${platform.refusals()} starts beyond its ${slots} and ran at most ${verdict.platformPeak}; newcomers kept their places`,
        back: timesInWords(times),
        wrongs: [...over, ...lost, ...verdict.wrongs],
      },
    ]
  },
}
