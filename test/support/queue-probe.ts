/**
 * Looks inside a campaign's data without touching it: a script of the tests alone, as twins like those of the queue.
 *
 * A hash is read field by field, for the tickets and sessions that the caller knows of, and counted; `readState` finds what
 * nobody knows of by its count.
 */

import { KEY_COUNT } from "../../src/queue/step.ts"
import type { Reply, Script } from "../../src/Store.ts"
import type { MemoryDb } from "../../src/store/MemoryDb.ts"
import { integer, list, text } from "../../src/store/reply.ts"

const META = [
  "seq",
  "lease",
  "live",
  "avg",
  "rest",
  "restn",
  "audit",
  "swept",
  "mercy",
  "forgiven",
  "paused",
  "draining",
  "trail",
  "passed",
  "withdrawn",
  "started",
  "doubts",
  "asked",
  "disrupted",
  "probe",
]

/** A ticket's record as it is stored. */
export interface Record {
  readonly state: string
  readonly seq: number
  readonly lease: string
  readonly instance: string
  readonly caller: string
  readonly since: number
  /** when it was called, without the outages of all gates */
  readonly calledAt: number
  /** empty where the ticket has none */
  readonly network: string
}

export interface QueueState {
  readonly meta: ReadonlyMap<string, number>
  readonly tickets: ReadonlyMap<string, Record>
  readonly data: ReadonlyMap<string, string>
  /** session to ticket */
  readonly sessions: ReadonlyMap<string, string>
  readonly waiting: ReadonlyMap<string, number>
  readonly presence: ReadonlyMap<string, number>
  readonly leases: ReadonlyMap<string, number>
  readonly over: ReadonlyMap<string, number>
  readonly forget: ReadonlyMap<string, number>
  readonly settle: ReadonlyMap<string, number>
  /** `network seq id` of those that were looked at */
  readonly passed: ReadonlySet<string>
  /** `w` or `h` and the network, to how many of it wait or hold a slot */
  readonly networks: ReadonlyMap<string, number>
  /** waiting ids that are not called, by the time until when */
  readonly parked: ReadonlyMap<string, number>
  /** gates by the time when each was heard of last */
  readonly gates: ReadonlyMap<string, number>
}

/** Where the starts in doubt of so many leases would be. */
export const doubtIds = (leases: number): ReadonlyArray<string> => Array.from({ length: leases }, (_, n) => `?${n + 1}`)

/**
 * KEYS those of a queue · ARGV 1 number of tickets · 2… tickets, then session ids
 * Reply `[[meta, length], [tickets, length], [data, length], [sessions, length], waiting, presence, leases, over, forget,
 * settle, passed, [networks, length], parked, gates]`, all of them lists of pairs
 */
export const probe: Script = {
  name: "test.probe",
  numberOfKeys: KEY_COUNT,
  lua: `-- test.probe
local function hash(key, fields, decode)
  local found = {}
  for _, field in ipairs(fields) do
    local value = redis.call('HGET', key, field)
    if value then found[#found + 1] = {field, decode and cjson.decode(value) or value} end
  end
  return {found, redis.call('HLEN', key)}
end
local function zset(key)
  local found, flat = {}, redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #flat, 2 do found[#found + 1] = {flat[i], flat[i + 1]} end
  return found
end
local tickets, sessions = {}, {}
for i = 2, #ARGV do
  local into = i <= tonumber(ARGV[1]) + 1 and tickets or sessions
  into[#into + 1] = ARGV[i]
end
local networks, seen = {}, {}
for _, id in ipairs(tickets) do
  local record = redis.call('HGET', KEYS[2], id)
  local network = record and cjson.decode(record)[8]
  if network and not seen[network] then
    seen[network] = true
    networks[#networks + 1], networks[#networks + 2] = 'w' .. network, 'h' .. network
  end
end
return {
  hash(KEYS[1], {${META.map((field) => `'${field}'`).join(", ")}}), hash(KEYS[2], tickets, true), hash(KEYS[3], tickets),
  hash(KEYS[7], sessions), zset(KEYS[4]), zset(KEYS[5]), zset(KEYS[6]), zset(KEYS[8]), zset(KEYS[9]), zset(KEYS[10]),
  zset(KEYS[11]), hash(KEYS[12], networks), zset(KEYS[13]), zset(KEYS[14])
}
`,
  memory: (db, keys, [count = "0", ...ids]) => {
    const key = (n: number): string => keys[n - 1] ?? ""
    const tickets = ids.slice(0, Number(count))
    const sessions = ids.slice(Number(count))
    const hash = (
      n: number,
      fields: ReadonlyArray<string>,
      decode: (value: string) => Reply = (value) => value,
    ): Reply => {
      const found: Array<Reply> = []
      for (const field of fields) {
        const value = db.hget(key(n), field)
        if (value !== undefined) found.push([field, decode(value)])
      }
      return [found, db.hlen(key(n))]
    }
    const networks = new Set<string>()
    for (const id of tickets) {
      const record: ReadonlyArray<string> = JSON.parse(db.hget(key(2), id) ?? "[]")
      if (record[7] !== undefined) networks.add(record[7])
    }
    return [
      hash(1, META),
      hash(2, tickets, (value) => JSON.parse(value)),
      hash(3, tickets),
      hash(7, sessions),
      ...[4, 5, 6, 8, 9, 10, 11].map((n) => zset(db, key(n))),
      hash(
        12,
        [...networks].flatMap((network) => [`w${network}`, `h${network}`]),
      ),
      zset(db, key(13)),
      zset(db, key(14)),
    ]
  },
}

const zset = (db: MemoryDb, key: string): Reply =>
  db
    .zrangebyscore(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
    .map((member) => [member, String(db.zscore(key, member))])

const pairs = <A>(reply: Reply | undefined, read: (value: Reply | undefined) => A): ReadonlyMap<string, A> =>
  new Map(list(reply).map((pair) => [text(list(pair)[0]), read(list(pair)[1])]))

const record = (reply: Reply | undefined): Record => {
  const [state, seq, lease, instance, caller, since, , network, , calledAt] = list(reply).map(text)
  return {
    state: state ?? "",
    seq: Number(seq),
    lease: lease ?? "",
    instance: instance ?? "",
    caller: caller ?? "",
    since: Number(since),
    calledAt: Number(calledAt ?? since),
    network: network ?? "",
  }
}

/** The gates of the probe's reply. */
export const gatesOf = (reply: Reply): QueueState["gates"] => pairs(list(reply)[13], integer)

/** Reads the probe's reply; throws when there is a field whose ticket or session the caller does not know of. */
export const readState = (reply: Reply): QueueState => {
  const [meta, tickets, data, sessions, waiting, presence, leases, over, forget, settle, passed, networks, parked] =
    list(reply)
  const hash = <A>(name: string, found: Reply | undefined, read: (value: Reply | undefined) => A) => {
    const fields = pairs(list(found)[0], read)
    if (fields.size !== integer(list(found)[1])) throw new Error(`${name} has a field of nobody`)
    return fields
  }
  return {
    meta: hash("meta", meta, integer),
    tickets: hash("tickets", tickets, record),
    data: hash("data", data, text),
    sessions: hash("sessions", sessions, text),
    waiting: pairs(waiting, integer),
    presence: pairs(presence, integer),
    leases: pairs(leases, integer),
    over: pairs(over, integer),
    forget: pairs(forget, integer),
    settle: pairs(settle, integer),
    passed: new Set(pairs(passed, integer).keys()),
    networks: hash("networks", networks, integer),
    parked: pairs(parked, integer),
    gates: gatesOf(reply),
  }
}
