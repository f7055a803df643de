/**
 * What an operator sees of a campaign and can do with it. A look is one atomic step, so its figures fit each other, and
 * answers a page, never all. Every action writes its line of the trail in the same step as its effect.
 *
 * Tickets go out under a short hash: their ids are their bearers' credentials. An action names a ticket by its place
 * (`seq`), a slot by its lease and deadline: both are never given twice, so what has changed meanwhile is not touched.
 *
 * KEYS 1 to 15 as in `step.ts` · 16 trail (zset: what operators did, by a counter)
 */
import { createHash } from "node:crypto"
import type { Reply, Script } from "../Store.ts"
import type { MemoryDb } from "../store/MemoryDb.ts"
import { listed } from "./quarantine.ts"
import { KEY_COUNT, keysOf, Step, script, type Ticket } from "./step.ts"

/** So many lines of the trail are kept. */
export const TRAIL_MAX = 1_000
/** Hexadecimal digits of a ticket's hash: enough to tell tickets apart, far too few to be one. */
const HASH_LENGTH = 10

/** The keys of a campaign's queue, and its trail. */
export const operatorKeysOf = (campaign: string): ReadonlyArray<string> => {
  const keys = keysOf(campaign)
  return [...keys, (keys[0] ?? "").replace(/meta$/, "trail")]
}

const prelude = `
local TRAIL = KEYS[16]
local function hash(id) return string.sub(redis.sha1hex(id), 1, ${HASH_LENGTH}) end
local function hash_of(id, t) return hash(t[1] == 'u' and doubter(id) or id) end
local function page(command, key, first, most, ...)
  -- an end of -1 would mean all of them
  if tonumber(most) < 1 then return {} end
  return call(command, key, first, first + most - 1, ...)
end
local function note(who, action, target, result)
  local n = int(call('HINCRBY', META, 'trail', 1))
  call('ZADD', TRAIL, n, table.concat({n, int(now), who, action, target, result}, ' '))
  call('ZREMRANGEBYRANK', TRAIL, 0, -${TRAIL_MAX + 1})
end
`

/** The twin of the prelude. */
class Operation extends Step {
  readonly trail: string

  constructor(db: MemoryDb, keys: ReadonlyArray<string>, args: ReadonlyArray<string>) {
    super(db, keys, args)
    this.trail = keys[KEY_COUNT] ?? ""
  }

  /** Of whom a slot is: of a start in doubt, its ticket. */
  hashOf(id: string, t: Ticket): string {
    return this.hash(t[0] === "u" ? this.doubter(id) : id)
  }

  hash(id: string): string {
    return createHash("sha1").update(id).digest("hex").slice(0, HASH_LENGTH)
  }

  note(who: string, action: string, target: string, result: string): void {
    const n = this.db.hincrby(this.meta, "trail", 1)
    this.db.zadd(this.trail, n, [n, this.now, who, action, target, result].join(" "))
    for (let crowd = this.db.zcard(this.trail) - TRAIL_MAX; crowd > 0; crowd--) {
      this.db.zrem(this.trail, this.db.zat(this.trail, 0) ?? "")
    }
  }
}

const operation = (name: string, lua: string, memory: (step: Operation) => Reply): Script => ({
  ...script(`operator.${name}`, prelude + lua, () => []),
  numberOfKeys: KEY_COUNT + 1,
  memory: (db, keys, args) => memory(new Operation(db, keys, args)),
})

/**
 * The figures of a campaign, and a page each of its slots (by deadline) and of its line.
 *
 * ARGV 6 first slot · 7 slots at most · 8 first place · 9 places at most
 * Result `[[waiting, present, slots held, live, average ms, resting until, paused, draining, accepted so far, first in
 * line accepted at, disrupted, probing until, starts in doubt],
 * [[hash, state, lease, taken at, deadline, accepted at, connected]…], [[hash, seq, accepted at, present until]…]]`
 */
export const look = operation(
  "look",
  `
local held, line = {}, {}
local slots_page = page('ZRANGE', LEASES, ARGV[6], ARGV[7], 'WITHSCORES')
for i = 1, #slots_page, 2 do
  local id, deadline = slots_page[i], slots_page[i + 1]
  local t = listed(LEASES, id)
  if t then held[#held + 1] = {hash_of(id, t), t[1], t[3], t[6], deadline, t[7] or '0', t[4] ~= '' and 1 or 0} end
end
for _, id in ipairs(page('ZRANGE', WAITING, ARGV[8], ARGV[9])) do
  local t = listed(WAITING, id)
  if t then line[#line + 1] = {hash(id), t[2], t[7] or '0', call('ZSCORE', PRESENCE, id) or '0'} end
end
local present = call('ZCOUNT', PRESENCE, int(now), '+inf')
local first = call('ZRANGE', WAITING, 0, 0)[1]
first = first and load(first)
return reply({
  {call('ZCARD', WAITING), present, call('ZCARD', LEASES), num(META, 'live'), num(META, 'avg'), num(META, 'rest'),
    num(META, 'paused'), num(META, 'draining'), num(META, 'seq'), first and first[7] or '0', num(META, 'disrupted'),
    num(META, 'probe'), num(META, 'doubts')},
  held, line
})
`,
  (s) => {
    const [firstSlot = 0, slots = 0, firstPlace = 0, places = 0] = s.args.map(Number)
    const page = (key: string, first: number, most: number): ReadonlyArray<string> =>
      s.db.zrangebyscore(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, most, first)
    const held: Array<Reply> = []
    for (const id of page(s.leases, firstSlot, slots)) {
      const t = listed(s, s.leases, id)
      if (t === undefined) continue
      const deadline = String(s.db.zscore(s.leases, id) ?? 0)
      held.push([s.hashOf(id, t), t[0], t[2], t[5], deadline, t[6] ?? "0", t[3] !== "" ? 1 : 0])
    }
    const line: Array<Reply> = []
    for (const id of page(s.waiting, firstPlace, places)) {
      const t = listed(s, s.waiting, id)
      if (t !== undefined) line.push([s.hash(id), t[1], t[6] ?? "0", String(s.db.zscore(s.presence, id) ?? 0)])
    }
    const figures = ["live", "avg", "rest", "paused", "draining", "seq"].map((field) => s.num(field))
    const present = s.db.zcountFrom(s.presence, s.now)
    const first = s.load(s.db.zat(s.waiting, 0) ?? "")?.[6] ?? "0"
    const trouble = ["disrupted", "probe", "doubts"].map((field) => s.num(field))
    const counts = [s.db.zcard(s.waiting), present, s.db.zcard(s.leases)]
    return s.reply([[...counts, ...figures, first, ...trouble], held, line])
  },
)

/**
 * Turns a switch of the campaign. Paused: nobody is called and newcomers queue; a ticket that was called may start.
 * Draining: newcomers are sent away, those who wait are served.
 *
 * ARGV 6 who · 7 `pause`, `resume`, `drain` or `reopen` · Result `['done']` · `['already']`
 */
export const turn = operation(
  "turn",
  `
local who, action = ARGV[6], ARGV[7]
local field = (action == 'pause' or action == 'resume') and 'paused' or 'draining'
local on = (action == 'pause' or action == 'drain') and 1 or 0
local result = num(META, field) == on and 'already' or 'done'
if on == 1 then call('HSET', META, field, '1') else call('HDEL', META, field) end
note(who, action, '-', result)
if action == 'resume' then call_next() end
return reply({result})
`,
  (s) => {
    const action = s.arg(1)
    const field = action === "pause" || action === "resume" ? "paused" : "draining"
    const on = action === "pause" || action === "drain"
    const result = (s.num(field) === 1) === on ? "already" : "done"
    if (on) s.db.hset(s.meta, field, "1")
    else s.db.hdel(s.meta, field)
    s.note(s.arg(0), action, "-", result)
    if (action === "resume") s.callNext()
    return s.reply([result])
  },
)

/**
 * Calls the oldest waiting ticket to a free slot now, whether the campaign rests or is paused.
 *
 * ARGV 6 who · Result `['called', hash]` · `['no_slot']` · `['nobody']` · `['more']`: there are more to look at, ask again
 */
export const callOne = operation(
  "call",
  `
local result, target = 'nobody', '-'
if call('ZCARD', LEASES) >= slots then
  result = 'no_slot'
elseif call_up_to(1) == 1 then
  result = 'more'
elseif last_called then
  result, target = 'called', hash(last_called)
end
note(ARGV[6], 'call', target, result)
return reply({result, target})
`,
  (s) => {
    let result = "nobody"
    let target = "-"
    if (s.db.zcard(s.leases) >= s.slots) {
      result = "no_slot"
    } else if (s.callUpTo(1) === 1) {
      result = "more"
    } else if (s.lastCalled !== undefined) {
      result = "called"
      target = s.hash(s.lastCalled)
    }
    s.note(s.arg(0), "call", target, result)
    return s.reply([result, target])
  },
)

/**
 * Takes a waiting ticket out of the line and tells its holder. Its quota stays taken.
 *
 * ARGV 6 who · 7 seq · Result `['removed', hash]` · `['gone']` when nobody waits at that place any more
 */
export const remove = operation(
  "remove",
  `
local who, seq = ARGV[6], ARGV[7]
local id = call('ZRANGEBYSCORE', WAITING, seq, seq)[1]
local t = id and listed(WAITING, id)
if not t then
  note(who, 'remove', '#' .. seq, 'gone')
  return reply({'gone', '-'})
end
unwait(id, t)
finish(id, t, 'X')
note(who, 'remove', hash(id), 'removed')
call_next()
return reply({'removed', hash(id)})
`,
  (s) => {
    const seq = Number(s.arg(1))
    const id = s.db.zrangebyscore(s.waiting, seq, seq, 1)[0]
    const t = id === undefined ? undefined : listed(s, s.waiting, id)
    if (id === undefined || t === undefined) {
      s.note(s.arg(0), "remove", `#${s.arg(1)}`, "gone")
      return s.reply(["gone", "-"])
    }
    s.unwait(id, t)
    s.finish(id, t, "X")
    s.note(s.arg(0), "remove", s.hash(id), "removed")
    s.callNext()
    return s.reply(["removed", s.hash(id)])
  },
)

/** What the trail says of an ended lease, by the state that it was in. */
const ENDED: Readonly<Record<string, string>> = {
  c: "ended_called",
  s: "ended_starting",
  l: "ended_live",
  u: "ended_in_doubt",
}

/**
 * Ends a lease: its slot is free, its holder is told, and a start that is still under way finds it stale. A session that the
 * platform has started may run on there.
 *
 * ARGV 6 who · 7 lease · 8 deadline, as seen · Result `['ended', hash]` · `['gone']` when it is over or has moved on
 */
export const endLease = operation(
  "end",
  `
local who, lease, deadline = ARGV[6], ARGV[7], ARGV[8]
for _, id in ipairs(call('ZRANGEBYSCORE', LEASES, deadline, deadline)) do
  local t = listed(LEASES, id)
  if t and t[3] == lease then
    local was, whose = t[1], hash_of(id, t)
    if was == 'l' then
      over(id, t, 'X')
    elseif was == 'u' then
      drop(id, t)
    else
      free(id, t)
      finish(id, t, 'X')
    end
    note(who, 'end', whose, ({c = 'ended_called', s = 'ended_starting', l = 'ended_live', u = 'ended_in_doubt'})[was])
    call_next()
    return reply({'ended', whose})
  end
end
note(who, 'end', '#' .. lease, 'gone')
return reply({'gone', '-'})
`,
  (s) => {
    const [who = "", lease = "", deadline = ""] = s.args
    for (const id of s.db.zrangebyscore(s.leases, Number(deadline), Number(deadline), Number.POSITIVE_INFINITY)) {
      const t = listed(s, s.leases, id)
      if (t?.[2] !== lease) continue
      const was = t[0]
      const whose = s.hashOf(id, t)
      if (was === "l") {
        s.over(id, t, "X")
      } else if (was === "u") {
        s.drop(id, t)
      } else {
        s.free(id, t)
        s.finish(id, t, "X")
      }
      s.note(who, "end", whose, ENDED[was] ?? "ended")
      s.callNext()
      return s.reply(["ended", whose])
    }
    s.note(who, "end", `#${lease}`, "gone")
    return s.reply(["gone", "-"])
  },
)

/**
 * A page of the trail, the newest first.
 *
 * ARGV 6 first · 7 at most · Result `[how many there are, ['n at who action target result'…]]`
 */
export const trail = operation(
  "trail",
  `
return reply({call('ZCARD', TRAIL), page('ZREVRANGE', TRAIL, ARGV[6], ARGV[7])})
`,
  (s) => {
    const length = s.db.zcard(s.trail)
    const first = Number(s.arg(0))
    const lines: Array<string> = []
    for (let n = first; n < Math.min(first + Number(s.arg(1)), length); n++) {
      lines.push(s.db.zat(s.trail, length - 1 - n) ?? "")
    }
    return s.reply([length, lines])
  },
)

/** All of them, for the contract and differential tests. */
export const scripts = { look, turn, callOne, remove, endLease, trail }
