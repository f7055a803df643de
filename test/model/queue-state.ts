/**
 * A campaign's data, and how a test reads them without changing them: by a rule for tests only, whose Lua is written by hand.
 *
 * A hash is read field by field, for the tickets and sessions that the caller knows, and its fields are counted. If the
 * count is higher than expected, `readState` finds the unknown fields.
 */

import type { Ticket } from "../../src/fifo-queue/rules/shared/ticket.ts"
import type { MemoryDb } from "../../src/store/memory/MemoryDb.ts"
import type { Rule } from "../../src/store/Store.ts"

const META = [
  "seq",
  "lease",
  "live",
  "averageMillis",
  "backoffUntil",
  "backoffs",
  "auditUntil",
  "sweptAt",
  "unattended",
  "unattendedFrom",
  "unattendedUntil",
  "graceUntil",
  "forgivenAt",
  "paused",
  "pausedUntil",
  "draining",
  "auditLog",
  "passedSeq",
  "changed",
  "changedBefore",
  "changesFrom",
  "fairCap",
  "fairAt",
  "withdrawnUntil",
  "started",
  "doubts",
  "askedUntil",
  "unpaidUntil",
  "ownBudgetsAt",
  "disrupted",
  "probeUntil",
  "platform",
  "platformState",
  "startedAt",
  "failing",
  "failingSince",
  "refused",
  "refusedCallers",
  "heardAt",
  "watchedAt",
  "readsContradictedAt",
  "unreported",
  "unreportedSince",
  "platformLimit",
  "platformTries",
  "platformTryAt",
  "heldFrom",
  "heldSince",
  "stalledAt",
  "stallsSince",
  "openAt",
  "hoursAt",
  "events",
]

/** The terminal states of a ticket. */
export const TERMINAL: ReadonlySet<string> = new Set([
  ...[
    "ended",
    "left",
    "abandoned",
    "missed",
    "failed",
    "reclaimed",
    "removed",
    "stopped",
    "silent",
    "too_long",
    "budget",
    "closed",
  ],
])

/** A ticket's record with a value in each field. */
export interface Record {
  readonly state: Ticket["state"]
  readonly seq: number
  /** empty if it never had one */
  readonly lease: string
  readonly instance: string
  readonly caller: string
  readonly holds: boolean
  /** the attempt to start that was carried out last, or that its gate has given up; empty if there was none */
  readonly attempt: string
  /** 0 if it never had a slot */
  readonly since: number
  /** when it was called, not counting outages of all gates */
  readonly calledAt: number
  /** the current start window is longer, because the page was hidden */
  readonly extended: boolean
  /** empty if the ticket has none */
  readonly network: string
  readonly sessions: ReadonlyArray<string>
  /** by when the page must make the offer with which the session begins; 0 if it has begun */
  readonly offerBefore: number
  /** nobody has opened its session in time */
  readonly unopened: boolean
  /** when its call ends; 0 if it has no limit of its own */
  readonly endsAt: number
  /** a budget has no more for its call: it ends before its time limit */
  readonly spent: boolean
  /** the time limit of such a call; 0 if it has none */
  readonly limitedAt: number
  /** since when the call is billed to budgets; 0 while it has not begun, -1 if it is not billed */
  readonly billed: number
  readonly accepted: number
  /** 0 if no start of it failed, with a mark of -1 */
  readonly strikes: number
  readonly strikeMark: number
  readonly failures: number
  /** turns in a row that passed without a start while the platform could not be reached */
  readonly excusedTurns: number
  /** of a start in doubt: its ticket, and how often the platform did not know it; else empty and 0 */
  readonly ticket: string
  readonly looks: number
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
  readonly endedSessions: ReadonlyMap<string, number>
  readonly forget: ReadonlyMap<string, number>
  readonly settlements: ReadonlyMap<string, number>
  /** `network seq id` of examined tickets */
  readonly passed: ReadonlySet<string>
  /** waiting ids for which their network has room under its share, by their place */
  readonly near: ReadonlyMap<string, number>
  /** `network seq id` of waiting tickets with a network, while networks have shares */
  readonly crowds: ReadonlySet<string>
  /** `w` or `h` and the network, to the number of its tickets that wait or hold a slot */
  readonly networks: ReadonlyMap<string, number>
  /** waiting ids that are not called, by the time until when */
  readonly parked: ReadonlyMap<string, number>
  /** gates by the time when each was last seen */
  readonly gates: ReadonlyMap<string, number>
  /** the numbers of gates that hold connections, by the time of their last heartbeat */
  readonly holders: ReadonlyMap<string, number>
  /** ids by the change that was noted last */
  readonly changes: ReadonlyMap<string, number>
  /** live ids whose call has a time limit, by when the next thing is due */
  readonly limits: ReadonlyMap<string, number>
  /** what budgets must still be charged, by when it was owed first */
  readonly charges: ReadonlyMap<string, number>
  /** waiting ids whose callers have too little left of a budget of their own, by their place */
  readonly unpaid: ReadonlyMap<string, number>
}

/** A campaign of which nothing is stored yet. */
export const EMPTY: QueueState = {
  meta: new Map(),
  tickets: new Map(),
  data: new Map(),
  sessions: new Map(),
  waiting: new Map(),
  presence: new Map(),
  leases: new Map(),
  endedSessions: new Map(),
  forget: new Map(),
  settlements: new Map(),
  passed: new Set(),
  near: new Map(),
  crowds: new Set(),
  networks: new Map(),
  parked: new Map(),
  gates: new Map(),
  holders: new Map(),
  changes: new Map(),
  limits: new Map(),
  charges: new Map(),
  unpaid: new Map(),
}

/** A start in doubt is not a ticket: it has a slot, but no caller. */
export const isDoubt = (id: string): boolean => id.startsWith("?")

/** The ids of the starts in doubt that this many leases could have. */
export const doubtIds = (leases: number): ReadonlyArray<string> => Array.from({ length: leases }, (_, n) => `?${n + 1}`)

/** What to look for in the hashes of a campaign. */
export interface ProbeCall {
  readonly tickets: ReadonlyArray<string>
  readonly sessions: ReadonlyArray<string>
}

/** The requested fields that exist, and the number of all fields. */
interface Hash<A> {
  readonly found: ReadonlyArray<readonly [field: string, value: A]>
  readonly size: number
}

/** A sorted set, in order. */
type Scores = ReadonlyArray<readonly [member: string, score: number]>

/** The answer of a probe; the tickets' records as they are stored. */
interface Answered<Stored> {
  readonly meta: Hash<string>
  readonly tickets: Hash<Stored>
  readonly data: Hash<string>
  readonly sessions: Hash<string>
  readonly networks: Hash<string>
  readonly waiting: Scores
  readonly presence: Scores
  readonly leases: Scores
  readonly endedSessions: Scores
  readonly forget: Scores
  readonly settlements: Scores
  readonly passed: Scores
  readonly near: Scores
  readonly crowds: Scores
  readonly parked: Scores
  readonly gates: Scores
  readonly holders: Scores
  readonly changes: Scores
  readonly limits: Scores
  readonly charges: Scores
  readonly unpaid: Scores
}

export type Probed = Answered<Record>

/** `load` of the rules: how a call has ended, where the last release does not know it. */
const endOf = ({ ended, spent, state, tooLong }: Ticket): Ticket["state"] => {
  if (tooLong === true) return "too_long"
  return spent === true && state === "ended" ? "budget" : (ended ?? state)
}

export const recordOf = (ticket: Ticket): Record => ({
  state: endOf(ticket),
  seq: ticket.seq,
  lease: ticket.lease ?? "",
  instance: ticket.instance ?? "",
  caller: ticket.caller ?? "",
  holds: ticket.holds === true,
  attempt: ticket.attempt ?? "",
  since: ticket.since ?? 0,
  calledAt: ticket.calledAt ?? ticket.since ?? 0,
  extended: ticket.extended ?? false,
  network: ticket.network ?? "",
  sessions: ticket.sessions ?? [],
  offerBefore: ticket.offerBefore ?? 0,
  unopened: ticket.unopened === true,
  endsAt: ticket.endsAt ?? 0,
  spent: ticket.spent === true,
  limitedAt: ticket.limitedAt ?? 0,
  billed: ticket.billed ?? -1,
  accepted: ticket.accepted,
  strikes: ticket.strikes ?? 0,
  strikeMark: ticket.strikeMark ?? -1,
  failures: ticket.failures ?? 0,
  excusedTurns: ticket.excusedTurns ?? 0,
  ticket: ticket.ticket ?? "",
  looks: ticket.looks ?? 0,
})

/** The same text for the same answer, whichever store gave it. */
/** The fields of an object in the order of their names: Lua encodes them in any. */
const inOrder = (json: string): string =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(json)).sort(([a], [b]) => (a < b ? -1 : 1))))

const probedOf = ({ meta, tickets, ...answer }: Answered<Ticket>): Probed => ({
  ...answer,
  meta: {
    ...meta,
    found: meta.found.map(([field, value]) => [field, field === "platformState" ? inOrder(value) : value]),
  },
  tickets: { ...tickets, found: tickets.found.map(([id, ticket]) => [id, recordOf(ticket)]) },
})

/** Records that were read lately: most are the same at the next look. */
const lately = new Map<string, Ticket>()
const MOST_RECORDS = 10_000

const ticketIn = (record: string): Ticket => {
  const known = lately.get(record)
  if (known !== undefined) return known
  const ticket: Ticket = JSON.parse(record)
  if (lately.size >= MOST_RECORDS) lately.clear()
  lately.set(record, ticket)
  return ticket
}

const zset = (db: MemoryDb, key: string): Scores =>
  db.zrange(key, 0, Number.POSITIVE_INFINITY).map((member) => [member, db.zscore(key, member) ?? 0])

/** Keys: a campaign's. */
export const probe: Rule<object, ProbeCall, Probed> = {
  name: "test.probe",
  lua: `-- test.probe
local call = cjson.decode(ARGV[3])
local function hash(key, fields, isJson)
  local found = {}
  for _, field in ipairs(fields) do
    local value = redis.call('HGET', key, field)
    if value then
      if not isJson then value = cjson.encode(value) end
      found[#found + 1] = '[' .. cjson.encode(field) .. ',' .. value .. ']'
    end
  end
  return '{"found":[' .. table.concat(found, ',') .. '],"size":' .. redis.call('HLEN', key) .. '}'
end
local function zset(key)
  local found, flat = {}, redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #flat, 2 do found[#found + 1] = '[' .. cjson.encode(flat[i]) .. ',' .. flat[i + 1] .. ']' end
  return '[' .. table.concat(found, ',') .. ']'
end
local networks, seen = {}, {}
for _, id in ipairs(call.tickets) do
  local record = redis.call('HGET', KEYS[2], id)
  local network = record and cjson.decode(record).network
  if network and not seen[network] then
    seen[network] = true
    networks[#networks + 1], networks[#networks + 2] = 'w' .. network, 'h' .. network
  end
end
return '[{"meta":' .. hash(KEYS[1], {${META.map((field) => `'${field}'`).join(", ")}})
  .. ',"data":' .. hash(KEYS[3], call.tickets) .. ',"sessions":' .. hash(KEYS[7], call.sessions)
  .. ',"networks":' .. hash(KEYS[12], networks) .. ',"waiting":' .. zset(KEYS[4]) .. ',"presence":' .. zset(KEYS[5])
  .. ',"leases":' .. zset(KEYS[6]) .. ',"endedSessions":' .. zset(KEYS[8]) .. ',"forget":' .. zset(KEYS[9])
  .. ',"settlements":' .. zset(KEYS[10]) .. ',"passed":' .. zset(KEYS[11]) .. ',"parked":' .. zset(KEYS[13])
  .. ',"near":' .. zset(KEYS[18]) .. ',"crowds":' .. zset(KEYS[19])
  .. ',"gates":' .. zset(KEYS[14]) .. ',"holders":' .. zset(KEYS[21]) .. ',"changes":' .. zset(KEYS[22])
  .. ',"limits":' .. zset(KEYS[25]) .. ',"charges":' .. zset(KEYS[26]) .. ',"unpaid":' .. zset(KEYS[27]) .. ',"tickets":' .. hash(KEYS[2], call.tickets, true) .. '}]'
`,
  run: (port, keys, _now, _context, calls) => {
    // rules never count a hash
    const db = port as MemoryDb
    const key = (n: number): string => keys[n - 1] ?? ""
    const hash = (n: number, fields: ReadonlyArray<string>): Hash<string> => {
      const found: Array<readonly [string, string]> = []
      for (const field of fields) {
        const value = db.hget(key(n), field)
        if (value !== undefined) found.push([field, value])
      }
      return { found, size: db.hlen(key(n)) }
    }
    return calls.map((call) => {
      const stored = hash(2, call.tickets)
      const tickets = stored.found.map(([id, record]): [string, Ticket] => [id, ticketIn(record)])
      const networks = new Set(tickets.flatMap(([, { network }]) => network ?? []))
      return probedOf({
        meta: hash(1, META),
        data: hash(3, call.tickets),
        sessions: hash(7, call.sessions),
        networks: hash(
          12,
          [...networks].flatMap((network) => [`w${network}`, `h${network}`]),
        ),
        waiting: zset(db, key(4)),
        presence: zset(db, key(5)),
        leases: zset(db, key(6)),
        endedSessions: zset(db, key(8)),
        forget: zset(db, key(9)),
        settlements: zset(db, key(10)),
        passed: zset(db, key(11)),
        near: zset(db, key(18)),
        crowds: zset(db, key(19)),
        parked: zset(db, key(13)),
        gates: zset(db, key(14)),
        holders: zset(db, key(21)),
        changes: zset(db, key(22)),
        limits: zset(db, key(25)),
        charges: zset(db, key(26)),
        unpaid: zset(db, key(27)),
        tickets: { found: tickets, size: stored.size },
      })
    })
  },
  decode: (answer) => probedOf(answer as Answered<Ticket>),
  batch: false,
}

/** A hash has a field of an unknown ticket or session. */
export class FieldOfNobody extends Error {}

/** Decodes the probe's answer; throws `FieldOfNobody` when a hash has a field of an unknown ticket or session. */
export const readState = (probed: Probed): QueueState => {
  const hash = <A, B>(name: string, { found, size }: Hash<A>, read: (value: A) => B): ReadonlyMap<string, B> => {
    const fields = new Map(found.map(([field, value]) => [field, read(value)]))
    if (fields.size !== size) throw new FieldOfNobody(`${name} has a field of nobody`)
    return fields
  }
  const same = <A>(value: A): A => value
  return {
    meta: hash("meta", probed.meta, Number),
    tickets: hash("tickets", probed.tickets, same),
    data: hash("data", probed.data, same),
    sessions: hash("sessions", probed.sessions, same),
    waiting: new Map(probed.waiting),
    presence: new Map(probed.presence),
    leases: new Map(probed.leases),
    endedSessions: new Map(probed.endedSessions),
    forget: new Map(probed.forget),
    settlements: new Map(probed.settlements),
    passed: new Set(probed.passed.map(([member]) => member)),
    near: new Map(probed.near),
    crowds: new Set(probed.crowds.map(([member]) => member)),
    networks: hash("networks", probed.networks, Number),
    parked: new Map(probed.parked),
    gates: new Map(probed.gates),
    holders: new Map(probed.holders),
    changes: new Map(probed.changes),
    limits: new Map(probed.limits),
    charges: new Map(probed.charges),
    unpaid: new Map(probed.unpaid),
  }
}
