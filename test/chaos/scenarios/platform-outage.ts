/**
 * The platform cannot be reached, or does not report what it did, while a full queue waits: nobody loses a place, the
 * platform is asked rarely meanwhile, its sessions never exceed the slots, and afterwards the queue continues by
 * itself.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { seconds } from "../support/order.ts"
import type { Asked, Fault } from "../support/platform.ts"
import { makeRig } from "../support/rig.ts"
import type { Row, Scenario, Size } from "../support/scenario.ts"

type Outage = Exclude<Fault, "none">

const SIZES = {
  small: { callers: 40, slots: 3, millis: { refuses: 4_000, hangs: 17_000, untold: 4_000 } },
  full: { callers: 200, slots: 5, millis: { refuses: 15_000, hangs: 40_000, untold: 15_000 } },
}
const WHAT: Readonly<Record<Outage, string>> = {
  refuses: "answers 503 to everything",
  hangs: "hangs",
  untold: "starts sessions and answers 500",
}
const PROMISED: Readonly<Record<Outage, string>> = {
  refuses: "nobody loses the place; one caller at a time is called to find out; the queue goes on by itself",
  hangs:
    "the same; a start that may have happened holds its slot until the platform's history has said twice that it has not",
  untold: "the same; sessions never exceed the slots, since one that runs untold holds its slot until it ends",
}

const askedInWords = (asked: ReadonlyArray<Asked>): string => {
  const counts = new Map<string, number>()
  for (const { what } of asked) counts.set(what, (counts.get(what) ?? 0) + 1)
  return counts.size === 0 ? "nothing" : inWords(counts)
}

const outage = async (fault: Outage, size: Size, seed: number, bench: Parameters<Scenario["run"]>[2]): Promise<Row> => {
  const { callers, millis, slots } = SIZES[size]
  const redis = bench.own(await startRedis())
  const rig = await makeRig({ seed, bench, storeUrl: redis.url, gates: 2, slots, startMillis: 100, calledAnew: true })
  const { platform } = rig
  const crowd = rig.crowd({ callers, arriveMillis: 1_500, talkMillis: [300, 900] })
  await sleep(2_500)
  const waiting = (await rig.view.look())?.waiting.size ?? 0
  const began = performance.now()
  platform.fault = fault
  await sleep(millis[fault])
  platform.fault = "none"
  const over = performance.now()
  await crowd.done(240_000)
  const done = performance.now()
  const verdict = await judge(rig, { outcomes: [], putBack: true })
  const first = platform.sessions.find(({ joinedAt = 0 }) => joinedAt > over)?.joinedAt
  const lost = crowd.callers.filter(({ outcome }) => outcome !== "talked").length
  const asked = platform.asked.filter(({ at }) => at >= began && at < over)
  const told = crowd.callers.filter(({ disrupted }) => disrupted).length
  const untold = platform.sessions.filter((session) => session.untold).length
  return {
    fault: `the platform ${WHAT[fault]} for ${millis[fault] / 1000} s, ${callers} callers, ${waiting} of them waiting`,
    promised: PROMISED[fault],
    seen:
      `${inWords(verdict.outcomes)}; ${lost} of ${callers} lost; it was asked meanwhile: ${askedInWords(asked)}; ` +
      `${untold} sessions ran untold; ${told} callers were told that it cannot be reached; ` +
      `troubles: ${inWords(verdict.troubles) || "none"}; ${peaksInWords(verdict, rig)}`,
    back:
      `next call ${seconds(first === undefined ? undefined : first - over)} after its end, ` +
      `all had talked after ${seconds(done - over)}`,
    wrongs: verdict.wrongs,
  }
}

const scenario = (name: string, fault: Outage): Scenario => ({
  name,
  run: async (size, seed, bench) => [await outage(fault, size, seed, bench)],
})

export const platformRefuses = scenario("platform-refuses", "refuses")
export const platformHangs = scenario("platform-hangs", "hangs")
export const platformUntold = scenario("platform-untold", "untold")
