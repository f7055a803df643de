/**
 * Admission and flood: requests a second of the built gate beside "limit" and Fastify, each alone with a Redis of its own. In
 * queue mode every request comes from another address and is queued; in flood mode eight addresses have used up their hour.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { startRedis } from "../../test/support/redis.ts"
import { load, type Measured, type Mode } from "./support/load.ts"
import { startPlatform } from "./support/platform.ts"
import { type Figures, type Found, type Goal, ratio } from "./support/report.ts"
import { type Server, startGate, startYardstick } from "./support/servers.ts"

const servers = ["limit", "fastify", "gate"] as const
type Name = (typeof servers)[number]

const WARM_UP_SECONDS = 3

const start = (name: Name, redis: string, platform: string, processes: number): Promise<Server> =>
  name === "gate"
    ? startGate(redis, platform, {}, [], processes)
    : startYardstick(name, redis, { PROCESSES: String(processes) })

/** One server, alone: started, warmed up, measured, and looked at whether it did what was asked. */
const measure = async (
  name: Name,
  mode: Mode,
  seconds: number,
  processes: number,
  platform: string,
): Promise<Measured> => {
  const redis = await startRedis()
  let server: Server | undefined
  try {
    server = await start(name, redis.url, platform, processes)
    await sleep(500)
    // somebody talks, and the caches of node are warm
    await fetch(`${server.url}/api/session/request`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    })
    await load(server.url, server.pids, redis.pid(), mode, WARM_UP_SECONDS)
    const measured = await load(server.url, server.pids, redis.pid(), mode, seconds)
    const expected = mode === "queue" ? 0 : measured.answered
    if (measured.refused !== expected) {
      throw new Error(`${name} refused ${measured.refused} of ${measured.answered} in ${mode} mode\n${server.output()}`)
    }
    return measured
  } finally {
    await server?.stop()
    await redis.dispose()
  }
}

const goals: Readonly<Record<Mode, Readonly<Record<"limit" | "fastify", Goal>>>> = {
  queue: { limit: { atLeast: 1 }, fastify: { atLeast: 1.5 } },
  flood: { limit: { atLeast: 0.9 }, fastify: { atLeast: 1.2 } },
}

export const admission = async (rounds: number, seconds: number, processes: number): Promise<Found> => {
  const platform = await startPlatform()
  const found: { figures: Array<Figures>; ratios: Array<Found["ratios"][number]> } = { figures: [], ratios: [] }
  try {
    for (const mode of ["queue", "flood"] as const) {
      const all: Record<Name, Array<Measured>> = { limit: [], fastify: [], gate: [] }
      for (let round = 0; round < rounds; round++) {
        for (const name of servers) {
          const measured = await measure(name, mode, seconds, processes, platform.url)
          all[name].push(measured)
          console.error(`${mode} ${name}: ${Math.round(measured.perSecond)} requests a second`)
        }
      }
      const title = processes === 1 ? `${mode} mode` : `${mode} mode, ${processes} processes`
      const of = (pick: (measured: Measured) => number) =>
        Object.fromEntries(servers.map((name) => [name, all[name].map(pick)]))
      const perSecond = { name: title, unit: "requests a second", of: of((m) => m.perSecond) }
      found.figures.push(
        perSecond,
        { name: `${title}, CPU of the server`, unit: "µs a request", of: of((m) => m.micros) },
        { name: `${title}, CPU of Redis`, unit: "µs a request", of: of((m) => m.storeMicros) },
        { name: `${title}, 99th percentile`, unit: "ms", of: of((m) => m.p99Micros / 1000) },
      )
      for (const peer of ["limit", "fastify"] as const) {
        found.ratios.push(ratio(perSecond, "gate", peer, processes === 1 ? goals[mode][peer] : undefined))
      }
    }
    return found
  } finally {
    platform.close()
  }
}
