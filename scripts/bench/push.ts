/**
 * Push with thousands waiting: memory of a connection with its ticket, a position for everybody, and the way from a webhook to
 * the start call, beside bare `ws` that holds as many and a bare publish-and-send.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../test/support/process.ts"
import { startRedis } from "../../test/support/redis.ts"
import { type Crowd, makeCrowd } from "./support/crowd.ts"
import { collecting, residentOf } from "./support/memory.ts"
import { startPlatform } from "./support/platform.ts"
import { queueUp, type Waiting } from "./support/queue-up.ts"
import { type Figures, type Found, figure, median, ratio } from "./support/report.ts"
import { type Server, startGate, startYardstick } from "./support/servers.ts"

const TICKS = 5
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

interface Seen {
  readonly bytes: number
  readonly spans: ReadonlyArray<number>
  readonly calls: ReadonlyArray<number>
}

/** How long it takes from the first to the last who is told a new position, in ms. */
const tick = async (crowd: Crowd, count: number, shift: () => Promise<void>): Promise<number> => {
  let told = 0
  let first = 0
  let last = 0
  crowd.listen((_, text, at) => {
    if (!text.includes('"position"')) return
    if (told++ === 0) first = at
    last = at
  })
  await shift()
  await eventually("everybody's position", () => told >= count)
  return last - first
}

/** How long it takes until a start call is heard, in ms. */
const call = async (crowd: Crowd, { answered, call }: Side): Promise<number> => {
  const heard = new Promise<number>((resolve) => {
    crowd.listen((_, text, at) => {
      if (text.includes("start_call")) resolve(at)
    })
  })
  const began = performance.now()
  const asked = call()
  const took = (await heard) - began
  await asked
  await answered()
  await sleep(10)
  return took
}

/** So many are there before memory is looked at: what the first ones bring is the program's, not theirs. */
const FIRST = 1_000

const look = async (side: Side): Promise<Seen> => {
  const { paths, server } = side
  const crowd = makeCrowd(server.url)
  try {
    await crowd.gather(paths.slice(0, FIRST))
    await sleep(1_000)
    const before = await residentOf(server)
    await crowd.gather(paths.slice(FIRST))
    await sleep(3_000)
    const bytes = ((await residentOf(server)) - before) / (paths.length - FIRST)
    const spans: Array<number> = []
    for (let n = 0; n < TICKS; n++) spans.push(await tick(crowd, paths.length - n - 1, side.shift))
    await sleep(2_500)
    const calls: Array<number> = []
    for (let n = 0; n < CALLS; n++) calls.push(await call(crowd, side))
    return { bytes, spans, calls }
  } finally {
    crowd.close()
  }
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

export const push = async (rounds: number, count: number): Promise<Found> => {
  const platform = await startPlatform()
  const seen: Record<"ws" | "gate", Array<Seen>> = { ws: [], gate: [] }
  try {
    for (let round = 0; round < rounds; round++) {
      for (const name of ["ws", "gate"] as const) {
        const redis = await startRedis()
        let server: Server | undefined
        try {
          server =
            name === "ws"
              ? await startYardstick("ws", redis.url, {}, collecting)
              : await startGate(redis.url, platform.url, {}, collecting)
          seen[name].push(
            await look(name === "ws" ? bare(server, count) : gateSide(server, await queueUp(server.url, count))),
          )
          console.error(`push ${name}: ${JSON.stringify(seen[name].at(-1)?.bytes)} bytes a connection`)
        } finally {
          await server?.stop()
          await redis.dispose()
        }
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
