/**
 * The cost of an admission with 1,000 and with 1,000,000 waiting tickets: CPU of the gate and of Redis per queued request, under the
 * load of `admission.ts`. Also the Redis memory of a waiting ticket.
 */
import { Redis } from "ioredis"
import { keysOf } from "../../src/queue/keys.ts"
import { rules } from "../../src/queue/rules.ts"
import type { Newcomer } from "../../src/rules/queue/admit.ts"
import type { QueueContext } from "../../src/rules/step.ts"
import { MAX_CALLS_PER_COMMAND } from "../../src/store/batch.ts"
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { load } from "./support/load.ts"
import { startPlatform } from "./support/platform.ts"
import { type Found, figure, ratio } from "./support/report.ts"
import { type Server, startGate } from "./support/servers.ts"

const SIZES = [1_000, 1_000_000] as const
const TURN_SECONDS = 2

const data = JSON.stringify({
  campaign: "default",
  regionId: "eu",
  transportType: 0,
  clientIdentifier: "shop-42",
  dynamicVariables: { name: "Ada", page: "/cart" },
  metadata: {},
  audio: {},
})

const newcomer = (n: number): Newcomer => {
  const network = `${101 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}`
  const id = `${String(n).padStart(8, "0")}AbCdEfGhIjKlMnabcd`
  return { id, data, caller: `${network}.${n & 255}`, holds: true, network }
}

/** No ticket is called, and every ticket is present for an hour. */
const context: QueueContext = {
  slots: 0,
  share: 0.25,
  maxLength: 10_000_000,
  instance: "instance",
  channel: "vg:i:",
  windowMillis: 30_000,
  graceMillis: 3_600_000,
  seenMillis: 3_602_000,
  callMillis: 7_200_000,
}

/** Queues `count` tickets, with the gate's own rule. */
const fill = async (redis: RedisServer, count: number): Promise<void> => {
  const client = new Redis(redis.url)
  try {
    const sha = String(await client.script("LOAD", rules.admit.lua))
    const keys = keysOf("business-1/campaign-1")
    for (let from = 0; from < count; ) {
      const pipeline = client.pipeline()
      for (let n = 0; n < 100 && from < count; n++) {
        const many = Math.min(MAX_CALLS_PER_COMMAND, count - from)
        const calls = Array.from({ length: many }, (_, k) => JSON.stringify(newcomer(from + k)))
        pipeline.evalsha(sha, keys.length, ...keys, Date.now(), JSON.stringify(context), ...calls)
        from += many
      }
      await pipeline.exec()
    }
  } finally {
    client.disconnect()
  }
}

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
          await load(gate.url, gate.pids, redis.pid(), "queue", 3)
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
