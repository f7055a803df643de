/**
 * The connection on which one of two gates receives what the other publishes goes silent: nothing arrives, and nothing
 * is closed. All callers are connected to that gate, and every webhook goes to the other, so each start call must
 * cross. The delay from storing a call to its caller is measured before the fault, right after it, and when it must be
 * over.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { TICK_MILLIS } from "../../../src/fifo-queue/FifoQueue.ts"
import { DETECTION_MILLIS } from "../../../src/store/redis/subscription-probe.ts"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { startSwallower } from "../../harness/swallower.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { seconds } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

const SIZES = {
  small: { callers: 90, slots: 4, times: 1 },
  full: { callers: 350, slots: 5, times: 3 },
}

const WINDOW_SECONDS = 10
/**
 * A ticket called this long after the fault is notified as fast as before: the fault is noticed by then, and a new
 * connection is open.
 */
const AGAIN_MILLIS = DETECTION_MILLIS + 1_450
/** How long is measured before each fault, and after each is over. */
const MEASURED_MILLIS = 2_500
/**
 * A start call within this time came as a message, not from a query (`TICK_MILLIS`): even on a busy machine most do.
 */
const SOON_MILLIS = 700
const SOON_SHARE = 0.8
/** A start call whose message was lost is found by a query within this time, on a busy machine. */
const LOOKED_UP_MILLIS = TICK_MILLIS + 1_000
/** Fewer calls prove nothing. */
const LEAST_CALLS = 8

/** When a call was stored, by the wall clock, and how long its caller took to receive it (ms). */
interface Heard {
  readonly storedAt: number
  readonly delay: number
}

const delaysOf = (heard: ReadonlyArray<Heard>, within: (storedAt: number) => boolean): ReadonlyArray<number> =>
  heard.flatMap(({ delay, storedAt }) => (within(storedAt) ? [delay] : [])).toSorted((a, b) => a - b)

const delaysInWords = (delays: ReadonlyArray<number>): string =>
  delays.length === 0 ? "none" : `${delays[Math.floor(delays.length / 2)]} ms, at most ${delays.at(-1)} ms`

const soonShare = (delays: ReadonlyArray<number>): number =>
  delays.filter((delay) => delay <= SOON_MILLIS).length / delays.length

export const silentSubscription: Scenario = {
  name: "silent-subscription",
  run: async (size, seed, bench) => {
    const { callers, slots, times } = SIZES[size]
    const redis = bench.own(await startRedis())
    const path = bench.own(await startSwallower(redis.port))
    const rig = await makeRig({
      seed,
      bench,
      storeUrl: redis.url,
      gates: 2,
      slots,
      webhookGates: [1],
      settings: { Queue__StartWindowSeconds: String(WINDOW_SECONDS) },
      settingsOf: (gate): Readonly<Record<string, string>> =>
        gate === 0 ? { StoreConnectionString: `redis://127.0.0.1:${path.port}` } : {},
    })
    const { chance, seats, wrongs } = rig
    const crowd = rig.crowd({
      callers,
      arriveMillis: 500,
      talkMillis: [200, 500],
      reactMillis: 100,
      entrances: () => [seats[0]?.url ?? ""],
    })
    const called = () => crowd.callers.filter(({ turn }) => turn !== undefined).length
    await sleep(1_000)
    const faults: Array<{ readonly at: number; readonly silentMillis: number; readonly anew: boolean }> = []
    for (let n = 0; n < times; n++) {
      await sleep(chance.between(MEASURED_MILLIS, MEASURED_MILLIS + 1_000))
      await eventually("enough calls before the fault", () => called() >= LEAST_CALLS)
      const connections = path.made()
      const at = Date.now()
      await eventually("a subscription to swallow", () => path.swallow("subscribe") > 0)
      const isAnew = () => path.made() > connections
      await eventually("a new subscription", isAnew, AGAIN_MILLIS).catch(() =>
        wrongs.add(`a silent subscription is not made anew within ${AGAIN_MILLIS} ms`),
      )
      faults.push({ at, silentMillis: Date.now() - at, anew: isAnew() })
      await sleep(at + AGAIN_MILLIS + MEASURED_MILLIS - Date.now())
    }
    await crowd.done(150_000)

    const heard = crowd.callers.flatMap(({ turn }): ReadonlyArray<Heard> => {
      if (turn === undefined) return []
      const storedAt = turn.until - WINDOW_SECONDS * 1_000
      return [{ storedAt, delay: turn.heardAt - storedAt }]
    })
    const first = faults[0]?.at ?? 0
    const before = delaysOf(heard, (stored) => stored < first)
    const silent = delaysOf(heard, (stored) =>
      faults.some(({ at, silentMillis }) => stored >= at && stored < at + silentMillis),
    )
    const after = delaysOf(
      heard,
      (stored) => stored >= first && !faults.some(({ at }) => stored >= at && stored < at + AGAIN_MILLIS),
    )
    for (const [when, delays] of Object.entries({ before, after })) {
      if (delays.length < LEAST_CALLS) wrongs.add(`only ${delays.length} calls were measured ${when} the fault`)
      else if (soonShare(delays) < SOON_SHARE) {
        wrongs.add(`start calls ${when} the fault took ${delaysInWords(delays)} to be heard`)
      }
    }
    const slowest = Math.max(...heard.map(({ delay }) => delay))
    if (slowest > LOOKED_UP_MILLIS) wrongs.add(`a start call was told ${slowest} ms after it was stored`)

    const verdict = await judge(rig, { outcomes: [] })
    return [
      {
        fault: `the connection on which one of 2 gates hears the other goes silent and is not closed, ${times} times; ${callers} callers there are called by the other`,
        promised: `it is made anew within ${seconds(AGAIN_MILLIS)}, and start calls are heard as fast as before from then on; until then within ${seconds(TICK_MILLIS)}`,
        seen:
          `start calls are heard after ${delaysInWords(before)} before; ${delaysInWords(silent)} while it is silent; ` +
          `${delaysInWords(after)} from ${seconds(AGAIN_MILLIS)} on; ${inWords(verdict.outcomes)}; ${peaksInWords(verdict, rig)}`,
        back: faults
          .map(({ anew, silentMillis }) => (anew ? `made anew after ${seconds(silentMillis)}` : "never"))
          .join(" · "),
        wrongs: verdict.wrongs,
      },
    ]
  },
}
