/**
 * A gate is stalled for longer than its deadlines, with starts in flight and called tickets of its own callers, and
 * resumes with its old state: its process is frozen (SIGSTOP), or its machine suspended, so that its clocks stop too.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Environment } from "../../harness/gate.ts"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig, type Rig } from "../support/rig.ts"
import type { Row, Scenario, Size } from "../support/scenario.ts"
import type { Seat } from "../support/seats.ts"

const SIZES = { small: { callers: 40, slots: 4, times: 1 }, full: { callers: 300, slots: 10, times: 2 } }
/** Callers that arrive at a gate at the moment it resumes. */
const AT_ONCE = 20
const preload = new URL("../support/stand-still.ts", import.meta.url).href

interface Still {
  /**
   * longer than the start window, the grace and a start's time (`START_LEASE_MILLIS`): it resumes with a stale lease
   */
  readonly millis: number
  readonly fault: (times: number) => string
  readonly clocks: Environment
}

/**
 * Every ticket that the resumed gate calls from now on has its start window ahead of it: the gate's time is Redis's
 * again.
 */
const tellsTime = async (rig: Rig, { url }: Seat): Promise<void> => {
  const crowd = rig.crowd({
    callers: AT_ONCE,
    arriveMillis: 1,
    talkMillis: [50, 200],
    entrances: () => [url],
  })
  await crowd.done(120_000)
  for (const { name, turn } of crowd.callers) {
    if (turn !== undefined && turn.until <= turn.heardAt) {
      rig.wrongs.add(`caller ${name} heard of its turn ${turn.heardAt - turn.until} ms after the end of it`)
    }
  }
}

const stand = async (
  { clocks, fault, millis }: Still,
  size: Size,
  seed: number,
  bench: Parameters<Scenario["run"]>[2],
): Promise<Row> => {
  const { callers, slots, times } = SIZES[size]
  const redis = bench.own(await startRedis())
  const rig = await makeRig({
    seed,
    bench,
    storeUrl: redis.url,
    gates: 2,
    slots,
    joinMillis: 3_000,
    startMillis: 100,
    calledAnew: true,
    settings: { Queue__StartWindowSeconds: "3", Queue__DisconnectGraceSeconds: "6" },
    settingsOf: (gate): Environment => (gate === 0 ? clocks : {}),
  })
  const { chance, platform, seats } = rig
  const [still, awake] = seats
  if (still === undefined || awake === undefined) throw new Error("there are two gates")
  const backs: Array<string> = []
  let inFlight = 0
  let doubts = 0
  for (let n = 0; n < times; n++) {
    // callers of both gates; those of the stalled one hang as a browser would
    const crowd = rig.crowd({ callers: Math.ceil(callers / times), arriveMillis: 1_000, talkMillis: [200, 600] })
    await sleep(chance.between(1_200, 2_000))
    // starts are left unanswered until some of them are the stalled gate's
    platform.hold = true
    const since = platform.sessions.length
    await eventually("starts in flight", () => platform.sessions.length >= since + Math.ceil(slots / 2))
    const before = await rig.view.look()
    inFlight += [...(before?.tickets.values() ?? [])].filter(({ state }) => state === "starting").length
    await still.kill("SIGSTOP")
    const began = performance.now()
    platform.hold = false
    // the other gate shows no effect, except for the slots that the stalled one holds
    const order = orderBack({ ...rig, seats: [awake] }, began)
    await sleep(millis)
    const asleep = await rig.view.look()
    await still.kill("SIGCONT")
    const woke = rig.crowd({ callers: AT_ONCE, arriveMillis: 1, talkMillis: [50, 200], entrances: () => [still.url] })
    await still.ready()
    backs.push(timesInWords(await order))
    await sleep(1_000)
    const woken = await rig.view.look()
    doubts += asleep?.meta.get("doubts") ?? 0
    // what had ended stays so, whatever the resuming gate does
    for (const [id, { lease, state }] of asleep?.tickets ?? []) {
      const now = woken?.tickets.get(id)
      if (!["failed", "missed", "abandoned", "ended", "reclaimed"].includes(state) || now === undefined) continue
      if (now.state !== state || now.lease !== lease) {
        rig.wrongs.add(`I8: a ticket that was ${state} with lease ${lease} is ${now.state} with ${now.lease}`)
      }
    }
    await crowd.done(120_000)
    await woke.done(120_000)
    await tellsTime(rig, still)
  }
  // "ended": bound just before, and given up by the platform before its caller could be told
  const verdict = await judge(rig, { outcomes: ["failed", "dead session", "ended"], putBack: true })
  return {
    fault: `${fault(times)}, with starts in flight; ${AT_ONCE} callers come as it wakes`,
    promised:
      "its late answers touch no newer lease; nobody misses a turn or loses a place by it, also who comes as it wakes; the others go on",
    seen:
      `${inWords(verdict.outcomes)}; ${inFlight} starts were in flight, ${doubts} of them in doubt when the gate woke; ` +
      `${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
    back: `at the other gate: ${backs.join(" · ")}`,
    wrongs: verdict.wrongs,
  }
}

const scenario = (name: string, still: Still): Scenario => ({
  name,
  run: async (size, seed, bench) => [await stand(still, size, seed, bench)],
})

export const gateFrozen = scenario("gate-frozen", {
  millis: 33_000,
  fault: (times) => `SIGSTOP of one of 2 gates for 33 s, ${times} times`,
  clocks: {},
})

export const gateSuspended = scenario("gate-suspended", {
  millis: 40_000,
  fault: (times) => `the machine of one of 2 gates suspended for 40 s, all its clocks too, ${times} times`,
  clocks: { NODE_OPTIONS: `--import ${preload}`, CHAOS_WALL: "stands" },
})
