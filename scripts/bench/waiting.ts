/**
 * What waiting costs: callers who only wait, nothing changes, for at least a minute. CPU of the gates and of Redis, and the commands that
 * run inside Redis, above the same gates with nobody waiting.
 *
 *     node scripts/bench/run.ts waiting [--sizes 1000,10000,100000] [--seconds 60] [--before DIR] [--held]
 *
 * `--before` is another built checkout, measured in the same run. Callers are connected by WebSocket; with `--held`, and above what
 * file descriptors allow, the gates hold them without sockets (`servers/holder.ts`). Also the memory of a connection, as resident memory and
 * as heap, and of a ticket in Redis.
 */
import { resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type RedisServer, startRedis } from "../../test/harness/redis.ts"
import { cpuOf, cpuOfAll } from "./support/cpu.ts"
import { type Crowd, makeCrowd } from "./support/crowd.ts"
import { fill, type Networks } from "./support/fill.ts"
import { FIRST, startHolders } from "./support/holders.ts"
import { collecting, type Memory, memoryOf } from "./support/memory.ts"
import { startPlatform } from "./support/platform.ts"
import { queueCallers, takeSlot } from "./support/queue-up.ts"
import { type Figures, type Found, figure } from "./support/report.ts"
import { startGate } from "./support/servers.ts"

const here = resolve(import.meta.dirname, "../..")

/** A process may have 20,000 descriptors here, and a gate needs some for itself. */
const CALLERS_PER_GATE = 15_000
const CONNECTED_AT_MOST = 100_000
const HOLDERS_AT_MOST = 6
const CONNECT_AT_ONCE = 1_000
/** Connections of a gate before its memory is measured for the first time, because the first ones also load code. */
const BASELINE = 1_000
/** With fewer, the memory of one is not told. */
const MEASURED = 5 * BASELINE
/** How many tickets are queued to measure the memory of one. */
const TICKETS = 1_000_000
/** % of a core, where each connection is pinged more often than every 30 s. */
const GATE_AT_MOST = 2
/** `Queue.NetworkShare`: no fair shares. */
const DEFAULT_SHARE = 1
/** Until everything that a new connection causes is done. */
const SETTLE_MILLIS = 10_000
/** And for each caller: the gates ask once for each of their new tickets, some 10,000 a second on a busy machine (ms). */
const SETTLE_MILLIS_PER_CALLER = 0.1

/** Gates that can be filled. */
interface Gates {
  readonly pids: ReadonlyArray<number>
  /** queues this many callers; the memory of one more connection, where there are enough */
  readonly fill: (count: number) => Promise<Memory | undefined>
  readonly stop: () => Promise<void>
}

const startHeld = async (root: string, redis: RedisServer, count: number): Promise<Gates> => {
  const { hold, pids, stop } = await startHolders(root, redis, count)
  // one more, who takes the slot
  return {
    pids,
    stop,
    fill: async (callers) => {
      await hold(FIRST, callers + 1)
      return undefined
    },
  }
}

const startConnected = async (root: string, redis: RedisServer, platform: string, count: number): Promise<Gates> => {
  const gates = await Promise.all(
    Array.from({ length: count }, () =>
      startGate(redis.url, platform, { Queue__DisconnectGraceSeconds: "60" }, { nodeArgs: collecting, root }),
    ),
  )
  const crowds: Array<Crowd> = []
  return {
    pids: gates.flatMap(({ pids }) => pids),
    fill: async (callers) => {
      const [first] = gates
      if (first !== undefined) await takeSlot(first.url)
      const each = Math.ceil(callers / count)
      let before: Memory | undefined
      for (const [n, gate] of gates.entries()) {
        const crowd = makeCrowd(gate.url)
        crowds.push(crowd)
        const end = Math.min(callers, (n + 1) * each)
        for (let from = n * each; from < end; from += CONNECT_AT_ONCE) {
          const tickets = await queueCallers(gate.url, from, Math.min(CONNECT_AT_ONCE, end - from))
          await crowd.gather(tickets.map((ticket) => `/api/session/${ticket}/events`))
          // of the first gate alone
          if (n === 0 && from + CONNECT_AT_ONCE === BASELINE && each >= MEASURED) before = await memoryOf(gate)
        }
      }
      if (before === undefined || first === undefined) return undefined
      await sleep(SETTLE_MILLIS)
      const after = await memoryOf(first)
      const more = Math.min(each, callers) - BASELINE
      return { resident: (after.resident - before.resident) / more, heap: (after.heap - before.heap) / more }
    },
    stop: async () => {
      for (const crowd of crowds) crowd.close()
      for (const gate of gates) await gate.stop()
    },
  }
}

interface Cost {
  /** per second of a core */
  readonly redis: number
  readonly gates: number
  /** per second, those inside rules included */
  readonly commands: number
  /** of Redis' memory */
  readonly bytes: number
  readonly connection?: Memory | undefined
}

const seen = async (redis: RedisServer, gates: Gates) => {
  const stats = await redis.command("INFO", "commandstats")
  const memory = await redis.command("INFO", "memory")
  return {
    at: performance.now() / 1_000,
    redis: cpuOf(redis.pid()),
    gates: cpuOfAll(gates.pids),
    commands: [...stats.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0),
    bytes: Number(/used_memory:(\d+)/.exec(memory)?.[1]),
  }
}

const costOver = async (redis: RedisServer, gates: Gates, seconds: number): Promise<Cost> => {
  const before = await seen(redis, gates)
  await sleep(seconds * 1_000)
  const after = await seen(redis, gates)
  const passed = after.at - before.at
  return {
    redis: (after.redis - before.redis) / passed,
    gates: (after.gates - before.gates) / passed,
    commands: (after.commands - before.commands) / passed,
    bytes: after.bytes,
  }
}

/** What `size` waiting callers cost, above nobody. */
const measure = async (root: string, size: number, seconds: number, held: boolean, platform: string): Promise<Cost> => {
  const redis = await startRedis()
  try {
    const count = Math.min(Math.ceil(size / CALLERS_PER_GATE), held ? HOLDERS_AT_MOST : Number.POSITIVE_INFINITY)
    const gates = held ? await startHeld(root, redis, count) : await startConnected(root, redis, platform, count)
    try {
      await sleep(SETTLE_MILLIS)
      const idle = await costOver(redis, gates, Math.min(seconds, 30))
      const connection = await gates.fill(size)
      await sleep(SETTLE_MILLIS + size * SETTLE_MILLIS_PER_CALLER)
      const waiting = Number(await redis.command("EVAL", WAITING, "0"))
      if (waiting !== size) throw new Error(`${waiting} callers wait, not ${size}`)
      const full = await costOver(redis, gates, seconds)
      return {
        redis: full.redis - idle.redis,
        gates: full.gates - idle.gates,
        commands: full.commands - idle.commands,
        bytes: full.bytes - idle.bytes,
        connection,
      }
    } finally {
      await gates.stop()
    }
  } finally {
    await redis.dispose()
  }
}

/** The memory of Redis for each of many waiting tickets (bytes). */
const ticketBytes = async (networks: Networks): Promise<number> => {
  const redis = await startRedis()
  try {
    const used = async () => Number(/used_memory:(\d+)/.exec(await redis.command("INFO", "memory"))?.[1])
    const empty = await used()
    await fill(redis, TICKETS, networks, DEFAULT_SHARE)
    return ((await used()) - empty) / TICKETS
  } finally {
    await redis.dispose()
  }
}

/** How many tickets wait in all queues of a server. */
const WAITING = `local found = 0
for _, key in ipairs(redis.call("KEYS", "*:waiting")) do found = found + redis.call("ZCARD", key) end
return found`

export const waiting = async (options: {
  readonly sizes: ReadonlyArray<number>
  readonly seconds: number
  readonly before: string | undefined
  readonly held: boolean
}): Promise<Found> => {
  const roots = { ...(options.before === undefined ? {} : { before: resolve(options.before) }), now: here }
  const platform = await startPlatform()
  const figures: Array<Figures> = []
  const ratios: Array<Found["ratios"][number]> = []
  try {
    for (const size of options.sizes) {
      const held = options.held || size > CONNECTED_AT_MOST
      const found: Record<string, Cost> = {}
      for (const [name, root] of Object.entries(roots)) {
        const cost = await measure(root, size, options.seconds, held, platform.url).catch((error: unknown) => {
          // with so many, Redis does not answer the version before in time
          if (name !== "before") throw error
          console.error(`waiting ${size} before: ${error}`)
        })
        if (cost === undefined) continue
        found[name] = cost
        console.error(
          `waiting ${size} ${held ? "held" : "connected"} ${name}: Redis ${(cost.redis * 100).toFixed(2)} % of a core, gates ${(cost.gates * 100).toFixed(2)} %, ${Math.round(cost.commands)} commands a second, ${Math.round(cost.bytes / size)} bytes a ticket`,
        )
      }
      const of = (pick: (cost: Cost) => number) =>
        Object.fromEntries(Object.entries(found).map(([name, cost]) => [name, [pick(cost)]]))
      const how = `${size} waiting, ${held ? "held" : "connected"}`
      figures.push(
        { name: `${how}: Redis`, unit: "% of a core", of: of(({ redis }) => redis * 100) },
        { name: `${how}: gates`, unit: "% of a core", of: of(({ gates }) => gates * 100) },
        { name: `${how}: commands inside Redis`, unit: "a second", of: of(({ commands }) => commands) },
        { name: `${how}: memory of Redis`, unit: "bytes a ticket", of: of(({ bytes }) => bytes / size) },
      )
      if (found.now?.connection !== undefined) {
        const heap = of(({ connection }) => (connection?.heap ?? Number.NaN) / 1_000)
        const resident = of(({ connection }) => (connection?.resident ?? Number.NaN) / 1_000)
        figures.push({ name: `${how}: heap of a connection`, unit: "KB", of: heap })
        figures.push({ name: `${how}: resident memory of a connection`, unit: "KB", of: resident })
        ratios.push(figure(`${how}: resident memory of a connection, KB`, resident.now ?? [], { atMost: 4.5 }))
      }
      const now = found.now
      if (now === undefined) continue
      ratios.push(
        figure(`${how}: Redis, % of a core`, [now.redis * 100], { atMost: size <= 10_000 ? 0.2 : 1 }),
        figure(
          `${how}: a gate, % of a core per 10,000`,
          [(now.gates * 100 * 10_000) / size],
          held ? undefined : { atMost: GATE_AT_MOST },
        ),
      )
    }
    ratios.push(
      figure("Redis memory of a waiting ticket, bytes", [await ticketBytes("shared")], { atMost: 700 }),
      figure("the same, each of another network", [await ticketBytes("own")], { atMost: 750 }),
    )
  } finally {
    platform.close()
  }
  return { figures, ratios }
}
