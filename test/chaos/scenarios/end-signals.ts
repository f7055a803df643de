/**
 * kill -9 of a gate in front of a vendor that tells nobody when a call is over: the page reports it to another gate, or nobody does, and
 * the slot comes back by the longest call. All other scenarios have webhooks.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { makeRig } from "../support/rig.ts"
import type { Row, Scenario } from "../support/scenario.ts"

type Ends = "page" | "none"

const PROMISED = {
  page: "the page's report frees the slot once, whichever gate it reaches and however often; nobody loses the place",
  none: "each slot is free again after the longest call, and nobody loses the place",
}
/** A call without a report holds its slot for `Queue.MaxCallMinutes`, so few are made. */
const SIZES = {
  page: { small: { callers: 24, slots: 6 }, full: { callers: 200, slots: 20 } },
  none: { small: { callers: 9, slots: 6 }, full: { callers: 60, slots: 20 } },
}

const scenario = (ends: Ends): Scenario => ({
  name: `ends-by-${ends}`,
  run: async (size, seed, bench): Promise<ReadonlyArray<Row>> => {
    const { callers, slots } = SIZES[ends][size]
    const redis = bench.own(await startRedis())
    const rig = await makeRig({ seed, bench, storeUrl: redis.url, gates: 2, slots, ends, startMillis: 20 })
    const { platform, seats, view } = rig
    const crowd = rig.crowd({ callers, arriveMillis: 500, talkMillis: [2_000, 4_000] })
    const [seat] = seats
    if (seat === undefined) throw new Error("there are gates")
    // a start that the dead gate had asked for would be in doubt for five minutes: this vendor has no list
    await eventually("all slots are taken", async () => {
      const state = await view.look()
      return state?.meta.get("live") === slots && state.waiting.size === callers - slots && platform.running() === slots
    })
    await seat.kill("SIGKILL")
    await sleep(1_000)
    await seat.start()
    await seat.ready()
    await crowd.done(size === "full" ? 400_000 : 200_000)
    const verdict = await judge(rig, { outcomes: [] })
    return [
      {
        fault: `kill -9 of one of 2 gates, with ends told by ${ends === "page" ? "the page alone" : "nobody"}, ${callers} callers`,
        promised: PROMISED[ends],
        seen: `${inWords(verdict.outcomes)}; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: `all slots free ${(verdict.drained / 1000).toFixed(1)} s after the last call`,
        wrongs: verdict.wrongs,
      },
    ]
  },
})

export const endsByPage = scenario("page")
export const endsByNone = scenario("none")
