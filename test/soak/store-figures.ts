/**
 * The gates' data in Redis: keys by kind, their lifetimes, and the sizes of a campaign's structures, which have no lifetime because
 * the sweep empties them.
 */
import type { Redis } from "ioredis"
import { RETENTION_MILLIS } from "../../src/fifo-queue/rules/shared/line.ts"
import { OPEN } from "../../src/rate-limiter/rules/units.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

interface Kind {
  readonly name: string
  readonly pattern: RegExp
  /** the maximum lifetime of such a key in ms; undefined for a permanent key with bounded content */
  readonly longest: number | undefined
}

/** Every kind of key. */
export const KINDS: ReadonlyArray<Kind> = [
  { name: "campaign", pattern: /^vg:2:\{business-1%2Fcampaign-1\}:[a-zA-Z]+$/, longest: undefined },
  { name: "console", pattern: /^vg:2:\{console\}:(instances|about|counts|refusals)$/, longest: undefined },
  { name: "gates", pattern: /^vg:\{gates\}:(alive|about|settings|seen|campaigns|store)$/, longest: undefined },
  { name: "caller log", pattern: /^vg:\{[^}]+\}:log$/, longest: DAY },
  { name: "caller refunds", pattern: /^vg:\{[^}]+\}:refunds$/, longest: HOUR },
  { name: "hub token", pattern: /^vg:\{hub:[^}]+\}:token$/, longest: MINUTE },
  { name: "hub browser", pattern: /^vg:\{hub:[^}]+\}:tickets$/, longest: DAY },
  { name: "address facts", pattern: /^vg:ip:ipapi\.is:/, longest: 14 * DAY },
]
const kindOf = (key: string): Kind | undefined => KINDS.find(({ pattern }) => pattern.test(key))

/** The prefix of all keys of the campaign. */
export const CAMPAIGN = "vg:2:{business-1%2Fcampaign-1}:"

const HASHES = ["meta", "tickets", "data", "sessions"] as const
const SETS = ["waiting", "presence", "leases", "endedSessions", "forget", "settlements", "auditLog", "parked"] as const
export type Structure =
  | (typeof HASHES)[number]
  | (typeof SETS)[number]
  | "live"
  | "doubts"
  | "ring"
  | "instances"
  | "about"

export interface StoreFigures {
  /** number of keys of each kind, and of unknown ones */
  readonly keys: Readonly<Record<string, number>>
  /** tickets that count as open for their callers */
  readonly open: number
  /** sizes of the campaign's and the console's structures */
  readonly sizes: Readonly<Record<Structure, number>>
  readonly usedMemory: number
  readonly clients: number
  readonly channels: number
  readonly scripts: number
}

const field = (info: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? Number.NaN)

const scan = async function* (redis: Redis): AsyncGenerator<ReadonlyArray<string>> {
  let cursor = "0"
  do {
    const [next, keys] = await redis.scan(cursor, "COUNT", 1_000)
    cursor = next
    if (keys.length > 0) yield keys
  } while (cursor !== "0")
}

export const storeFigures = async (redis: Redis): Promise<StoreFigures> => {
  const keys: Record<string, number> = { unknown: 0 }
  for (const { name } of KINDS) keys[name] = 0
  let open = 0
  for await (const some of scan(redis)) {
    for (const key of some) {
      const name = kindOf(key)?.name ?? "unknown"
      keys[name] = (keys[name] ?? 0) + 1
    }
    const logs = some.filter((key) => kindOf(key)?.name === "caller log")
    const counts = logs.reduce((pipe, key) => pipe.zcount(key, OPEN, "+inf"), redis.pipeline()).exec()
    for (const count of await numbers(counts)) open += count
  }
  const hash = (name: string): Promise<number> => redis.hlen(CAMPAIGN + name)
  const set = (name: string): Promise<number> => redis.zcard(CAMPAIGN + name)
  const [info, channels] = await Promise.all([redis.info(), redis.pubsub("CHANNELS", "vg:*")])
  const [meta, tickets, data, sessions] = await Promise.all(HASHES.map(hash))
  const [waiting, presence, leases, endedSessions, forget, settlements, auditLog, parked] = await Promise.all(
    SETS.map(set),
  )
  const [live, doubts, ring, instances, about] = await Promise.all([
    redis.hget(`${CAMPAIGN}meta`, "live"),
    redis.hget(`${CAMPAIGN}meta`, "doubts"),
    redis.hlen("vg:2:{console}:counts"),
    redis.zcard("vg:2:{console}:instances"),
    redis.hlen("vg:2:{console}:about"),
  ])
  const n = (value: number | undefined): number => value ?? Number.NaN
  return {
    keys,
    open,
    sizes: {
      meta: n(meta),
      tickets: n(tickets),
      data: n(data),
      sessions: n(sessions),
      waiting: n(waiting),
      presence: n(presence),
      leases: n(leases),
      endedSessions: n(endedSessions),
      forget: n(forget),
      settlements: n(settlements),
      auditLog: n(auditLog),
      parked: n(parked),
      live: Number(live ?? 0),
      doubts: Number(doubts ?? 0),
      ring,
      instances,
      about,
    },
    usedMemory: field(info, "used_memory"),
    clients: field(info, "connected_clients"),
    channels: Array.isArray(channels) ? channels.length : Number.NaN,
    scripts: field(info, "number_of_cached_scripts"),
  }
}

/** The result of checking every key. */
export interface KeyAudit {
  /** keys without a lifetime whose kind has one, and unknown keys */
  readonly forEver: ReadonlyArray<string>
  /** keys with a longer lifetime than their kind allows */
  readonly tooLong: ReadonlyArray<string>
  /** terminal tickets that should have been deleted */
  readonly overdue: number
  /** bytes of keys with their values by kind, and the server's other memory without its key tables */
  readonly bytes: Readonly<Record<string, number>>
  readonly rest: number
  /** the longest remaining lifetime by kind, ms */
  readonly lifetimes: Readonly<Record<string, number>>
}

const numbers = async (replies: Promise<Array<[Error | null, unknown]> | null>): Promise<ReadonlyArray<number>> =>
  ((await replies) ?? []).map(([error, value]) => {
    if (error !== null) throw error
    return Number(value)
  })

/** From MEMORY STATS, a flat list of names and values: the bytes of the tables of keys and of their lifetimes. */
const tableBytes = (stats: unknown): number => {
  if (!Array.isArray(stats)) return Number.NaN
  const database: unknown = stats[stats.indexOf("db.0") + 1]
  if (!Array.isArray(database)) return 0
  const of = (name: string): number => Number(database[database.indexOf(name) + 1])
  return of("overhead.hashtable.main") + of("overhead.hashtable.expires")
}

/** Bytes per key that both MEMORY USAGE and the table's overhead include: its entry and its object. */
const COUNTED_TWICE = 24 + 16

export const auditKeys = async (redis: Redis, now: number): Promise<KeyAudit> => {
  const forEver: Array<string> = []
  const tooLong: Array<string> = []
  const bytes: Record<string, number> = {}
  const lifetimes: Record<string, number> = {}
  let total = 0
  let held = 0
  for await (const keys of scan(redis)) {
    const lives = await numbers(keys.reduce((pipe, key) => pipe.pttl(key), redis.pipeline()).exec())
    const sizes = await numbers(
      keys.reduce((pipe, key) => pipe.call("MEMORY", "USAGE", key, "SAMPLES", "0"), redis.pipeline()).exec(),
    )
    keys.forEach((key, i) => {
      const kind = kindOf(key)
      const life = lives[i] ?? -2
      if (life === -2) return
      const name = kind?.name ?? "unknown"
      total++
      held += sizes[i] ?? 0
      bytes[name] = (bytes[name] ?? 0) + (sizes[i] ?? 0)
      lifetimes[name] = Math.max(lifetimes[name] ?? -1, life)
      if (kind === undefined || (kind.longest !== undefined && life === -1)) forEver.push(key)
      else if (kind.longest !== undefined && life > kind.longest) tooLong.push(`${key} (${life} ms)`)
    })
  }
  const [info, stats, overdue] = await Promise.all([
    redis.info("memory"),
    redis.call("MEMORY", "STATS"),
    // the sweep, once a second, deletes them
    redis.zcount(`${CAMPAIGN}forget`, "-inf", now - 30_000),
  ])
  const rest = field(info, "used_memory") - held - tableBytes(stats) + total * COUNTED_TWICE
  return { forEver, tooLong, overdue, bytes, rest, lifetimes }
}

/** How long after the end of the last ticket the queue has deleted it. */
export const FORGOTTEN_MILLIS = RETENTION_MILLIS
