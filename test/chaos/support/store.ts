/** Reads the store beside the gates, on its own connection, in one atomic step. */
import type { Cluster, Redis } from "ioredis"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { open } from "../../../src/store/redis/client.ts"
import { connectionTo } from "../../harness/stores.ts"
import { contradictions } from "../../model/invariants.ts"
import { type QueueState, recordOf } from "../../model/queue-state.ts"

/** A hash or a sorted set: names and values. */
type Pairs = ReadonlyArray<readonly [name: string, value: string]>

const isText = (found: unknown): found is string => typeof found === "string"

/** The answer to `HGETALL` is an object in ioredis, that to `ZRANGE` a list. */
const pairsIn = (found: unknown): Pairs => {
  if (typeof found !== "object" || found === null) return []
  if (!Array.isArray(found)) return Object.entries(found).map(([name, value]) => [name, String(value)] as const)
  const flat = found.filter(isText)
  return flat.flatMap((name, n) => (n % 2 === 0 ? [[name, flat[n + 1] ?? ""] as const] : []))
}

/**
 * The hashes and sorted sets under these keys, in one transaction; nothing for a text. A script would leave garbage in Redis that the gates'
 * steps collect, and their longest steps are measured (`slowest.ts`).
 *
 * @returns undefined from a replica, whose content may be old
 */
const snapshot = async (
  client: Redis | Cluster,
  keys: ReadonlyArray<string>,
): Promise<ReadonlyArray<Pairs> | undefined> => {
  const transaction = client.multi()
  // a key has one of these kinds, and answers the other command with an error
  for (const key of keys) transaction.hgetall(key).zrange(key, "0", "-1", "WITHSCORES")
  if (!client.isCluster) transaction.role()
  const answers = await transaction.exec()
  if (answers === null) return undefined
  const role = client.isCluster ? undefined : answers.at(-1)?.[1]
  if (Array.isArray(role) && role[0] !== "master") return undefined
  return keys.map((_, n) =>
    answers.slice(2 * n, 2 * n + 2).flatMap(([error, found]) => (error === null ? pairsIn(found) : [])),
  )
}

/** The campaign that every gate of `settingsFor` serves. */
export const DEFAULT_CAMPAIGN = "campaign-1"

/** Prefix of what a scenario writes there itself, which is ignored. */
export const JUNK = "junk-"

const pairsOf = <A>(found: Pairs | undefined, read: (value: string) => A): ReadonlyMap<string, A> =>
  new Map((found ?? []).flatMap(([name, value]) => (name.startsWith(JUNK) ? [] : [[name, read(value)] as const])))

const same = (value: string): string => value

const stateOf = (found: ReadonlyArray<Pairs>): QueueState => {
  const [meta, tickets, data, waiting, presence, leases, sessions, ended, forget, settlements, passed, ...rest] = found
  const [networks, parked, gates, , , , near, crowds, , holders, changes, , , limits, charges, unpaid] = rest
  return {
    meta: pairsOf(meta, Number),
    tickets: pairsOf(tickets, (json) => recordOf(JSON.parse(json))),
    data: pairsOf(data, same),
    sessions: pairsOf(sessions, same),
    waiting: pairsOf(waiting, Number),
    presence: pairsOf(presence, Number),
    leases: pairsOf(leases, Number),
    endedSessions: pairsOf(ended, Number),
    forget: pairsOf(forget, Number),
    settlements: pairsOf(settlements, Number),
    passed: new Set(pairsOf(passed, Number).keys()),
    near: pairsOf(near, Number),
    crowds: new Set(pairsOf(crowds, Number).keys()),
    networks: pairsOf(networks, Number),
    parked: pairsOf(parked, Number),
    gates: pairsOf(gates, Number),
    holders: pairsOf(holders, Number),
    changes: pairsOf(changes, Number),
    limits: pairsOf(limits, Number),
    charges: pairsOf(charges, Number),
    unpaid: pairsOf(unpaid, Number),
  }
}

export interface StoreView {
  /** its current content, or undefined while the store is down */
  readonly look: () => Promise<QueueState | undefined>
  /** the same, and what a hash of the campaign has at that moment */
  readonly lookWith: (
    hash: string,
  ) => Promise<{ readonly state: QueueState; readonly hash: ReadonlyArray<string> } | undefined>
  readonly dispose: () => Promise<void>
}

/** `campaign` is its `WebCampaignId`, `business` its `BusinessId`; of a vendor's campaign, the agent and the vendor. */
export const viewStore = (url: string, campaign = DEFAULT_CAMPAIGN, business = "business-1"): StoreView => {
  const keys = keysOf(`${business}/${campaign}`)
  const client = open(connectionTo(url), () => 100)
  // each look says whether the store answers
  client.on("error", () => {})
  const connected = client.connect().catch(() => {})
  const read = async (keys: ReadonlyArray<string>): Promise<ReadonlyArray<Pairs> | undefined> => {
    await connected
    return await snapshot(client, keys).catch(() => undefined)
  }
  return {
    look: async () => {
      const found = await read(keys)
      return found === undefined ? undefined : stateOf(found)
    },
    lookWith: async (hash) => {
      const found = await read([...keys, hash])
      return found === undefined ? undefined : { state: stateOf(found), hash: found.at(-1)?.flat() ?? [] }
    },
    dispose: async () => client.disconnect(),
  }
}

export interface StoreWatch {
  /** all violations, each once */
  readonly wrongs: () => ReadonlyArray<string>
  /** the most leases held at once */
  readonly peak: () => number
  /** tickets that had a second lease, and what is wrong with it; none where tickets may be called again */
  readonly secondLeases: () => ReadonlyMap<string, string>
  /** tickets that lost a slot without ending: their start failed, or may have happened */
  readonly putBack: () => ReadonlySet<string>
  /** whether start windows were renewed, after an outage that a gate noticed */
  readonly windowsAnew: () => boolean
  readonly dispose: () => Promise<void>
}

/**
 * Reads repeatedly: leases never exceed the slots, no ticket has two, and nothing contradicts itself. With `strict`
 * false a ticket may be called again, because the store may lose data, or the platform be at capacity.
 */
export const watchStore = (view: StoreView, slots: number, everyMillis = 100, strict = true): StoreWatch => {
  const wrongs = new Set<string>()
  let peak = 0
  let windowsAnew = false
  const leases = new Map<string, string>()
  const secondLeases = new Map<string, string>()
  const putBack = new Set<string>()
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      const state = await view.look()
      if (state !== undefined) {
        // the grace starts with them, and lasts longer than the time between two reads
        if ((state.meta.get("graceUntil") ?? 0) > 0) windowsAnew = true
        for (const [id, { lease }] of state.tickets) {
          const before = leases.get(id) ?? ""
          if (strict && before !== "" && before !== lease)
            secondLeases.set(id, `I5: a ticket had lease ${before}, then ${lease}`)
          leases.set(id, lease)
          // the data of a start in doubt begin with its ticket
          if (state.tickets.get(id)?.state === "doubt") putBack.add(state.tickets.get(id)?.ticket ?? "")
          if (state.tickets.get(id)?.state === "waiting" && lease !== "") putBack.add(id)
        }
        peak = Math.max(peak, state.leases.size)
        if (state.leases.size > slots) wrongs.add(`I1: ${state.leases.size} leases for ${slots} slots`)
        for (const wrong of contradictions(state)) wrongs.add(wrong)
      }
      await new Promise((resolve) => setTimeout(resolve, everyMillis))
    }
  })()
  return {
    wrongs: () => [...wrongs],
    peak: () => peak,
    secondLeases: () => secondLeases,
    putBack: () => putBack,
    windowsAnew: () => windowsAnew,
    dispose: async () => {
      stopped = true
      await watching
    },
  }
}
