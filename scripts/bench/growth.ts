/**
 * What an admission costs Redis with 1,000 and with 1,000,000 waiting, and how much of Redis a waiting ticket takes. The
 * queue's own script is sent as the gate sends it under load, several newcomers at a time.
 */
import { readFileSync } from "node:fs"
import { Redis } from "ioredis"
import { admit } from "../../src/queue/admit.ts"
import { keysOf } from "../../src/queue/step.ts"
import { MOST } from "../../src/store/join.ts"
import { type RedisServer, startRedis } from "../../test/support/redis.ts"
import { type Found, figure, ratio } from "./support/report.ts"

const SIZES = [1_000, 1_000_000] as const
const MEASURED = 64_000

const data = JSON.stringify({
  campaign: "default",
  regionId: "eu",
  transportType: 0,
  clientIdentifier: "shop-42",
  dynamicVariables: { name: "Ada", page: "/cart" },
  metadata: {},
  audio: {},
})

/** CPU time of the server so far, in µs. */
const cpuOf = (redis: RedisServer): number => {
  const stat = readFileSync(`/proc/${redis.pid()}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

const usedBy = async (redis: RedisServer): Promise<number> =>
  Number(/used_memory:(\d+)/.exec(await redis.command("info", "memory"))?.[1] ?? Number.NaN)

export const growth = async (rounds: number): Promise<Found> => {
  const perAdmission: Record<string, Array<number>> = {}
  const bytes: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    for (const size of SIZES) {
      const redis = await startRedis()
      const client = new Redis(redis.url)
      try {
        const sha = String(await client.script("LOAD", admit.lua))
        const keys = keysOf("business-1/campaign-1")
        let tickets = 0
        const add = async (count: number): Promise<void> => {
          for (let left = count; left > 0; ) {
            const pipeline = client.pipeline()
            for (let n = 0; n < 100 && left > 0; n++) {
              const newcomers = Array.from({ length: Math.min(MOST, left) }, () => {
                const n = tickets++
                const id = `${String(n).padStart(8, "0")}AbCdEfGhIjKlMnabcd`
                return [id, `-${11 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`, data] as const
              })
              left -= newcomers.length
              const [first, ...others] = newcomers
              if (first === undefined) break
              const now = Date.now()
              const shared = [now, 0, "instance", "vg:i:", 30_000, first[0], 10_000_000, now + 3e6, now + 3e4]
              pipeline.evalsha(sha, keys.length, ...keys, ...shared, first[1], first[2], ...others.flat())
            }
            await pipeline.exec()
          }
        }
        const empty = await usedBy(redis)
        await add(size)
        if (size === 1_000_000) bytes.push(((await usedBy(redis)) - empty) / size)
        const before = cpuOf(redis)
        await add(MEASURED)
        const name = size.toLocaleString("en")
        perAdmission[name] = [...(perAdmission[name] ?? []), (cpuOf(redis) - before) / MEASURED]
        console.error(`growth ${name}: ${perAdmission[name]?.at(-1)?.toFixed(2)} µs an admission`)
      } finally {
        client.disconnect()
        await redis.dispose()
      }
    }
  }
  const cost = { name: "admission with so many waiting", unit: "µs of Redis", of: perAdmission }
  return {
    figures: [cost],
    ratios: [
      ratio(cost, "1,000,000", "1,000", { atMost: 1.15 }),
      figure("Redis memory of a waiting ticket, bytes", bytes, { atMost: 700 }),
    ],
  }
}
