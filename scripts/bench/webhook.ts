/**
 * The time from a webhook to the start call, with 100,000 tickets waiting behind the called one and with none. Both gates run at the same
 * time in alternation.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type RedisServer, startRedis } from "../../test/harness/redis.ts"
import { type Crowd, makeCrowd, steadyNow } from "./support/crowd.ts"
import { fill } from "./support/fill.ts"
import { startPlatform } from "./support/platform.ts"
import { queueUp, type Waiting } from "./support/queue-up.ts"
import { type Found, median, ratio } from "./support/report.ts"
import { type Server, startGate } from "./support/servers.ts"

const BEHIND = { none: 0, "100,000": 100_000 } as const
const CALLS = 50

/** The time until a start call arrives, in ms. */
const call = async (crowd: Crowd, { end, startNext }: Waiting): Promise<number> => {
  let began = 0
  const { first } = await crowd.heard(1, "start_call", () => {
    began = steadyNow()
    return end()
  })
  await startNext()
  await sleep(10)
  return first - began
}

export const webhook = async (rounds: number): Promise<Found> => {
  const platform = await startPlatform()
  const of: Record<keyof typeof BEHIND, Array<number>> = { none: [], "100,000": [] }
  try {
    for (let round = 0; round < rounds; round++) {
      const stores: Array<RedisServer> = []
      const servers: Array<Server> = []
      const crowds: Array<Crowd> = []
      const begin = async (count: number) => {
        const redis = await startRedis()
        stores.push(redis)
        const gate = await startGate(redis.url, platform.url)
        servers.push(gate)
        const waiting = await queueUp(gate.url, CALLS)
        await fill(redis, count)
        const crowd = makeCrowd(gate.url)
        crowds.push(crowd)
        await crowd.gather(waiting.tickets.map((ticket) => `/api/session/${ticket}/events`))
        const millis: Array<number> = []
        return { call: async () => millis.push(await call(crowd, waiting)), millis }
      }
      try {
        const sides = { none: await begin(BEHIND.none), "100,000": await begin(BEHIND["100,000"]) }
        for (let n = 0; n < CALLS; n++) {
          await sides.none.call()
          await sides["100,000"].call()
        }
        of.none.push(median(sides.none.millis))
        of["100,000"].push(median(sides["100,000"].millis))
      } finally {
        for (const crowd of crowds) crowd.close()
        for (const server of servers) await server.stop()
        for (const store of stores) await store.dispose()
      }
    }
  } finally {
    platform.close()
  }
  const calls = { name: "webhook to start call, by number waiting behind", unit: "ms, median", of }
  return { figures: [calls], ratios: [ratio(calls, "100,000", "none", { atMost: 1.1 })] }
}
