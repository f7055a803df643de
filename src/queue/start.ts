import { behind, silentSince } from "./outage.ts"
import { running, sessionsIn } from "./quarantine.ts"
import { script } from "./step.ts"

/**
 * A called ticket takes its slot to start. A call that came too late frees the slot for the next, unless nobody could come, or the
 * platform cannot be reached.
 *
 * ARGV 6 id · 7 deadline of the start (ms)
 * Result `['starting', lease, configuration, called at, accepted at]` (ms; 0 where a record of an older version does not say)
 * · `['waiting', position, length, average ms, disrupted]` · `['busy']` while another start of it is under way · `['live', session]` · `['over', state]` · `['unknown']`
 */
export const start = script(
  "start",
  `
local id, deadline = ARGV[6], ARGV[7]
local t = load(id)
if not t then return reply({'unknown'}) end
if t[1] == 'w' then return reply(place(id)) end
if t[1] == 's' then return reply({'busy'}) end
if t[1] == 'l' then return reply(live(id, t)) end
if t[1] ~= 'c' then return reply({'over', t[1]}) end
local ends = tonumber(call('ZSCORE', LEASES, id) or '0')
if ends < now and not silent_since(ends) and num(META, 'disrupted') == 0 then
  free(id, t)
  finish(id, t, 'M', 'missed')
  call_next()
  return reply({'over', 'M'})
end
t[1] = 's'
save(id, t)
call('ZADD', LEASES, int(deadline + behind()), id)
return reply({'starting', t[3], call('HGET', DATA, id) or '', t[6], t[7] or '0'})
`,
  (s) => {
    const id = s.arg(0)
    const t = s.load(id)
    if (t === undefined) return s.reply(["unknown"])
    if (t[0] === "w") return s.reply(s.place(id))
    if (t[0] === "s") return s.reply(["busy"])
    if (t[0] === "l") return s.reply(s.live(id, t))
    if (t[0] !== "c") return s.reply(["over", t[0]])
    const ends = s.db.zscore(s.leases, id) ?? 0
    if (ends < s.now && silentSince(s, ends) === undefined && !s.disrupted()) {
      s.free(id, t)
      s.finish(id, t, "M", "missed")
      s.callNext()
      return s.reply(["over", "M"])
    }
    t[0] = "s"
    s.save(id, t)
    s.db.zadd(s.leases, Number(s.arg(1)) + behind(s), id)
    return s.reply(["starting", t[2], s.db.hget(s.data, id) ?? "", t[5], t[6] ?? "0"])
  },
)

/**
 * The platform has started the session: the lease goes live, unless it is no longer this one (then nothing is touched),
 * or the session's end was heard before its start. Repeated, because the first answer was lost, it is live still. An answer that
 * came when the start was in doubt already ends the doubt: the ticket is live where it still waits, else the slot is held until the
 * session ends.
 *
 * ARGV 6 id · 7 lease · 8 longest call until (ms) · 9 session, JSON with the ids in `s`, its last field and not empty · 10… session ids
 * Result `['live']` · `['ended']` · `['stale']`
 */
export const bind = script(
  "bind",
  `
local id, lease, deadline, session = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local t = load(id)
local own = t and t[3] == lease
if own and t[1] == 'l' then return reply({'live'}) end
local holder = id
if not own or t[1] ~= 's' then
  holder = '?' .. lease
  local doubt = load(holder)
  if not doubt or doubt[1] ~= 'u' or doubter(holder) ~= id then return reply({'stale'}) end
  if own and t[1] == 'w' then
    unwait(id, t)
    call('ZREM', LEASES, holder)
    call('HDEL', TICKETS, holder)
    call('HDEL', DATA, holder)
    t[6], holder = doubt[6], id
  else
    t = doubt
    decided(holder, t)
  end
  count_doubts(-1)
end
t[1] = 'l'
save(holder, t)
call('HSET', DATA, holder, session)
call('ZADD', LEASES, deadline, holder)
call('HINCRBY', META, 'live', 1)
call('HINCRBY', META, 'started', 1)
rested()
local ended = false
for i = 10, #ARGV do
  call('HSET', SESSIONS, ARGV[i], holder)
  if call('ZSCORE', OVER, ARGV[i]) then ended = true end
end
if ended then over(holder, t, 'F') end
if reached() or ended or holder ~= id then call_next() end
if holder ~= id then return reply({'stale'}) end
return reply({ended and 'ended' or 'live'})
`,
  (s) => {
    const id = s.arg(0)
    const lease = s.arg(1)
    let t = s.load(id)
    const own = t !== undefined && t[2] === lease
    if (own && t?.[0] === "l") return s.reply(["live"])
    let holder = id
    if (t === undefined || !own || t[0] !== "s") {
      holder = `?${lease}`
      const doubt = s.load(holder)
      if (doubt?.[0] !== "u" || s.doubter(holder) !== id) return s.reply(["stale"])
      if (t !== undefined && own && t[0] === "w") {
        s.unwait(id, t)
        s.db.zrem(s.leases, holder)
        s.db.hdel(s.tickets, holder)
        s.db.hdel(s.data, holder)
        t[5] = doubt[5]
        holder = id
      } else {
        t = doubt
        s.decided(holder, t)
      }
      s.countDoubts(-1)
    }
    t[0] = "l"
    s.save(holder, t)
    s.db.hset(s.data, holder, s.arg(3))
    s.db.zadd(s.leases, Number(s.arg(2)), holder)
    s.db.hincrby(s.meta, "live", 1)
    s.db.hincrby(s.meta, "started", 1)
    s.rested()
    let ended = false
    for (const session of s.args.slice(4)) {
      s.db.hset(s.sessions, session, holder)
      if (s.db.zscore(s.overs, session) !== undefined) ended = true
    }
    if (ended) s.over(holder, t, "F")
    if (s.reached() || ended || holder !== id) s.callNext()
    if (holder !== id) return s.reply(["stale"])
    return s.reply([ended ? "ended" : "live"])
  },
)

/**
 * The platform names a running session by further ids, under any of which its end may be told. One of them whose end was
 * told already ends the session now. The known id is the fence: it belongs to a running session and to no other.
 *
 * ARGV 6 a known session id · 7… pairs of a further id and the same as JSON
 * Result `['kept']` · `['ended', id]` · `['stale']` when the known session does not run
 */
export const alias = script(
  "alias",
  `
local id, t = running(ARGV[6])
if not id then return reply({'stale'}) end
local session, ended = call('HGET', DATA, id), false
if not sessions_in(session)[1] then return reply({'stale'}) end
for i = 7, #ARGV, 2 do
  if call('HSETNX', SESSIONS, ARGV[i], id) == 1 then
    session = string.sub(session, 1, -3) .. ',' .. ARGV[i + 1] .. ']}'
    if call('ZSCORE', OVER, ARGV[i]) then ended = true end
  end
end
call('HSET', DATA, id, session)
if not ended then return reply({'kept'}) end
over(id, t, 'E')
rested()
call_next()
return reply({'ended', id})
`,
  (s) => {
    const found = running(s, s.arg(0))
    if (found === undefined) return s.reply(["stale"])
    const [id, t] = found
    let session = s.db.hget(s.data, id) ?? ""
    if (sessionsIn(session).length === 0) return s.reply(["stale"])
    let ended = false
    for (let i = 1; i < s.args.length; i += 2) {
      const further = s.arg(i)
      if (s.db.hget(s.sessions, further) !== undefined) continue
      s.db.hset(s.sessions, further, id)
      // the ids come last in the session's JSON, as `bind` was given it
      session = `${session.slice(0, -2)},${s.arg(i + 1)}]}`
      if (s.db.zscore(s.overs, further) !== undefined) ended = true
    }
    s.db.hset(s.data, id, session)
    if (!ended) return s.reply(["kept"])
    s.over(id, t, "E")
    s.rested()
    s.callNext()
    return s.reply(["ended", id])
  },
)
