/**
 * Admission and flood: requests per second of the built gate compared with servers that do less, each with its own Redis. "tuned" is
 * written by hand for speed, "raw" is the same with a Redis client of its own. In queue mode every request comes from another address
 * and is queued; in flood mode eight addresses have used up their hourly limit.
 *
 * In a round all run at the same time and are loaded in short alternating turns, so that other load on the machine slows all of them
 * equally. Each round starts them anew.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type RedisServer, startRedis } from "../../test/harness/redis.ts"
import { load, type Measured, type Mode, mean } from "./support/load.ts"
import { startPlatform } from "./support/platform.ts"
import { type Figures, type Found, type Goal, type Ratio, ratio } from "./support/report.ts"
import { type Server, startGate, startYardstick } from "./support/servers.ts"

const peers = ["tuned", "raw", "fastify", "express"] as const
const names = [...peers, "gate"] as const
type Peer = (typeof peers)[number]
type Name = (typeof names)[number]

/** V8 compiles for about 12 s of load, most for the server with the most code; in production servers run for days. */
const WARM_UP_SECONDS = 16
const TURN_SECONDS = 2

interface RunningServer {
  readonly name: Name
  readonly server: Server
  readonly redis: RedisServer
}

const startSide = async (name: Name, platform: string, processes: number): Promise<RunningServer> => {
  const redis = await startRedis()
  const server =
    name === "gate"
      ? await startGate(redis.url, platform, {}, { processes })
      : await startYardstick(name === "raw" ? "tuned" : name, redis.url, {
          PROCESSES: String(processes),
          CLIENT: name === "raw" ? "raw" : "ioredis",
        })
  await sleep(500)
  // occupies the slot
  await fetch(`${server.url}/api/session/request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
  return { name, server, redis }
}

/** One turn; every answer must be the one that the mode measures. */
const turn = async ({ name, redis, server }: RunningServer, mode: Mode, seconds: number): Promise<Measured> => {
  const measured = await load(server.url, server.pids, redis.pid(), mode, seconds)
  const expected = mode === "queue" ? 0 : measured.answered
  if (measured.refused !== expected) {
    throw new Error(`${name} refused ${measured.refused} of ${measured.answered} in ${mode} mode\n${server.output()}`)
  }
  return measured
}

/** One round, with servers of its own: V8 compiles the same program differently from start to start, by up to 10 % of its speed. */
const runRound = async (
  platform: string,
  mode: Mode,
  turns: number,
  processes: number,
): Promise<Record<Name, ReadonlyArray<Measured>>> => {
  const all: Array<RunningServer> = []
  const taken: Record<Name, Array<Measured>> = { tuned: [], raw: [], fastify: [], express: [], gate: [] }
  try {
    for (const name of names) all.push(await startSide(name, platform, processes))
    // two processes share the requests, so that each compiles for twice as long
    const warmUp = WARM_UP_SECONDS * processes
    for (const each of all) await load(each.server.url, each.server.pids, each.redis.pid(), mode, warmUp)
    for (let n = 0; n < turns; n++) {
      for (const each of all) taken[each.name].push(await turn(each, mode, TURN_SECONDS))
    }
  } finally {
    for (const { redis, server } of all) {
      await server.stop()
      await redis.dispose()
    }
  }
  for (const name of names) {
    console.error(`${mode} ${name}: ${Math.round(mean(taken[name], (m) => m.perSecond))} requests per second`)
  }
  return taken
}

const goals: Readonly<Record<Exclude<Mode, "signed">, Readonly<Partial<Record<Peer, Goal>>>>> = {
  queue: { tuned: { atLeast: 1 }, raw: { atLeast: 0.9 }, fastify: { atLeast: 1.6 } },
  flood: { tuned: { atLeast: 1 }, fastify: { atLeast: 1.5 } },
}

export const admission = async (rounds: number, turns: number, processes: number): Promise<Found> => {
  const platform = await startPlatform()
  const figures: Array<Figures> = []
  const ratios: Array<Ratio> = []
  for (const mode of ["queue", "flood"] as const) {
    const played: Array<Record<Name, ReadonlyArray<Measured>>> = []
    for (let round = 0; round < rounds; round++) played.push(await runRound(platform.url, mode, turns, processes))
    const of = (pick: (measured: Measured) => number) =>
      Object.fromEntries(names.map((name) => [name, played.map((taken) => mean(taken[name], pick))]))
    const title = processes === 1 ? `${mode} mode` : `${mode} mode, ${processes} processes`
    const perSecond = { name: title, unit: "requests per second", of: of((m) => m.perSecond) }
    figures.push(
      perSecond,
      { name: `${title}, CPU of the server`, unit: "µs per request", of: of((m) => m.micros) },
      { name: `${title}, CPU of Redis`, unit: "µs per request", of: of((m) => m.storeMicros) },
    )
    const p99 = { name: `${title}, 99th percentile`, unit: "ms", of: of((m) => m.p99Micros / 1000) }
    figures.push(p99)
    for (const peer of peers) ratios.push(ratio(perSecond, "gate", peer, goals[mode][peer]))
    ratios.push(ratio(p99, "gate", "tuned", { atMost: 1 }))
  }
  platform.close()
  return { figures, ratios }
}
