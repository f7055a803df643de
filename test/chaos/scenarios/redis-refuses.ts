/**
 * A reachable Redis that refuses writes: its memory is full, or it was made a replica. And one into whose keys another
 * program writes invalid records.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { keysOf, quarantineKeyOf } from "../../../src/fifo-queue/keys.ts"
import { type RedisServer, startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario, Size } from "../support/scenario.ts"
import { JUNK } from "../support/store.ts"

const SIZES = {
  small: { gates: 1, callers: 60, slots: 5, times: 1 },
  full: { gates: 2, callers: 300, slots: 10, times: 3 },
}

type Command = ReadonlyArray<string>

const FAULTS = {
  "is out of memory": { begin: ["config", "set", "maxmemory", "1"], end: ["config", "set", "maxmemory", "0"] },
  "is made a replica": { begin: ["replicaof", "127.0.0.1", "1"], end: ["replicaof", "no", "one"] },
} satisfies Record<string, { readonly begin: Command; readonly end: Command }>

const refusing =
  (fault: keyof typeof FAULTS) =>
  async (size: Size, seed: number, bench: Parameters<Scenario["run"]>[2]): ReturnType<Scenario["run"]> => {
    const { callers, gates, slots, times } = SIZES[size]
    const redis = bench.own(await startRedis())
    const rig = await makeRig({ seed, bench, storeUrl: redis.url, gates, slots, joinMillis: 10_000, startMillis: 100 })
    const { chance, seats } = rig
    const crowd = rig.crowd({ callers, arriveMillis: times * 3_000, talkMillis: [200, 800] })
    const backs: Array<string> = []
    const wrongs: Array<string> = []
    let unready = 0
    for (let n = 0; n < times; n++) {
      await sleep(chance.between(1_000, 2_500))
      await redis.command(...FAULTS[fault].begin)
      await sleep(chance.between(1_500, 3_000))
      for (const seat of seats) {
        const ready = await fetch(`${seat.url}/health/ready`)
        if (ready.status === 503) unready++
        else wrongs.push(`a gate whose Redis ${fault} is ready`)
      }
      await redis.command(...FAULTS[fault].end)
      backs.push(timesInWords(await orderBack(rig, performance.now())))
    }
    await crowd.done(150_000)
    // a start whose answer could not be stored is not repeated, and fails by its deadline
    const verdict = await judge(rig, { outcomes: ["failed", "dead session", "ended"] })
    return [
      {
        fault: `Redis ${fault}, ${times} times for 2 to 3 s, under ${callers} callers`,
        promised: "nobody loses a place or a turn by it; requests meanwhile are answered 503, and no gate is ready",
        seen: `${inWords(verdict.outcomes)}; ${unready} of ${times * gates} times not ready; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: backs.join(" · "),
        wrongs: [...wrongs, ...verdict.wrongs],
      },
    ]
  }

export const redisFull: Scenario = { name: "redis-full", run: refusing("is out of memory") }
export const redisDemoted: Scenario = { name: "redis-demoted", run: refusing("is made a replica") }

/** Writes invalid records into the campaign's keys: hashes and sorted sets alike, under reserved names. */
const scribble = async (redis: RedisServer, n: number): Promise<void> => {
  const keys = keysOf("business-1/campaign-1")
  const key = (name: string): string => keys.find((each) => each.endsWith(`:${name}`)) ?? ""
  const seq = Number((await redis.command("hget", key("meta"), "seq")) || "0")
  const junk = `${JUNK}${n}`
  // at places of future tickets, so that nobody's reported position becomes worse
  await redis.command("zadd", key("waiting"), String(seq + 50.5), junk)
  await redis.command("zadd", key("presence"), String(Date.now() + 60_000), `${junk}-present`)
  await redis.command("zadd", key("leases"), String(Date.now() - 1), `${junk}-held`)
  await redis.command("zadd", key("passed"), "0", `${junk}-passed`)
  await redis.command("zadd", key("settlements"), "0", `${junk}-owed`)
  await redis.command("hset", key("tickets"), `${junk}-ticket`, "no ticket")
  await redis.command("zadd", key("leases"), String(Date.now() - 1), `${junk}-ticket`)
  await redis.command("hset", key("sessions"), `${junk}-session`, `${junk}-ticket`)
}

/** Each time several records are found, and 100 are kept. */
const MIN_WRITTEN = 50

export const junkRecords: Scenario = {
  name: "junk-records",
  run: async (size, seed, bench) => {
    const { callers, gates, slots } = SIZES[size]
    const redis = bench.own(await startRedis())
    const rig = await makeRig({ seed, bench, storeUrl: redis.url, gates, slots, joinMillis: 10_000, startMillis: 100 })
    const crowd = rig.crowd({ callers, arriveMillis: 4_000, talkMillis: [200, 800] })
    let written = 0
    let done = false
    const all = crowd.done(150_000).finally(() => {
      done = true
    })
    // on a busy machine the callers are served before more is written than the quarantine keeps
    while (!done || written < MIN_WRITTEN) {
      await scribble(redis, written++)
      await sleep(100)
    }
    await all
    const back = await orderBack(rig, performance.now())
    const verdict = await judge(rig, { outcomes: [] })
    const kept = Number(await redis.command("zcard", quarantineKeyOf("business-1/campaign-1")))
    return [
      {
        fault: `somebody writes what is no record into the queue's keys, ${written} times eight of it, under ${callers} callers`,
        promised: "nobody who is served notices it; what was found is kept in quarantine, the last 100",
        seen: `${inWords(verdict.outcomes)}; ${kept} kept; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
        back: timesInWords(back),
        wrongs: [...(kept === 100 ? [] : [`${kept} records are kept`]), ...verdict.wrongs],
      },
    ]
  },
}
