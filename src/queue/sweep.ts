import { expire, expiryLua, forgetOld, LIMIT, leftOwed } from "./expiry.ts"
import { absent, DEAD_MILLIS, forgive, miss, silentSince } from "./outage.ts"
import { listed, sessionsIn } from "./quarantine.ts"
import { OVER_MILLIS, script, type Ticket } from "./step.ts"

/** At most so many times as many are looked at for it, when others are still to be waited for. */
const PAGES = 5
/** The end of a session that nobody knows is remembered for so many at most. */
const OVER_MAX = 100_000

/** How often what networks hold and wait for is counted anew (ms). */
export const RECOUNT_MILLIS = 10 * 60_000
/** With more slots taken and places together than this it is not: it would keep the store from others for too long. */
export const RECOUNT_MOST = 2_000

/**
 * Upholds what time decides: leases past their deadline are freed (called → missed, live → reclaimed, doubt → gone), except that a
 * start whose gate died may have happened: its slot is held in doubt, and its ticket goes back to its place;
 * absent tickets are abandoned, free slots call the next, and what is over is forgotten. What an outage brought about is held against
 * nobody (`outage.ts`). Every `RECOUNT_MILLIS` what networks have, live sessions and doubts are counted anew, because beside an
 * instance of a version that does not count them, they would be wrong for ever; and so they are after a record was found that was
 * none (`quarantine.ts`). Any instance may run it at any moment, as often as
 * it likes.
 *
 * ARGV 6 presence of those who could not show it (ms) · 7 until when this gate has shown who is connected to it (ms)
 * Result `[more, waiting, leases, live, average ms, owed, doubts, quarantined, last, disrupted]`: more is 1 when another sweep has work at once; owed
 * are settlements `'refund|release|missed id caller'` left behind by a process that died; last is the time, key and id of what was quarantined last
 */
export const sweep = script(
  "sweep",
  `${expiryLua}
local more = 0
local states = {}
local function recount(prefix, members)
  for _, id in ipairs(call('ZRANGE', members, 0, -1)) do
    local t = listed(members, id)
    if t then
      if counted(t) then count(prefix .. t[8], 1) end
      if members == WAITING then call('ZADD', PRESENCE, 'NX', ARGV[6], id) end
      states[t[1]] = (states[t[1]] or 0) + 1
    end
  end
end
local function set_count(field, to)
  if to == 0 then call('HDEL', META, field) else call('HSET', META, field, int(to)) end
end
local swept = num(META, 'swept')
local due = swept > 0 and math.floor(swept / ${RECOUNT_MILLIS}) ~= math.floor(now / ${RECOUNT_MILLIS})
local uneven = call('ZCARD', PRESENCE) ~= call('ZCARD', WAITING)
due = due or uneven or num(META, 'recount') == 1
if due and call('ZCARD', LEASES) + call('ZCARD', WAITING) <= ${RECOUNT_MOST} then
  call('DEL', NETWORKS, PASSED)
  call('HDEL', META, 'passed', 'recount')
  recount('h', LEASES)
  recount('w', WAITING)
  if uneven then
    for _, id in ipairs(call('ZRANGE', PRESENCE, 0, -1)) do
      local t = listed(PRESENCE, id)
      if t and not call('ZSCORE', WAITING, id) then wait(id, t, ARGV[6]) end
    end
  end
  set_count('live', states.l or 0)
  set_count('doubts', states.u or 0)
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
      local t = listed(key, ids[i])
      if not t or ends(ids[i], t, tonumber(ids[i + 1])) then ended = ended + 1 else waited_for = waited_for + 1 end
    end
    if ended >= ${LIMIT} then more = 1 end
    if ended >= ${LIMIT} or #ids < ${2 * LIMIT} then return end
  end
end
overdue(LEASES, function(id, t, deadline)
  if t[1] == 'c' and silent_since(deadline) then return false end
  if t[1] == 'c' then
    miss(id, t, ARGV[6])
  else
    expire(id, t, ARGV[6])
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
local forgotten = forget_old()
local withdrawn = num(META, 'withdrawn')
if withdrawn > 0 and withdrawn < now and forgotten < ${LIMIT} then call('HDEL', META, 'withdrawn') end
call('ZREMRANGEBYSCORE', OVER, '-inf', int(now - ${OVER_MILLIS}))
local crowd = call('ZCARD', OVER) - ${OVER_MAX}
if crowd > 0 then call('ZREMRANGEBYRANK', OVER, 0, crowd - 1) end
if forgotten == ${LIMIT} then more = 1 end
if call_next() == 1 then more = 1 end
local owed = left_owed()
return reply({more, call('ZCARD', WAITING), call('ZCARD', LEASES), num(META, 'live'), num(META, 'avg'), owed, num(META, 'doubts'),
  num(META, 'quarantined'), call('HGET', META, 'junk') or '', num(META, 'disrupted')})
`,
  (s) => {
    const { db, now } = s
    const before = now - 1
    const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
    const states = new Map<string, number>()
    const recount = (prefix: string, members: string): void => {
      for (const id of db.zrangebyscore(members, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)) {
        const t = listed(s, members, id)
        if (t === undefined) continue
        if (t[7]) s.count(prefix + t[7], 1)
        if (members === s.waiting && db.zscore(s.presence, id) === undefined) {
          db.zadd(s.presence, Number(s.arg(0)), id)
        }
        states.set(t[0], (states.get(t[0]) ?? 0) + 1)
      }
    }
    const setCount = (field: string, to: number): void => {
      if (to === 0) db.hdel(s.meta, field)
      else db.hset(s.meta, field, String(to))
    }
    const swept = s.num("swept")
    const due = swept > 0 && Math.floor(swept / RECOUNT_MILLIS) !== Math.floor(now / RECOUNT_MILLIS)
    const uneven = db.zcard(s.presence) !== db.zcard(s.waiting)
    if ((due || uneven || s.num("recount") === 1) && db.zcard(s.leases) + db.zcard(s.waiting) <= RECOUNT_MOST) {
      db.del(s.networks)
      db.del(s.passed)
      db.hdel(s.meta, "passed")
      db.hdel(s.meta, "recount")
      recount("h", s.leases)
      recount("w", s.waiting)
      if (uneven) {
        for (const id of db.zrangebyscore(s.presence, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)) {
          const t = listed(s, s.presence, id)
          if (t !== undefined && db.zscore(s.waiting, id) === undefined) s.wait(id, t, Number(s.arg(0)))
        }
      }
      setCount("live", states.get("l") ?? 0)
      setCount("doubts", states.get("u") ?? 0)
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
          const score = db.zscore(key, id) ?? 0
          const t = listed(s, key, id)
          if (t === undefined || ends(id, t, score)) ended++
          else waitedFor++
        }
        if (ended >= LIMIT) more = 1
        if (ended >= LIMIT || ids.length < LIMIT) return
      }
    }
    overdue(s.leases, (id, t, deadline) => {
      if (t[0] === "c" && silentSince(s, deadline) !== undefined) return false
      if (t[0] === "c") {
        miss(s, id, t, Number(s.arg(0)))
      } else {
        expire(s, id, t, Number(s.arg(0)))
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
    const forgotten = forgetOld(s)
    const withdrawn = s.num("withdrawn")
    if (withdrawn > 0 && withdrawn < now && forgotten < LIMIT) db.hdel(s.meta, "withdrawn")
    db.zremrangebyscore(s.overs, Number.NEGATIVE_INFINITY, now - OVER_MILLIS)
    for (let crowd = db.zcard(s.overs) - OVER_MAX; crowd > 0; crowd--) db.zrem(s.overs, db.zat(s.overs, 0) ?? "")
    if (forgotten === LIMIT) more = 1
    if (s.callNext() === 1) more = 1
    const owed = leftOwed(s)
    const counts = [db.zcard(s.waiting), db.zcard(s.leases), s.num("live"), s.num("avg")]
    const junk = db.hget(s.meta, "junk") ?? ""
    return s.reply([more, ...counts, owed, s.num("doubts"), s.num("quarantined"), junk, s.num("disrupted")])
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
  local t = listed(LEASES, id)
  if t and t[1] == 'l' and tonumber(t[6]) <= before then
    found[#found + 1] = sessions_in(call('HGET', DATA, id))[1]
  end
end
return reply(found)
`,
  (s) => {
    if (s.num("audit") > s.now) return s.reply([])
    s.db.hset(s.meta, "audit", s.arg(1))
    const found: Array<string> = []
    for (const id of s.db.zrangebyscore(s.leases, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, LIMIT)) {
      const t = listed(s, s.leases, id)
      if (t?.[0] !== "l" || Number(t[5]) > Number(s.arg(0))) continue
      const [session] = sessionsIn(s.db.hget(s.data, id))
      if (session !== undefined) found.push(session)
    }
    return s.reply(found)
  },
)
