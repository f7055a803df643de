/**
 * Watches whether Redis throws keys away. A Redis that evicts loses tickets, slots and limits without a word to anybody, so the policy
 * is read at every connect and the count of evicted keys every few seconds. The settings of a managed Redis may be hidden: INFO has both.
 */
import { Effect, Metric, Schedule, type Scope } from "effect"
import { Cluster, type Redis } from "ioredis"
import { monotonicMillis } from "../../lib/age.ts"
import { sendCommand } from "./send.ts"

const READ_EVERY = "5 seconds"
/** How often the log repeats that keys are thrown away (ms). */
const LOG_EVERY_MILLIS = 60_000

const evictedKeys = Metric.gauge("voicegate_store_evicted_keys", {
  description: "Keys that Redis has thrown away because its memory was full, since it started",
})
const mayEvict = Metric.gauge("voicegate_store_may_evict", {
  description: "1 if Redis throws keys away when its memory is full (maxmemory-policy), else 0",
})

/** What INFO says of a server; undefined fields are hidden. */
export interface Memory {
  readonly policy: string | undefined
  readonly limit: number
  readonly evicted: number
}

const field = (info: string, name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1]

const readOne = (server: Redis): Effect.Effect<Memory | undefined> =>
  sendCommand((done) => server.call("INFO", done)).pipe(
    Effect.map((reply) => {
      const info = String(reply)
      return {
        policy: field(info, "maxmemory_policy"),
        limit: Number(field(info, "maxmemory") ?? 0),
        evicted: Number(field(info, "evicted_keys") ?? 0),
      }
    }),
    // INFO is forbidden or renamed, or the server cannot be reached
    Effect.orElseSucceed(() => undefined),
  )

/** What is wrong, as a sentence without its full stop; empty if nothing is, or if the server does not tell. */
const evictionProblem = (servers: ReadonlyArray<Memory>): string => {
  const evicting = servers.find(({ limit, policy }) => limit > 0 && policy !== undefined && policy !== "noeviction")
  const evicted = servers.reduce((sum, each) => sum + each.evicted, 0)
  const remedy = "set maxmemory-policy noeviction, and keep memory free"
  if (evicting !== undefined) {
    const sofar = evicted === 0 ? "" : `; it has thrown away ${evicted} keys`
    return `Redis throws keys away when its memory is full (maxmemory-policy ${evicting.policy})${sofar}. Tickets, slots and limits are lost then: ${remedy}`
  }
  return ""
}

export interface Eviction {
  /** What is wrong, as a sentence without its full stop; empty if nothing is. */
  readonly problem: () => string
  /** Reads it now. Never fails. */
  readonly read: Effect.Effect<void>
}

/** @param isOpen whether the servers can be asked */
export const watchEviction = Effect.fnUntraced(function* (
  client: Redis | Cluster,
  isOpen: () => boolean,
): Effect.fn.Return<Eviction, never, Scope.Scope> {
  let problem = ""
  let policy = ""
  let evicted = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  const read = Effect.gen(function* () {
    const nodes = client instanceof Cluster ? client.nodes("master") : [client]
    const found = (yield* Effect.forEach(nodes, readOne, { concurrency: "unbounded" })).filter(
      (each) => each !== undefined,
    )
    if (found.length === 0) return
    problem = evictionProblem(found)
    const before = evicted
    evicted = found.reduce((sum, each) => sum + each.evicted, 0)
    const was = policy
    policy = problem === "" ? "" : (found.find((each) => each.policy !== "noeviction")?.policy ?? "")
    yield* Metric.update(evictedKeys, evicted)
    yield* Metric.update(mayEvict, problem === "" ? 0 : 1)
    const now = yield* monotonicMillis
    if (policy !== was && problem === "") yield* Effect.logInfo("Redis throws no keys away any more.")
    if (problem === "" || (policy === was && (evicted <= before || now - loggedAt < LOG_EVERY_MILLIS))) return
    loggedAt = now
    yield* Effect.logError(`${problem}.`)
  })
  yield* Effect.suspend(() => (isOpen() ? read : Effect.void)).pipe(
    Effect.schedule(Schedule.spaced(READ_EVERY)),
    Effect.forkScoped,
  )
  return { problem: () => problem, read }
})
