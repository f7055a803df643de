/**
 * The cost of an admission with 1,000 and with 1,000,000 waiting tickets: CPU of the gate and of Redis per queued request, under the
 * load of `admission.ts`. Also the Redis memory of a waiting ticket. Both gates run at the same time and are loaded in alternating turns,
 * because the speed of a machine changes within a round. A turn adds some ten thousand tickets; the short queue is made anew before each
 * turn, and the long one has at least 1,000,000.
 */
import { type RedisServer, startRedis } from "../../test/harness/redis.ts"
import { fill } from "./support/fill.ts"
import { load, type Measured, mean } from "./support/load.ts"
import { startPlatform } from "./support/platform.ts"
import { type Found, figure, ratio } from "./support/report.ts"
import { type Server, startGate } from "./support/servers.ts"

const SHORT = 1_000
const LONG = 1_000_000
const TURN_SECONDS = 2
/** As long as V8 compiles: with 3 s, one round said 0.64 and the next 1.87. */
const WARM_UP_SECONDS = 24

const usedBy = async (redis: RedisServer): Promise<number> =>
  Number(/used_memory:(\d+)/.exec(await redis.command("info", "memory"))?.[1] ?? Number.NaN)

interface Side {
  readonly size: number
  readonly redis: RedisServer
  readonly gate: Server
  readonly bytesPerTicket: number
}

type Stop = () => Promise<void>

/** @param stops gets what stops the side, also if its start fails */
const startSide = async (size: number, platform: string, stops: Array<Stop>): Promise<Side> => {
  const redis = await startRedis()
  stops.unshift(redis.dispose)
  const empty = await usedBy(redis)
  await fill(redis, size)
  const bytesPerTicket = ((await usedBy(redis)) - empty) / size
  const gate = await startGate(redis.url, platform)
  stops.unshift(gate.stop)
  await load(gate.url, gate.pids, redis.pid(), "queue", WARM_UP_SECONDS)
  return { size, redis, gate, bytesPerTicket }
}

const turn = async ({ gate, redis, size }: Side): Promise<Measured> => {
  if (size === SHORT) {
    await redis.command("flushall")
    await fill(redis, size)
  }
  const measured = await load(gate.url, gate.pids, redis.pid(), "queue", TURN_SECONDS)
  if (measured.refused > 0) throw new Error(`${measured.refused} were refused\n${gate.output()}`)
  return measured
}

export const growth = async (rounds: number, turns: number): Promise<Found> => {
  const platform = await startPlatform()
  const whole: Record<string, Array<number>> = {}
  const store: Record<string, Array<number>> = {}
  const stops: Array<Stop> = []
  const sides: Array<Side> = []
  try {
    for (const size of [SHORT, LONG]) sides.push(await startSide(size, platform.url, stops))
    for (let round = 0; round < rounds; round++) {
      const taken = new Map<Side, Array<Measured>>(sides.map((side) => [side, []]))
      for (let n = 0; n < turns; n++) for (const side of sides) taken.get(side)?.push(await turn(side))
      for (const [{ size }, measured] of taken) {
        const name = size.toLocaleString("en")
        whole[name] = [...(whole[name] ?? []), mean(measured, ({ micros, storeMicros }) => micros + storeMicros)]
        store[name] = [...(store[name] ?? []), mean(measured, ({ storeMicros }) => storeMicros)]
        console.error(`growth ${name}: ${whole[name]?.at(-1)?.toFixed(1)} µs per admission`)
      }
    }
  } finally {
    for (const stop of stops) await stop().catch(console.error)
    platform.close()
  }
  const bytes = sides.filter(({ size }) => size === LONG).map(({ bytesPerTicket }) => bytesPerTicket)
  const cost = { name: "admission by number of waiting tickets", unit: "µs of gate and Redis", of: whole }
  return {
    figures: [cost, { name: "of these, Redis", unit: "µs", of: store }],
    ratios: [
      ratio(cost, "1,000,000", "1,000", { atMost: 1.15 }),
      figure("Redis memory of a waiting ticket, bytes", bytes, { atMost: 700 }),
    ],
  }
}
