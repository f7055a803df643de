import { absent, DEAD_MILLIS, forgive, silentSince } from "./outage.ts"
import { OVER_MILLIS, script, type Ticket } from "./step.ts"

/** At most so many of each kind are handled in one step. */
const LIMIT = 200
/** At most so many times as many are looked at for it, when others are still to be waited for. */
const PAGES = 5
/** The end of a session that nobody knows is remembered for so many at most. */
const OVER_MAX = 100_000
/** A settlement this old was not carried out by the process that owed it. */
export const SETTLE_AFTER_MILLIS = 5_000

/** How often what networks hold and wait for is counted anew (ms). */
export const RECOUNT_MILLIS = 10 * 60_000
/** With more slots taken and places together than this it is not: it would keep the store from others for too long. */
export const RECOUNT_MOST = 2_000

/**
 * Upholds what time decides: leases past their deadline are freed (called → missed, live → reclaimed, doubt → gone), except that a
 * start whose gate died may have happened: its slot is held in doubt, and its ticket goes back to its place;
 * absent tickets are abandoned, free slots call the next, and what is over is forgotten. What an outage brought about is held against
 * nobody (`outage.ts`). Every `RECOUNT_MILLIS` what networks have is counted anew, because beside an
 * instance of a version that does not count it, it would be wrong for ever. Any instance may run it at any moment, as often as
 * it likes.
 *
 * ARGV 6 presence of those who could not show it (ms) · 7 until when this gate has shown who is connected to it (ms)
 * Result `[more, waiting, leases, live, average ms, owed, doubts]`: more is 1 when another sweep has work at once; owed are settlements
 * `'refund|release|missed id caller'` left behind by a process that died
 */
export const sweep = script(
  "sweep",
  `
local more = 0
local function recount(prefix, members)
  for _, id in ipairs(call('ZRANGE', members, 0, -1)) do
    local t = load(id)
    if t and counted(t) then count(prefix .. t[8], 1) end
  end
end
local swept = num(META, 'swept')
local due = swept > 0 and math.floor(swept / ${RECOUNT_MILLIS}) ~= math.floor(now / ${RECOUNT_MILLIS})
if due and call('ZCARD', LEASES) + call('ZCARD', WAITING) <= ${RECOUNT_MOST} then
  call('DEL', NETWORKS, PASSED)
  call('HDEL', META, 'passed')
  recount('h', LEASES)
  recount('w', WAITING)
end
if away() then forgive(swept, ARGV[6]) end
-- a sweep that was on its way for long is no step back
if now > swept or swept - now > ${DEAD_MILLIS} then call('HSET', META, 'swept', int(now)) end
call('ZADD', GATES, int(now), self)
call('ZREMRANGEBYSCORE', GATES, '-inf', '(' .. int(now - ${DEAD_MILLIS}))
shown = tonumber(ARGV[7])
-- ends what is overdue, unless it is still to be waited for
local function overdue(key, ends)
  local ended, waited_for = 0, 0
  for page = 1, ${PAGES} do
    local ids = call('ZRANGEBYSCORE', key, '-inf', '(' .. int(now), 'WITHSCORES', 'LIMIT', waited_for, ${LIMIT})
    for i = 1, #ids, 2 do
      if ends(ids[i], load(ids[i]), tonumber(ids[i + 1])) then ended = ended + 1 else waited_for = waited_for + 1 end
    end
    if ended >= ${LIMIT} then more = 1 end
    if ended >= ${LIMIT} or #ids < ${2 * LIMIT} then return end
  end
end
overdue(LEASES, function(id, t, deadline)
  if t[1] == 'c' and silent_since(deadline) then return false end
  if t[1] == 'l' then
    over(id, t, 'R')
  elseif t[1] == 'u' then
    drop(id, t)
  elseif t[1] == 's' then
    local deadline = doubt(id, t)
    wait_again(id, t, ARGV[6])
    park(id, deadline)
  else
    free(id, t)
    finish(id, t, 'M', 'missed')
  end
  return true
end)
call('ZREMRANGEBYSCORE', PARKED, '-inf', '(' .. int(now))
if not unattended() then
  overdue(PRESENCE, function(id, t, seen)
    if not absent(t, seen) then return false end
    unwait(id, t)
    finish(id, t, 'A')
    return true
  end)
end
local forgotten = call('ZRANGEBYSCORE', FORGET, '-inf', '(' .. int(now), 'LIMIT', 0, ${LIMIT})
for _, id in ipairs(forgotten) do
  call('HDEL', TICKETS, id)
  call('ZREM', FORGET, id)
end
local withdrawn = num(META, 'withdrawn')
if withdrawn > 0 and withdrawn < now and #forgotten < ${LIMIT} then call('HDEL', META, 'withdrawn') end
call('ZREMRANGEBYSCORE', OVER, '-inf', int(now - ${OVER_MILLIS}))
local crowd = call('ZCARD', OVER) - ${OVER_MAX}
if crowd > 0 then call('ZREMRANGEBYRANK', OVER, 0, crowd - 1) end
if #forgotten == ${LIMIT} then more = 1 end
if call_next() == 1 then more = 1 end
local owed = call('ZRANGEBYSCORE', SETTLE, '-inf', int(now - ${SETTLE_AFTER_MILLIS}), 'LIMIT', 0, ${LIMIT})
return reply({more, call('ZCARD', WAITING), call('ZCARD', LEASES), num(META, 'live'), num(META, 'avg'), owed, num(META, 'doubts')})
`,
  (s) => {
    const { db, now } = s
    const before = now - 1
    const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
    const recount = (prefix: string, members: string): void => {
      for (const id of db.zrangebyscore(members, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)) {
        const network = s.load(id)?.[7]
        if (network) s.count(prefix + network, 1)
      }
    }
    const swept = s.num("swept")
    const due = swept > 0 && Math.floor(swept / RECOUNT_MILLIS) !== Math.floor(now / RECOUNT_MILLIS)
    if (due && db.zcard(s.leases) + db.zcard(s.waiting) <= RECOUNT_MOST) {
      db.del(s.networks)
      db.del(s.passed)
      db.hdel(s.meta, "passed")
      recount("h", s.leases)
      recount("w", s.waiting)
    }
    if (s.away()) forgive(s, swept, s.arg(0))
    if (now > swept || swept - now > DEAD_MILLIS) db.hset(s.meta, "swept", String(now))
    db.zadd(s.gates, now, s.self)
    db.zremrangebyscore(s.gates, NEGATIVE_INFINITY, now - DEAD_MILLIS - 1)
    s.shown = Number(s.arg(1))
    let more = 0
    const overdue = (key: string, ends: (id: string, t: Ticket, deadline: number) => boolean): void => {
      let ended = 0
      let waitedFor = 0
      for (let page = 0; page < PAGES; page++) {
        const ids = db.zrangebyscore(key, NEGATIVE_INFINITY, before, LIMIT, waitedFor)
        for (const id of ids) {
          const t = s.load(id)
          if (t !== undefined && ends(id, t, db.zscore(key, id) ?? 0)) ended++
          else waitedFor++
        }
        if (ended >= LIMIT) more = 1
        if (ended >= LIMIT || ids.length < LIMIT) return
      }
    }
    overdue(s.leases, (id, t, deadline) => {
      if (t[0] === "c" && silentSince(s, deadline) !== undefined) return false
      if (t[0] === "l") {
        s.over(id, t, "R")
      } else if (t[0] === "u") {
        s.drop(id, t)
      } else if (t[0] === "s") {
        const deadline = s.doubt(id, t)
        s.waitAgain(id, t, Number(s.arg(0)))
        s.park(id, deadline)
      } else {
        s.free(id, t)
        s.finish(id, t, "M", "missed")
      }
      return true
    })
    db.zremrangebyscore(s.parkedKey, Number.NEGATIVE_INFINITY, before)
    if (!s.unattended()) {
      overdue(s.presence, (id, t, seen) => {
        if (!absent(s, t, seen)) return false
        s.unwait(id, t)
        s.finish(id, t, "A")
        return true
      })
    }
    const forgotten = db.zrangebyscore(s.forget, Number.NEGATIVE_INFINITY, before, LIMIT)
    for (const id of forgotten) {
      db.hdel(s.tickets, id)
      db.zrem(s.forget, id)
    }
    const withdrawn = s.num("withdrawn")
    if (withdrawn > 0 && withdrawn < now && forgotten.length < LIMIT) db.hdel(s.meta, "withdrawn")
    db.zremrangebyscore(s.overs, Number.NEGATIVE_INFINITY, now - OVER_MILLIS)
    for (let crowd = db.zcard(s.overs) - OVER_MAX; crowd > 0; crowd--) db.zrem(s.overs, db.zat(s.overs, 0) ?? "")
    if (forgotten.length === LIMIT) more = 1
    if (s.callNext() === 1) more = 1
    const owed = db.zrangebyscore(s.settle, Number.NEGATIVE_INFINITY, now - SETTLE_AFTER_MILLIS, LIMIT)
    const counts = [db.zcard(s.waiting), db.zcard(s.leases), s.num("live"), s.num("avg")]
    return s.reply([more, ...counts, owed, s.num("doubts")])
  },
)

/**
 * Settlements that the rate limiter has carried out.
 *
 * ARGV 6… `'refund|release|missed id caller'`
 * Result the number of them that were still owed
 */
export const settled = script(
  "settled",
  `
local done = 0
for i = 6, #ARGV do done = done + call('ZREM', SETTLE, ARGV[i]) end
return reply({done})
`,
  (s) => s.reply([s.args.filter((entry) => s.db.zrem(s.settle, entry)).length]),
)

/**
 * Live leases to ask the platform about, because a webhook may be lost; claimed by one instance for a while.
 *
 * ARGV 6 taken before (ms) · 7 claimed until (ms)
 * Result session ids, one a lease
 */
export const audit = script(
  "audit",
  `
local before, claim = tonumber(ARGV[6]), ARGV[7]
local found = {}
if num(META, 'audit') > now then return reply(found) end
call('HSET', META, 'audit', claim)
for _, id in ipairs(call('ZRANGE', LEASES, 0, ${LIMIT} - 1)) do
  local t = load(id)
  if t[1] == 'l' and tonumber(t[6]) <= before then
    found[#found + 1] = cjson.decode(call('HGET', DATA, id)).s[1]
  end
end
return reply(found)
`,
  (s) => {
    if (s.num("audit") > s.now) return s.reply([])
    s.db.hset(s.meta, "audit", s.arg(1))
    const found: Array<string> = []
    for (const id of s.db.zrangebyscore(s.leases, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, LIMIT)) {
      const t = s.load(id)
      if (t?.[0] !== "l" || Number(t[5]) > Number(s.arg(0))) continue
      const data: { s: ReadonlyArray<string> } = JSON.parse(s.db.hget(s.data, id) ?? '{"s":[]}')
      if (data.s[0] !== undefined) found.push(data.s[0])
    }
    return s.reply(found)
  },
)
