/**
 * Push with thousands waiting: memory of a connection with its ticket, a position for everybody, and the way from a webhook to
 * the start call, beside bare `ws` that holds as many and a bare publish-and-send.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type RedisServer, startRedis } from "../../test/support/redis.ts"
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
  /** makes everybody's position change */
  readonly shift: () => Promise<void>
  /** makes the first in line be called; its answer is awaited after the call was heard */
  readonly call: () => Promise<void>
  /** what the one who was called does next */
  readonly answered: () => Promise<void>
}

/** A side with its crowd, and what each of it holds. */
interface Standing extends Side {
  readonly crowd: Crowd
  readonly bytes: number
}

/** How long it takes from the first to the last who is told a new position, in ms. */
const tick = async (crowd: Crowd, count: number, shift: () => Promise<void>): Promise<number> => {
  const { first, last } = await crowd.heard(count, '"position"', shift)
  return last - first
}

/** How long it takes until a start call is heard, in ms. */
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

/** So many are there before memory is looked at: what the first ones bring is the program's, not theirs. */
const FIRST = 1_000

/** Lets the crowd gather, and measures what each of it takes. */
const stand = async (side: Side): Promise<Standing> => {
  const { paths, server } = side
  const crowd = makeCrowd(server.url)
  await crowd.gather(paths.slice(0, FIRST))
  await sleep(1_000)
  const before = await residentOf(server)
  await crowd.gather(paths.slice(FIRST))
  await sleep(3_000)
  return { ...side, crowd, bytes: ((await residentOf(server)) - before) / (paths.length - FIRST) }
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

interface Seen {
  readonly bytes: number
  readonly spans: Array<number>
  readonly calls: Array<number>
}

/** Both sides stand at once and take turns: what else the machine does then slows both alike. */
const play = async (platform: string, count: number): Promise<Record<Name, Seen>> => {
  const servers: Array<Server> = []
  const stores: Array<RedisServer> = []
  const crowds: Array<Crowd> = []
  const begin = async (name: Name): Promise<Standing> => {
    const redis = await startRedis()
    stores.push(redis)
    const server =
      name === "ws"
        ? await startYardstick("ws", redis.url, {}, collecting)
        : await startGate(redis.url, platform, {}, collecting)
    servers.push(server)
    const standing = await stand(
      name === "ws" ? bare(server, count) : gateSide(server, await queueUp(server.url, count)),
    )
    crowds.push(standing.crowd)
    return standing
  }
  try {
    const sides = { ws: await begin("ws"), gate: await begin("gate") }
    const seenOf = ({ bytes }: Standing): Seen => ({ bytes, spans: [], calls: [] })
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
  const seen: Record<Name, Array<Seen>> = { ws: [], gate: [] }
  try {
    for (let round = 0; round < rounds; round++) {
      const played = await play(platform.url, count)
      for (const name of names) {
        seen[name].push(played[name])
        console.error(
          `push ${name}: ${Math.round(played[name].bytes)} bytes a connection, ${median(played[name].spans).toFixed()} ms a tick`,
        )
      }
    }
  } finally {
    platform.close()
  }
  const of = (pick: (each: Seen) => number) => ({ ws: seen.ws.map(pick), gate: seen.gate.map(pick) })
  const memory: Figures = { name: `${count} waiting, memory of each`, unit: "KB", of: of((s) => s.bytes / 1000) }
  const ticks: Figures = { name: `a position to ${count}`, unit: "ms, first to last", of: of((s) => median(s.spans)) }
  const calls: Figures = {
    name: `webhook to start call, ${count} waiting`,
    unit: "ms, median",
    of: of((s) => median(s.calls)),
  }
  return {
    figures: [memory, ticks, calls],
    ratios: [
      figure("memory of a waiting connection with its ticket, KB", memory.of.gate ?? [], { atMost: 11 }),
      ratio(ticks, "gate", "ws", { atMost: 1.3 }),
      ratio(calls, "gate", "ws", { atMost: 3 }),
    ],
  }
}
