/**
 * Push with thousands of waiting callers: memory per connection with its ticket, a position event for all, and the time from a webhook
 * to the start call, compared with bare `ws` with as many connections and a bare publish-and-send.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type RedisServer, startRedis } from "../../test/harness/redis.ts"
import { type Crowd, makeCrowd, steadyNow } from "./support/crowd.ts"
import { collecting, residentOf } from "./support/memory.ts"
import { startPlatform } from "./support/platform.ts"
import { queueUp, type Waiting } from "./support/queue-up.ts"
import { type Figures, type Found, figure, median, ratio } from "./support/report.ts"
import { type Server, startGate, startYardstick } from "./support/servers.ts"

const TICKS = 9
const CALLS = 50

interface Side {
  readonly server: Server
  readonly paths: ReadonlyArray<string>
  /** changes every position */
  readonly shift: () => Promise<void>
  /** causes the first in the queue to be called; its promise is awaited after the call has arrived */
  readonly call: () => Promise<void>
  /** the next step of the called caller */
  readonly answered: () => Promise<void>
}

/** A side with its connections, and the memory per connection. */
interface RunningSide extends Side {
  readonly crowd: Crowd
  readonly bytes: number
}

/** The time from the first to the last position event, in ms. */
const tick = async (crowd: Crowd, count: number, shift: () => Promise<void>): Promise<number> => {
  const { first, last } = await crowd.heard(count, '"position"', shift)
  return last - first
}

/** The time until a start call arrives, in ms. */
const call = async (crowd: Crowd, { answered, call }: Side): Promise<number> => {
  let began = 0
  const { first } = await crowd.heard(1, "start_call", () => {
    began = steadyNow()
    return call()
  })
  await answered()
  await sleep(10)
  return first - began
}

/** Connections before the memory baseline, because the first ones also load code. */
const BASELINE_CONNECTIONS = 1_000

/** Opens the connections, and measures the memory of each. */
const gather = async (side: Side): Promise<RunningSide> => {
  const { paths, server } = side
  const crowd = makeCrowd(server.url)
  await crowd.gather(paths.slice(0, BASELINE_CONNECTIONS))
  await sleep(1_000)
  const before = await residentOf(server)
  await crowd.gather(paths.slice(BASELINE_CONNECTIONS))
  await sleep(3_000)
  return { ...side, crowd, bytes: ((await residentOf(server)) - before) / (paths.length - BASELINE_CONNECTIONS) }
}

const post = async (url: string): Promise<void> => {
  await (await fetch(url, { method: "POST" })).text()
}

const bare = (server: Server, count: number): Side => ({
  server,
  paths: Array.from({ length: count }, () => "/"),
  shift: () => post(`${server.url}/tick`),
  call: () => post(`${server.url}/publish`),
  answered: async () => {},
})

const gateSide = (server: Server, waiting: Waiting): Side => ({
  server,
  paths: waiting.tickets.map((ticket) => `/api/session/${ticket}/events`),
  shift: async () => {
    await waiting.end()
    await waiting.startNext()
  },
  call: waiting.end,
  answered: waiting.startNext,
})

const names = ["ws", "gate"] as const
type Name = (typeof names)[number]

interface Observed {
  readonly bytes: number
  readonly spans: Array<number>
  readonly calls: Array<number>
}

/** Both sides run at the same time in alternation, so that other load on the machine slows both equally. */
const runRounds = async (platform: string, count: number): Promise<Record<Name, Observed>> => {
  const servers: Array<Server> = []
  const stores: Array<RedisServer> = []
  const crowds: Array<Crowd> = []
  const begin = async (name: Name): Promise<RunningSide> => {
    const redis = await startRedis()
    stores.push(redis)
    const server =
      name === "ws"
        ? await startYardstick("ws", redis.url, {}, collecting)
        : await startGate(redis.url, platform, {}, { nodeArgs: collecting })
    servers.push(server)
    const standing = await gather(
      name === "ws" ? bare(server, count) : gateSide(server, await queueUp(server.url, count)),
    )
    crowds.push(standing.crowd)
    return standing
  }
  try {
    const sides = { ws: await begin("ws"), gate: await begin("gate") }
    const seenOf = ({ bytes }: RunningSide): Observed => ({ bytes, spans: [], calls: [] })
    const seen = { ws: seenOf(sides.ws), gate: seenOf(sides.gate) }
    for (let n = 0; n < TICKS; n++) {
      for (const name of names) {
        const side = sides[name]
        seen[name].spans.push(await tick(side.crowd, count - n - 1, side.shift))
      }
    }
    await sleep(2_500)
    for (let n = 0; n < CALLS; n++) {
      for (const name of names) seen[name].calls.push(await call(sides[name].crowd, sides[name]))
    }
    return seen
  } finally {
    for (const crowd of crowds) crowd.close()
    for (const server of servers) await server.stop()
    for (const store of stores) await store.dispose()
  }
}

export const push = async (rounds: number, count: number): Promise<Found> => {
  const platform = await startPlatform()
  const seen: Record<Name, Array<Observed>> = { ws: [], gate: [] }
  try {
    for (let round = 0; round < rounds; round++) {
      const played = await runRounds(platform.url, count)
      for (const name of names) {
        seen[name].push(played[name])
        console.error(
          `push ${name}: ${Math.round(played[name].bytes)} bytes per connection, ${median(played[name].spans).toFixed()} ms per tick`,
        )
      }
    }
  } finally {
    platform.close()
  }
  const of = (pick: (each: Observed) => number) => ({ ws: seen.ws.map(pick), gate: seen.gate.map(pick) })
  const memory: Figures = { name: `${count} waiting, memory per connection`, unit: "KB", of: of((s) => s.bytes / 1000) }
  const ticks: Figures = { name: `a position to ${count}`, unit: "ms, first to last", of: of((s) => median(s.spans)) }
  const calls: Figures = {
    name: `webhook to start call, ${count} waiting`,
    unit: "ms, median",
    of: of((s) => median(s.calls)),
  }
  return {
    figures: [memory, ticks, calls],
    ratios: [
      figure("memory of a waiting connection with its ticket, KB", memory.of.gate ?? [], { atMost: 4 }),
      ratio(ticks, "gate", "ws", { atMost: 1.1 }),
      ratio(calls, "gate", "ws", { atMost: 3 }),
    ],
  }
}
