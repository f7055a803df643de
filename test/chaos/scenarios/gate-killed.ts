/** kill -9 of gates at random moments, under load: the other one takes over, and the dead one restarts. */
import { setTimeout as sleep } from "node:timers/promises"
import { OPEN } from "../../../src/rate-limiter/rules/units.ts"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, seconds, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

const SIZES = { small: { callers: 60, slots: 5, kills: 2 }, full: { callers: 400, slots: 10, kills: 6 } }

/** Units of the callers' concurrent budgets that are still held when all calls are over. */
const HELD = `local n = 0
for _, key in ipairs(redis.call('KEYS', 'vg:*:log')) do n = n + redis.call('ZCOUNT', key, '${OPEN}', '+inf') end
return n`

export const gateKilled: Scenario = {
  name: "gate-killed",
  run: async (size, seed, bench) => {
    const { callers, kills, slots } = SIZES[size]
    const redis = bench.own(await startRedis())
    const settings = { Security__RateLimitConcurrency: "5" }
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates: 2,
      slots,
      startMillis: 400,
      calledAnew: true,
      settings,
    })
    const { chance, seats } = rig
    const crowd = rig.crowd({ callers, arriveMillis: kills * 1_500, talkMillis: [200, 800] })
    const backs: Array<string> = []
    for (let n = 0; n < kills; n++) {
      await sleep(chance.between(500, 2_000))
      const seat = seats[chance.below(seats.length)] ?? seats[0]
      if (seat === undefined) throw new Error("there are gates")
      await seat.kill("SIGKILL")
      const back = orderBack(rig, performance.now())
      await sleep(chance.between(200, 1_500))
      await seat.start()
      backs.push(timesInWords(await back))
      await seat.ready()
    }
    await crowd.done(120_000)
    const verdict = await judge(rig, { outcomes: [], putBack: true })
    // what a dead gate had taken for a request whose admission it did not live to send
    const held = await redis.command("eval", HELD, "0")
    const gaps = crowd.callers.flatMap((caller) =>
      caller.gaps.flatMap(({ from, to }) => (to === undefined ? [] : [to - from])),
    )
    const again = crowd.callers.filter(({ putBack }) => putBack).length
    const ghosts = crowd.callers.reduce((sum, caller) => sum + caller.ghosts.length, 0)
    return [
      {
        fault: `kill -9 of one of 2 gates, ${kills} times, under ${callers} callers`,
        promised:
          "nobody loses the place; whom the dead one was starting is called again, when the platform's history has said what became of it",
        seen:
          `${inWords(verdict.outcomes)}; ${again} were being started by the dead gate; ${ghosts} requests broke, and ${held} of their concurrent units stay held for a day; ` +
          `${gaps.length} connections lost, back within ${seconds(Math.max(0, ...gaps))}; ${peaksInWords(verdict, rig)}`,
        back: backs.join(" · "),
        wrongs: verdict.wrongs,
      },
    ]
  },
}
