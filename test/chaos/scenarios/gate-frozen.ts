/**
 * A gate is frozen (SIGSTOP) for longer than its deadlines, with starts in flight and called tickets of its own callers, and
 * wakes with what it believed before.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../support/process.ts"
import { startRedis } from "../../support/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

/** A start is given up after 30 s (`START_LEASE_MILLIS`), so a freeze must outlast that to wake with a stale lease. */
const FREEZE_MILLIS = 33_000
const SIZES = { small: { callers: 40, slots: 4, freezes: 1 }, full: { callers: 300, slots: 10, freezes: 2 } }

export const gateFrozen: Scenario = {
  name: "gate-frozen",
  run: async (size, seed, bench) => {
    const { callers, freezes, slots } = SIZES[size]
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
    })
    const { chance, platform, seats } = rig
    const [frozen, awake] = seats
    if (frozen === undefined || awake === undefined) throw new Error("there are two gates")
    const backs: Array<string> = []
    let inFlight = 0
    let doubts = 0
    for (let n = 0; n < freezes; n++) {
      // callers of both gates, those of the frozen one hang as a browser would
      const crowd = rig.crowd({ callers: Math.ceil(callers / freezes), arriveMillis: 1_000, talkMillis: [200, 600] })
      await sleep(chance.between(1_200, 2_000))
      // starts are left unanswered until some of them are the frozen gate's
      platform.hold = true
      const since = platform.sessions.length
      await eventually("starts in flight", () => platform.sessions.length >= since + Math.ceil(slots / 2))
      const before = await rig.view.look()
      inFlight += [...(before?.tickets.values() ?? [])].filter(({ state }) => state === "s").length
      await frozen.kill("SIGSTOP")
      const began = performance.now()
      platform.hold = false
      // from outside nothing is to be noticed at the other gate, but the slots that the frozen one holds
      const order = orderBack({ ...rig, seats: [awake] }, began)
      await sleep(FREEZE_MILLIS)
      const asleep = await rig.view.look()
      await frozen.kill("SIGCONT")
      await frozen.ready()
      backs.push(timesInWords(await order))
      await sleep(1_000)
      const woken = await rig.view.look()
      doubts += asleep?.meta.get("doubts") ?? 0
      // what was over stays so, whatever the waking gate brings
      for (const [id, { lease, state }] of asleep?.tickets ?? []) {
        const now = woken?.tickets.get(id)
        if (!["F", "M", "A", "E", "R"].includes(state) || now === undefined) continue
        if (now.state !== state || now.lease !== lease) {
          rig.wrongs.add(`I8: a ticket that was ${state} with lease ${lease} is ${now.state} with ${now.lease}`)
        }
      }
      await crowd.done(120_000)
    }
    // "ended": bound just before the freeze, and given up by the platform before its caller could be told of it
    const outcomes = ["failed", "missed", "abandoned", "dead session", "ended"]
    const verdict = await judge(rig, { outcomes, putBack: true })
    return [
      {
        fault: `SIGSTOP of one of 2 gates for ${FREEZE_MILLIS / 1000} s, ${freezes} times, with starts in flight`,
        promised:
          "its late answers touch no newer lease; its callers miss their turn or their place after window and grace; the others go on",
        seen:
          `${inWords(verdict.outcomes)}; ${inFlight} starts were in flight, ${doubts} of them in doubt when the gate woke; ` +
          `${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: `at the other gate: ${backs.join(" · ")}`,
        wrongs: verdict.wrongs,
      },
    ]
  },
}
