/**
 * What every script of the queue shares: the keys of a campaign, a ticket's record, and the moves that more than one
 * script makes. Lua and TypeScript are twins, written line by line alike.
 *
 * Networks (IPv6 /48, IPv4 /24): a network that holds its share of the slots is passed over while a ticket of a network below
 * its share waits. `call_up_to` finds who is called without looking at the same ticket twice:
 *   - every waiting ticket is in `waiting`, whether it was passed over or not: there its position is its rank;
 *   - waiting tickets up to the place `passed` (meta) were looked at and are in `passed` (the sorted set), sorted by network;
 *     a ticket that comes back to a place before it joins them; whoever stops waiting leaves both;
 *   - called is the oldest in `passed` whose network is below its share, else the first after `passed` whose network is below
 *     its share, those before it being passed over, else the oldest of all: a free slot is never kept from the only ones who wait.
 * Whatever is in `passed` is older than what was not looked at, so that no network is added while one of it may be called, and
 * there are never more networks in it than held their share at one time: at most `slots / share of the slots`.
 *
 * A ticket whose start failed keeps its place and is `parked` there: those behind it are called meanwhile. While the platform
 * cannot be reached (`disrupted`), one ticket is called at a time, to find out whether it can be reached again.
 *
 * A start of which nobody knows whether its session runs is a doubt: it has a record and a lease of its own under `?` and its
 * fence, so that the slot stays held while the ticket waits at its place, or leaves. See `doubt.ts`.
 *
 * KEYS (one hash tag a campaign)
 *   1 meta      hash    counters `seq`, `lease`; `live` sessions; `avg` call length in ms; `rest`, `restn` the
 *                       back-off of a full platform; `audit` until when somebody asks after old sessions;
 *                       `swept` when somebody swept last; `mercy` until when nobody counts as absent, `forgiven` when an outage
 *                       was forgiven last; `paused` and
 *                       `draining` are 1 while an operator has them on; `passed` the place up to which waiting tickets
 *                       were looked at; `withdrawn` the time up to which `forget` has ids of tickets yet to come;
 *                       `quarantined` counts what is or was in `quarantine`, `junk` is the last of it, and `recount` is 1 until counts
 *                       were made anew since; `started` counts sessions; `doubts` how many starts are in doubt; `disrupted` is 1 while the
 *                       platform cannot be reached, and `probe` until when nobody else is called to find out
 *   2 tickets   hash    id → record, a JSON list of strings (see `Ticket`)
 *   3 data      hash    id → what the gate keeps with the ticket: its configuration, then its session
 *   4 waiting   zset    id by `seq`, which is the order of acceptance and never depends on time
 *   5 presence  zset    waiting id by the time until which it counts as present
 *   6 leases    zset    id by deadline: one held slot each
 *   7 sessions  hash    session id → ticket id, while live
 *   8 over      zset    session ids that have ended, by time: what tells a repeat or an early webhook
 *   9 forget    zset    terminal ids by the time when they are forgotten, and ids that were withdrawn before their
 *                       admission came, which have no record
 *  10 settle    zset    `refund|release|missed id caller` that the rate limiter has still to carry out, by time
 *  11 passed    zset    `network seq id` of waiting tickets that were looked at, all with score 0; seq has 16 digits
 *  12 networks  hash    how many tickets of a network wait (`w` and network) and hold a slot (`h` and network); never 0
 *  13 parked    zset    waiting ids that are not called now, by the time until when
 *  14 gates     zset    gates by the time when each was heard of last (`outage.ts`)
 *  15 quarantine zset   records that were not what they should be, by their number (`quarantine.ts`)
 *
 * ARGV 1 now (ms) · 2 slots, and behind a blank a network's share of them (absent: 1, no limit) · 3 this instance · 4 prefix of
 * the instances' channels · 5 start window (ms), then the script's own.
 *
 * Reply: `[result, signals, settlements]`. A signal `[id, kind, value]` tells a ticket's connection to look; it is
 * published by the script where another instance holds the connection, and returned where this one does or nobody does.
 */
import type { SettlementKind } from "../FifoQueue.ts"
import type { Reply, Script } from "../Store.ts"
import type { MemoryDb } from "../store/MemoryDb.ts"
import { absent, outageLua } from "./outage.ts"
import { listed, load, quarantine, quarantineLua, sessionsIn } from "./quarantine.ts"

/** How long a terminal ticket is remembered, so that its holder learns how it ended. */
export const RETENTION_MILLIS = 10 * 60_000
/**
 * When nobody has swept for so long, the store or every gate was away, and nobody could show presence: that is not held
 * against those who wait, who get the grace anew.
 */
export const UNATTENDED_MILLIS = 5_000

/** How long the end of a session is remembered. */
export const OVER_MILLIS = 24 * 3_600_000
/** While the platform cannot be reached, so long passes between two calls, unless the first was answered. */
export const PROBE_MILLIS = 5_000
/** How long a ticket whose start failed is parked: the first time, doubled each time, and at most. */
export const PARK_FIRST_MILLIS = 1_000
export const PARK_LONGEST_MILLIS = 15_000
/**
 * How long a slot is held at most for a start that may have happened: the platform's URL can be opened for about five minutes, so
 * that nobody talks in such a session later.
 */
export const DOUBT_MILLIS = 5 * 60_000
/** At most so many parked tickets of a network are passed over in looking for the next to call. */
const PARKED_LIMIT = 200
/** At most so many tickets are cleared as absent or passed over in one step; the rest follows in the next. */
export const CLEAR_LIMIT = 200

/**
 * `[state, seq, lease, instance, caller, since, accepted, network, tries, called at]`: state is one of `w` waiting, `c` called, `s` starting,
 * `l` live, `u` a start in doubt, and the terminal `E` ended, `L` left, `A` abandoned, `M` missed, `F` failed, `R` reclaimed, `X`
 * removed by an operator; lease is the fence of the held slot; instance is where the ticket's connection is, or empty; caller is the
 * rate limiter's key behind `+` (the limiter counts its open tickets) or `-`, or empty; since is when the slot was taken, later by
 * the outages of the turn, accepted when the ticket came (ms); network is the caller's network, absent or empty where it has none;
 * tries are those of its starts that failed, as `fail` counts them, absent or empty while none did; called at is when it was called, later
 * by the outages of all gates, absent unless an outage gave it time. Records of older versions have none of the last four.
 */
export type Ticket = [
  state: string,
  seq: string,
  lease: string,
  instance: string,
  caller: string,
  since: string,
  accepted?: string,
  network?: string,
  tries?: string,
  calledAt?: string,
]

/** A network's share of slots or free places: at least one, and all of them with a share of 1. */
export const shareOf = (share: number, of: number): number => (share >= 1 ? of : Math.max(1, Math.floor(share * of)))

const prelude = `
local META, TICKETS, DATA, WAITING, PRESENCE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local LEASES, SESSIONS, OVER, FORGET, SETTLE = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local PASSED, NETWORKS, PARKED, GATES, QUARANTINE = KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local now, self, channel, window = tonumber(ARGV[1]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local slots, share = string.match(ARGV[2], '^(%S+) ?(.*)$')
slots, share = tonumber(slots), tonumber(share) or 1
local call = redis.call
local signals, settlements = {}, {}
local function int(n) return string.format('%.0f', n) end
${quarantineLua}
local function save(id, t) call('HSET', TICKETS, id, cjson.encode(t)) end
local function num(key, field) return tonumber(call('HGET', key, field) or '0') or 0 end
local function notify(id, t, kind, value)
  if t[4] ~= '' and t[4] ~= self then
    call('PUBLISH', channel .. t[4], id .. ' ' .. kind .. ' ' .. value)
  else
    signals[#signals + 1] = {id, kind, value}
  end
end
local function owe(kind, id, holder)
  local hold = string.sub(holder, 1, 1)
  if hold == '' or (kind == 'release' and hold ~= '+') then return end
  local caller = string.sub(holder, 2)
  call('ZADD', SETTLE, int(now), kind .. ' ' .. id .. ' ' .. caller)
  settlements[#settlements + 1] = {kind, id, caller}
end
local function doubter(held) return string.match(call('HGET', DATA, held) or '', '^%S*') end
local function leave_to_doubt(id, t)
  local held = '?' .. t[3]
  local record = t[3] ~= '0' and held ~= id and load(held)
  if not record or record[1] ~= 'u' or doubter(held) ~= id then return false end
  record[5] = t[5]
  save(held, record)
  return true
end
local function finish(id, t, state, kind)
  t[1] = state
  save(id, t)
  call('HDEL', DATA, id)
  call('ZADD', FORGET, int(now + ${RETENTION_MILLIS}), id)
  if not leave_to_doubt(id, t) then owe(kind or 'release', id, t[5]) end
  if state ~= 'L' and t[2] ~= '0' then notify(id, t, 'ended', state) end
end
local function share_of(n)
  if share >= 1 then return n end
  return math.max(1, math.floor(share * n))
end
local function count(field, by)
  if call('HINCRBY', NETWORKS, field, by) < 1 then call('HDEL', NETWORKS, field) end
end
local function counted(t) return t[8] and t[8] ~= '' end
local function passed_as(id, t) return string.format('%s %016.0f %s', t[8] or '', tonumber(t[2]), id) end
local function wait(id, t, present)
  call('ZADD', WAITING, t[2], id)
  call('ZADD', PRESENCE, present, id)
  if counted(t) then count('w' .. t[8], 1) end
  if tonumber(t[2]) <= num(META, 'passed') then call('ZADD', PASSED, 0, passed_as(id, t)) end
end
local function unwait(id, t)
  call('ZREM', WAITING, id)
  call('ZREM', PRESENCE, id)
  call('ZREM', PASSED, passed_as(id, t))
  call('ZREM', PARKED, id)
  if counted(t) then count('w' .. t[8], -1) end
end
local function free(id, t)
  call('ZREM', LEASES, id)
  if counted(t) then count('h' .. t[8], -1) end
end
local function rested() call('HDEL', META, 'rest', 'restn') end
local function over(id, t, state)
  free(id, t)
  call('HINCRBY', META, 'live', -1)
  for _, session in ipairs(sessions_in(call('HGET', DATA, id))) do
    call('HDEL', SESSIONS, session)
    call('ZADD', OVER, int(now), session)
  end
  if state == 'E' and t[2] ~= '0' then
    local avg, length = num(META, 'avg'), math.max(0, now - tonumber(t[6]))
    if avg == 0 then avg = length else avg = avg + math.floor((length - avg) / 8) end
    call('HSET', META, 'avg', int(avg))
  end
  finish(id, t, state, state == 'F' and 'refund' or nil)
end
local function reserve(id, t, state, deadline)
  t[1] = state
  t[3] = int(call('HINCRBY', META, 'lease', 1))
  t[6], t[10] = int(now), nil
  save(id, t)
  call('ZADD', LEASES, int(deadline), id)
  if counted(t) then count('h' .. t[8], 1) end
end
local function resting() return num(META, 'rest') > now end
local function away()
  local swept = num(META, 'swept')
  return swept > 0 and now - swept > ${UNATTENDED_MILLIS}
end
local function unattended() return away() or num(META, 'mercy') > now end
local function parked(id) return call('ZSCORE', PARKED, id) end
local function below(network) return network == '' or num(NETWORKS, 'h' .. network) < share_of(slots) end
local function oldest_passed()
  local from, oldest, first, looked = '', nil, nil, 0
  while true do
    local member = call('ZRANGEBYLEX', PASSED, '(' .. from, '+', 'LIMIT', 0, 1)[1]
    if not member then return oldest end
    local network, seq, id = string.match(member, '^(%S*) (%d+) (.*)$')
    looked = looked + 1
    if not id or not call('ZSCORE', WAITING, id) then
      -- an instance of a version without this index has called it, or it never was a ticket
      call('ZREM', PASSED, member)
    else
      -- behind all of this network: a blank comes before an exclamation mark, and both before what networks are written with
      from = network .. '!'
      -- whoever is parked is passed over, but not for longer than a step may take
      if parked(id) and looked < ${PARKED_LIMIT} then
        from = member
      elseif parked(id) then
        looked = 0
      elseif (not first or seq < first) and below(network) then
        oldest, first = id, seq
      end
    end
  end
end
local function oldest_of_all()
  for _, id in ipairs(call('ZRANGE', WAITING, 0, call('ZCARD', PARKED))) do
    if not parked(id) then return id end
  end
  return nil
end
local function park(id, deadline) call('ZADD', PARKED, int(deadline), id) end
local function wait_again(id, t, present)
  t[1] = 'w'
  save(id, t)
  wait(id, t, present)
end
${outageLua}
local last_called
local function call_up_to(most)
  local looked, called = 0, 0
  while called < most and call('ZCARD', LEASES) < slots do
    local indexed = share < 1 or call('ZCARD', PARKED) > 0
    local id = indexed and oldest_passed() or nil
    local new = false
    if not id and indexed then
      id = call('ZRANGEBYSCORE', WAITING, int(num(META, 'passed') + 1), '+inf', 'LIMIT', 0, 1)[1]
      new = id ~= nil
    end
    if not id then id = oldest_of_all() end
    if not id then return 0 end
    if looked == ${CLEAR_LIMIT} then return 1 end
    local t = listed(WAITING, id)
    if not t then
      looked = looked + 1
    elseif absent(t, tonumber(call('ZSCORE', PRESENCE, id) or '0')) then
      looked = looked + 1
      unwait(id, t)
      finish(id, t, 'A')
    elseif new and (not below(t[8] or '') or parked(id)) then
      looked = looked + 1
      call('HSET', META, 'passed', call('ZSCORE', WAITING, id))
      call('ZADD', PASSED, 0, passed_as(id, t))
    else
      unwait(id, t)
      reserve(id, t, 'c', now + window)
      notify(id, t, 'called', int(now + window) .. ' ' .. t[3])
      called, last_called = called + 1, id
    end
  end
  return 0
end
local function call_next()
  local rest, paused, disrupted, probe = unpack(call('HMGET', META, 'rest', 'paused', 'disrupted', 'probe'))
  if (tonumber(rest or '0') or 0) > now or paused == '1' then return 0 end
  if not disrupted then return call_up_to(slots) end
  if (tonumber(probe or '0') or 0) > now then return 0 end
  local before = last_called
  local more = call_up_to(1)
  if last_called ~= before then call('HSET', META, 'probe', int(now + ${PROBE_MILLIS})) end
  return more
end
local function reached()
  if call('HDEL', META, 'disrupted', 'probe') == 0 then return false end
  call('ZREMRANGEBYSCORE', PARKED, '-inf', int(now + ${PARK_LONGEST_MILLIS}))
  return true
end
local function count_doubts(by)
  if call('HINCRBY', META, 'doubts', by) < 1 then call('HDEL', META, 'doubts') end
end
local function doubt(id, t)
  local held, deadline = '?' .. t[3], now + ${DOUBT_MILLIS}
  local record = {'u', '0', t[3], '', '', t[6], t[7] or '0'}
  if counted(t) then record[8] = t[8] end
  save(held, record)
  call('HSET', DATA, held, id .. ' ' .. (call('HGET', DATA, id) or ''))
  call('ZREM', LEASES, id)
  call('ZADD', LEASES, int(deadline), held)
  count_doubts(1)
  return deadline + ${PARK_LONGEST_MILLIS}
end
local function failures_of(t) return tonumber(string.match(t[9] or '', '^%d+ %-?%d+ (%d+)$') or 0) end
local function park_millis(t)
  return math.min(${PARK_FIRST_MILLIS} * 2 ^ math.min(failures_of(t) - 1, 20), ${PARK_LONGEST_MILLIS})
end
local function decided(held, record)
  local id = doubter(held)
  owe('release', id, record[5])
  record[5] = ''
  local t = load(id)
  if not t or t[1] ~= 'w' or '?' .. t[3] ~= held then return end
  if failures_of(t) > 1 then park(id, now + park_millis(t)) else call('ZREM', PARKED, id) end
end
local function drop(held, record)
  decided(held, record)
  free(held, record)
  call('HDEL', TICKETS, held)
  call('HDEL', DATA, held)
  count_doubts(-1)
end
local function live(id, t)
  local data = call('HGET', DATA, id)
  if sessions_in(data)[1] then return {'live', data} end
  quarantine('data', id, data or '')
  over(id, t, 'F')
  call_next()
  return {'over', 'F'}
end
local function place(id)
  local meta = call('HMGET', META, 'avg', 'disrupted')
  return {'waiting', (call('ZRANK', WAITING, id) or 0) + 1, call('ZCARD', WAITING), tonumber(meta[1] or '0') or 0, meta[2] and 1 or 0}
end
local function reply(result) return {result, signals, settlements} end
`

/** The names of a campaign's keys, in the order of `KEYS`. */
const QUEUE_KEYS: ReadonlyArray<string> = [
  ...["meta", "tickets", "data", "waiting", "presence", "leases"],
  ...["sessions", "over", "forget", "settle", "passed", "networks", "parked", "gates", "quarantine"],
]

/** How many keys a campaign has, for scripts on all of them. */
export const KEY_COUNT = QUEUE_KEYS.length

/** The twin of the prelude. */
export class Step {
  readonly db: MemoryDb
  readonly meta: string
  readonly tickets: string
  readonly data: string
  readonly waiting: string
  readonly presence: string
  readonly leases: string
  readonly sessions: string
  readonly overs: string
  readonly forget: string
  readonly settle: string
  readonly passed: string
  readonly networks: string
  readonly parkedKey: string
  readonly gates: string
  readonly quarantine: string
  readonly now: number
  readonly slots: number
  readonly share: number
  readonly self: string
  readonly channel: string
  readonly window: number
  readonly args: ReadonlyArray<string>
  lastCalled: string | undefined
  /** until when this gate has shown who is connected to it; known to a sweep alone */
  shown: number | undefined
  private readonly signals: Array<Reply> = []
  private readonly settlements: Array<Reply> = []

  constructor(db: MemoryDb, keys: ReadonlyArray<string>, args: ReadonlyArray<string>) {
    const key = (n: number): string => keys[n - 1] ?? ""
    this.db = db
    this.meta = key(1)
    this.tickets = key(2)
    this.data = key(3)
    this.waiting = key(4)
    this.presence = key(5)
    this.leases = key(6)
    this.sessions = key(7)
    this.overs = key(8)
    this.forget = key(9)
    this.settle = key(10)
    this.passed = key(11)
    this.networks = key(12)
    this.parkedKey = key(13)
    this.gates = key(14)
    this.quarantine = key(15)
    this.now = Number(args[0])
    const [slots, share = "1"] = (args[1] ?? "").split(" ")
    this.slots = Number(slots)
    this.share = Number(share)
    this.self = args[2] ?? ""
    this.channel = args[3] ?? ""
    this.window = Number(args[4])
    this.args = args.slice(5)
  }

  arg(n: number): string {
    return this.args[n] ?? ""
  }

  load(id: string): Ticket | undefined {
    return load(this, id)
  }

  save(id: string, t: Ticket): void {
    this.db.hset(this.tickets, id, JSON.stringify(t))
  }

  num(field: string): number {
    return Number(this.db.hget(this.meta, field) ?? "0") || 0
  }

  notify(id: string, t: Ticket, kind: string, value: string): void {
    if (t[3] !== "" && t[3] !== this.self) this.db.publish(this.channel + t[3], `${id} ${kind} ${value}`)
    else this.signals.push([id, kind, value])
  }

  /** What the rate limiter has to do for the caller, who is written as in a ticket's record. */
  owe(kind: SettlementKind, id: string, holder: string): void {
    const hold = holder.slice(0, 1)
    if (hold === "" || (kind === "release" && hold !== "+")) return
    const caller = holder.slice(1)
    this.db.zadd(this.settle, this.now, `${kind} ${id} ${caller}`)
    this.settlements.push([kind, id, caller])
  }

  /**
   * A ticket ends whose start is in doubt: its slot stays held, and so do its caller's units, until that is decided. Nothing is given
   * back: else one caller could hold any number of slots at no cost.
   */
  private leaveToDoubt(id: string, t: Ticket): boolean {
    const held = `?${t[2]}`
    const record = t[2] === "0" || held === id ? undefined : this.load(held)
    if (record?.[0] !== "u" || this.doubter(held) !== id) return false
    record[4] = t[4]
    this.save(held, record)
    return true
  }

  /** Ends a ticket. `kind` is what that means to its caller's units: open no more, unless told otherwise. */
  finish(id: string, t: Ticket, state: string, kind: SettlementKind = "release"): void {
    t[0] = state
    this.save(id, t)
    this.db.hdel(this.data, id)
    this.db.zadd(this.forget, this.now + RETENTION_MILLIS, id)
    if (!this.leaveToDoubt(id, t)) this.owe(kind, id, t[4])
    // nobody waits for a doubt
    if (state !== "L" && t[1] !== "0") this.notify(id, t, "ended", state)
  }

  shareOf(n: number): number {
    return shareOf(this.share, n)
  }

  count(field: string, by: number): void {
    if (this.db.hincrby(this.networks, field, by) < 1) this.db.hdel(this.networks, field)
  }

  private passedAs(id: string, t: Ticket): string {
    return `${t[7] ?? ""} ${t[1].padStart(16, "0")} ${id}`
  }

  wait(id: string, t: Ticket, present: number): void {
    this.db.zadd(this.waiting, Number(t[1]), id)
    this.db.zadd(this.presence, present, id)
    if (t[7]) this.count(`w${t[7]}`, 1)
    if (Number(t[1]) <= this.num("passed")) this.db.zadd(this.passed, 0, this.passedAs(id, t))
  }

  unwait(id: string, t: Ticket): void {
    this.db.zrem(this.waiting, id)
    this.db.zrem(this.presence, id)
    this.db.zrem(this.passed, this.passedAs(id, t))
    this.db.zrem(this.parkedKey, id)
    if (t[7]) this.count(`w${t[7]}`, -1)
  }

  free(id: string, t: Ticket): void {
    this.db.zrem(this.leases, id)
    if (t[7]) this.count(`h${t[7]}`, -1)
  }

  rested(): void {
    this.db.hdel(this.meta, "rest")
    this.db.hdel(this.meta, "restn")
  }

  over(id: string, t: Ticket, state: string): void {
    this.free(id, t)
    this.db.hincrby(this.meta, "live", -1)
    for (const session of sessionsIn(this.db.hget(this.data, id))) {
      this.db.hdel(this.sessions, session)
      this.db.zadd(this.overs, this.now, session)
    }
    if (state === "E" && t[1] !== "0") {
      const avg = this.num("avg")
      // two instances' clocks may disagree by more than a short call lasts
      const length = Math.max(0, this.now - Number(t[5]))
      this.db.hset(this.meta, "avg", String(avg === 0 ? length : avg + Math.floor((length - avg) / 8)))
    }
    this.finish(id, t, state, state === "F" ? "refund" : "release")
  }

  reserve(id: string, t: Ticket, state: string, deadline: number): string {
    t[0] = state
    t[2] = String(this.db.hincrby(this.meta, "lease", 1))
    t[5] = String(this.now)
    if (t.length > 9) t.pop()
    this.save(id, t)
    this.db.zadd(this.leases, deadline, id)
    if (t[7]) this.count(`h${t[7]}`, 1)
    return t[2]
  }

  resting(): boolean {
    return this.num("rest") > this.now
  }

  away(): boolean {
    const swept = this.num("swept")
    return swept > 0 && this.now - swept > UNATTENDED_MILLIS
  }

  unattended(): boolean {
    return this.away() || this.num("mercy") > this.now
  }

  paused(): boolean {
    return this.num("paused") === 1
  }

  disrupted(): boolean {
    return this.num("disrupted") === 1
  }

  parked(id: string): boolean {
    return this.db.zscore(this.parkedKey, id) !== undefined
  }

  private below(network: string): boolean {
    return network === "" || Number(this.db.hget(this.networks, `h${network}`) ?? "0") < this.shareOf(this.slots)
  }

  private oldestPassed(): string | undefined {
    let oldest: string | undefined
    let first: string | undefined
    let from = ""
    let looked = 0
    for (;;) {
      const member = this.db.zlexAfter(this.passed, from)
      if (member === undefined) return oldest
      looked++
      const [network = "", seq = ""] = member.split(" ", 2)
      const id = member.slice(network.length + seq.length + 2)
      if (this.db.zscore(this.waiting, id) === undefined) {
        this.db.zrem(this.passed, member)
        continue
      }
      from = `${network}!`
      // whoever is parked is passed over, but not for longer than a step may take
      if (this.parked(id)) {
        if (looked < PARKED_LIMIT) from = member
        else looked = 0
      } else if ((first === undefined || seq < first) && this.below(network)) {
        oldest = id
        first = seq
      }
    }
  }

  private oldestOfAll(): string | undefined {
    const most = this.db.zcard(this.parkedKey) + 1
    const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
    return this.db
      .zrangebyscore(this.waiting, NEGATIVE_INFINITY, POSITIVE_INFINITY, most)
      .find((id) => !this.parked(id))
  }

  /** Calls waiting tickets to free slots, at most so many; 1 when it has looked at its most and there are more to look at. */
  callUpTo(most: number): number {
    let looked = 0
    let called = 0
    while (called < most && this.db.zcard(this.leases) < this.slots) {
      const indexed = this.share < 1 || this.db.zcard(this.parkedKey) > 0
      let id = indexed ? this.oldestPassed() : undefined
      let isNew = false
      if (id === undefined && indexed) {
        id = this.db.zrangebyscore(this.waiting, this.num("passed") + 1, Number.POSITIVE_INFINITY, 1)[0]
        isNew = id !== undefined
      }
      id ??= this.oldestOfAll()
      if (id === undefined) return 0
      if (looked === CLEAR_LIMIT) return 1
      const t = listed(this, this.waiting, id)
      if (t === undefined) {
        looked++
      } else if (absent(this, t, this.db.zscore(this.presence, id) ?? 0)) {
        looked++
        this.unwait(id, t)
        this.finish(id, t, "A")
      } else if (isNew && (!this.below(t[7] ?? "") || this.parked(id))) {
        looked++
        this.db.hset(this.meta, "passed", String(this.db.zscore(this.waiting, id) ?? 0))
        this.db.zadd(this.passed, 0, this.passedAs(id, t))
      } else {
        this.unwait(id, t)
        this.reserve(id, t, "c", this.now + this.window)
        this.notify(id, t, "called", `${this.now + this.window} ${t[2]}`)
        called++
        this.lastCalled = id
      }
    }
    return 0
  }

  /** Whether nobody may be called to find out if the platform can be reached: somebody was a moment ago. */
  probing(): boolean {
    return this.disrupted() && this.num("probe") > this.now
  }

  callNext(): number {
    if (this.resting() || this.paused() || this.probing()) return 0
    if (!this.disrupted()) return this.callUpTo(this.slots)
    const before = this.lastCalled
    const more = this.callUpTo(1)
    if (this.lastCalled !== before) this.db.hset(this.meta, "probe", String(this.now + PROBE_MILLIS))
    return more
  }

  /** The platform has answered. Whoever was parked for a moment only may be called again. Says whether that is news. */
  reached(): boolean {
    const was = this.disrupted() || this.num("probe") > 0
    this.db.hdel(this.meta, "disrupted")
    this.db.hdel(this.meta, "probe")
    if (was) this.db.zremrangebyscore(this.parkedKey, Number.NEGATIVE_INFINITY, this.now + PARK_LONGEST_MILLIS)
    return was
  }

  countDoubts(by: number): void {
    if (this.db.hincrby(this.meta, "doubts", by) < 1) this.db.hdel(this.meta, "doubts")
  }

  park(id: string, deadline: number): void {
    this.db.zadd(this.parkedKey, deadline, id)
  }

  /** The ticket goes back to its own place, which its `seq` still names. */
  waitAgain(id: string, t: Ticket, present: number): void {
    t[0] = "w"
    this.save(id, t)
    this.wait(id, t, present)
  }

  /** The slot of a start passes to its doubt; says until when its ticket is parked, unless it is decided before (ms). */
  doubt(id: string, t: Ticket): number {
    const held = `?${t[2]}`
    const deadline = this.now + DOUBT_MILLIS
    const record: Ticket = ["u", "0", t[2], "", "", t[5], t[6] ?? "0"]
    if (t[7]) record[7] = t[7]
    this.save(held, record)
    this.db.hset(this.data, held, `${id} ${this.db.hget(this.data, id) ?? ""}`)
    this.db.zrem(this.leases, id)
    this.db.zadd(this.leases, deadline, held)
    this.countDoubts(1)
    return deadline + PARK_LONGEST_MILLIS
  }

  /** Whose start is in doubt. */
  doubter(held: string): string {
    const [ticket = ""] = (this.db.hget(this.data, held) ?? "").split(" ", 1)
    return ticket
  }

  private failuresOf(t: Ticket): number {
    return Number(/^\d+ -?\d+ (\d+)$/.exec(t[8] ?? "")?.[1] ?? "0")
  }

  /** How long a ticket whose start failed is not called: longer each time (ms). */
  parkMillis(t: Ticket): number {
    return Math.min(PARK_FIRST_MILLIS * 2 ** Math.min(this.failuresOf(t) - 1, 20), PARK_LONGEST_MILLIS)
  }

  /**
   * What became of a start in doubt is known. Its ticket may be called again, after a second failure those behind it first: else one
   * whose starts are always in doubt would keep the slot from them. What a ticket that is over left to it is settled.
   */
  decided(held: string, record: Ticket): void {
    const id = this.doubter(held)
    this.owe("release", id, record[4])
    record[4] = ""
    const t = this.load(id)
    if (t?.[0] !== "w" || `?${t[2]}` !== held) return
    if (this.failuresOf(t) > 1) this.park(id, this.now + this.parkMillis(t))
    else this.db.zrem(this.parkedKey, id)
  }

  /** No session runs: the slot of the doubt is free. */
  drop(held: string, record: Ticket): void {
    this.decided(held, record)
    this.free(held, record)
    this.db.hdel(this.tickets, held)
    this.db.hdel(this.data, held)
    this.countDoubts(-1)
  }

  /** What a live ticket is told; one that does not name its session ends. */
  live(id: string, t: Ticket): Reply {
    const data = this.db.hget(this.data, id)
    if (data !== undefined && sessionsIn(data).length > 0) return ["live", data]
    quarantine(this, "data", id, data ?? "")
    this.over(id, t, "F")
    this.callNext()
    return ["over", "F"]
  }

  place(id: string): Reply {
    const rank = (this.db.zrank(this.waiting, id) ?? 0) + 1
    return ["waiting", rank, this.db.zcard(this.waiting), this.num("avg"), this.disrupted() ? 1 : 0]
  }

  reply(result: Reply): Reply {
    return [result, this.signals, this.settlements]
  }
}

/** Makes a script of the queue from its two bodies. `joins` is set where calls of it may travel together. */
export const script = (
  name: string,
  lua: string,
  memory: (step: Step) => Reply,
  joins?: Pick<NonNullable<Script["joins"]>, "own" | "times">,
): Script => ({
  name: `queue.${name}`,
  numberOfKeys: QUEUE_KEYS.length,
  ...(joins === undefined ? {} : { joins: { ...joins, ownKeys: 0 } }),
  lua: `-- voicegate queue.${name}\n${prelude}${lua}`,
  memory: (db, keys, args) => memory(new Step(db, keys, args)),
})

/** All keys of a campaign, under one hash tag; a brace in its id cannot break out of the tag. */
export const keysOf = (campaign: string): ReadonlyArray<string> => {
  const tag = `vg:{${encodeURIComponent(campaign)}}:`
  return QUEUE_KEYS.map((name) => tag + name)
}

/** Where what was no proper record of a campaign is kept. */
export const quarantineKeyOf = (campaign: string): string => keysOf(campaign)[QUEUE_KEYS.indexOf("quarantine")] ?? ""
