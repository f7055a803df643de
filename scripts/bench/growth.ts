/**
 * The cost of an admission with 1,000 and with 1,000,000 waiting tickets: CPU of the gate and of Redis per queued request, under the
 * load of `admission.ts`. Also the Redis memory of a waiting ticket.
 */
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { fill } from "./support/fill.ts"
import { load } from "./support/load.ts"
import { startPlatform } from "./support/platform.ts"
import { type Found, figure, ratio } from "./support/report.ts"
import { type Server, startGate } from "./support/servers.ts"

const SIZES = [1_000, 1_000_000] as const
const TURN_SECONDS = 2
/** As long as V8 compiles: with 3 s, one round said 0.64 and the next 1.87. */
const WARM_UP_SECONDS = 24

const usedBy = async (redis: RedisServer): Promise<number> =>
  Number(/used_memory:(\d+)/.exec(await redis.command("info", "memory"))?.[1] ?? Number.NaN)

export const growth = async (rounds: number, turns: number): Promise<Found> => {
  const platform = await startPlatform()
  const whole: Record<string, Array<number>> = {}
  const store: Record<string, Array<number>> = {}
  const bytes: Array<number> = []
  try {
    for (let round = 0; round < rounds; round++) {
      for (const size of SIZES) {
        const redis = await startRedis()
        let gate: Server | undefined
        try {
          const empty = await usedBy(redis)
          await fill(redis, size)
          if (size === 1_000_000) bytes.push(((await usedBy(redis)) - empty) / size)
          gate = await startGate(redis.url, platform.url)
          await load(gate.url, gate.pids, redis.pid(), "queue", WARM_UP_SECONDS)
          const measured = await load(gate.url, gate.pids, redis.pid(), "queue", turns * TURN_SECONDS)
          if (measured.refused > 0) throw new Error(`${measured.refused} were refused\n${gate.output()}`)
          const name = size.toLocaleString("en")
          whole[name] = [...(whole[name] ?? []), measured.micros + measured.storeMicros]
          store[name] = [...(store[name] ?? []), measured.storeMicros]
          console.error(`growth ${name}: ${whole[name]?.at(-1)?.toFixed(1)} µs per admission`)
        } finally {
          await gate?.stop()
          await redis.dispose()
        }
      }
    }
  } finally {
    platform.close()
  }
  const cost = { name: "admission by number of waiting tickets", unit: "µs of gate and Redis", of: whole }
  return {
    figures: [cost, { name: "of these, Redis", unit: "µs", of: store }],
    ratios: [
      ratio(cost, "1,000,000", "1,000", { atMost: 1.15 }),
      figure("Redis memory of a waiting ticket, bytes", bytes, { atMost: 700 }),
    ],
  }
}
