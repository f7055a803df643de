/** The wall clocks of gates step by up to two seconds, back and forth, each independently. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

const SIZES = { small: { callers: 60, slots: 5, steps: 4 }, full: { callers: 500, slots: 10, steps: 30 } }
const WINDOW_SECONDS = 3
const preload = new URL("../support/step-clock.ts", import.meta.url).href

export const clockSteps: Scenario = {
  name: "clock-steps",
  run: async (size, seed, bench) => {
    const { callers, slots, steps } = SIZES[size]
    const dir = mkdtempSync(join(tmpdir(), "voicegate-clocks-"))
    bench.own({ dispose: async () => rmSync(dir, { recursive: true, force: true }) })
    const redis = bench.own(await startRedis())
    const clocks = [0, 1, 2].map((gate) => join(dir, String(gate)))
    for (const clock of clocks) writeFileSync(clock, "0")
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates: clocks.length,
      slots,
      startMillis: 200,
      settings: {
        NODE_OPTIONS: `--import ${preload}`,
        Queue__StartWindowSeconds: String(WINDOW_SECONDS),
        Queue__DisconnectGraceSeconds: "4",
      },
      settingsOf: (gate) => ({ CHAOS_CLOCK: clocks[gate] ?? "" }),
    })
    const { chance, seats } = rig
    // half of them react after more than half of their window has passed
    const crowd = rig.crowd({ callers, arriveMillis: steps * 500, talkMillis: [200, 800], reactMillis: 900 })
    for (let n = 0; n < steps; n++) {
      await sleep(chance.between(300, 1_000))
      const gate = chance.below(seats.length)
      writeFileSync(clocks[gate] ?? "", String(chance.between(-2_000, 2_000)))
      await seats[gate]?.kill("SIGUSR2")
    }
    const times = await orderBack(rig, performance.now())
    await crowd.done(200_000)
    const verdict = await judge(rig, { outcomes: ["missed"] })
    // on a busy machine a caller may be slow itself, which is not the gate's fault
    const unjust = crowd.callers.flatMap(({ name, outcome, turn }) => {
      if (outcome !== "missed") return []
      const left = turn === undefined ? undefined : turn.until - (turn.sentAt ?? Number.POSITIVE_INFINITY)
      return left === undefined || left > 0 ? [`I3: caller ${name} missed its turn and had ${left} ms left`] : []
    })
    return [
      {
        fault: `${steps} steps of the wall clocks of 3 gates, up to ±2 s each, start window ${WINDOW_SECONDS} s`,
        promised:
          "order does not depend on time; nobody who starts in time misses the turn, nobody connected is abandoned",
        seen: `${inWords(verdict.outcomes)}; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: `after the last step: ${timesInWords(times)}`,
        wrongs: [...unjust, ...verdict.wrongs],
      },
    ]
  },
}
