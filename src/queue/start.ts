import { behind, silentSince } from "./outage.ts"
import { script } from "./step.ts"

/**
 * A called ticket takes its slot to start. A call that came too late frees the slot for the next, unless nobody could come.
 *
 * ARGV 6 id · 7 deadline of the start (ms)
 * Result `['starting', lease, configuration, called at, accepted at]` (ms; 0 where a record of an older version does not say)
 * · `['waiting', position, length, average ms]` · `['busy']` while another start of it is under way · `['live', session]` · `['over', state]` · `['unknown']`
 */
export const start = script(
  "start",
  `
local id, deadline = ARGV[6], ARGV[7]
local t = load(id)
if not t then return reply({'unknown'}) end
if t[1] == 'w' then return reply(place(id)) end
if t[1] == 's' then return reply({'busy'}) end
if t[1] == 'l' then return reply({'live', call('HGET', DATA, id) or ''}) end
if t[1] ~= 'c' then return reply({'over', t[1]}) end
local ends = tonumber(call('ZSCORE', LEASES, id) or '0')
if ends < now and not silent_since(ends) then
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
    if (t[0] === "l") return s.reply(["live", s.db.hget(s.data, id) ?? ""])
    if (t[0] !== "c") return s.reply(["over", t[0]])
    const ends = s.db.zscore(s.leases, id) ?? 0
    if (ends < s.now && silentSince(s, ends) === undefined) {
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
 * or the session's end was heard before its start. Repeated, because the first answer was lost, it is live still.
 *
 * ARGV 6 id · 7 lease · 8 longest call until (ms) · 9 session, JSON with the ids in `s`, its last field and not empty · 10… session ids
 * Result `['live']` · `['ended']` · `['stale']`
 */
export const bind = script(
  "bind",
  `
local id, lease, deadline, session = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local t = load(id)
if not t or t[3] ~= lease then return reply({'stale'}) end
if t[1] == 'l' then return reply({'live'}) end
if t[1] ~= 's' then return reply({'stale'}) end
t[1] = 'l'
save(id, t)
call('HSET', DATA, id, session)
call('ZADD', LEASES, deadline, id)
call('HINCRBY', META, 'live', 1)
rested()
local ended = false
for i = 10, #ARGV do
  call('HSET', SESSIONS, ARGV[i], id)
  if call('ZSCORE', OVER, ARGV[i]) then ended = true end
end
if not ended then return reply({'live'}) end
over(id, t, 'F')
call_next()
return reply({'ended'})
`,
  (s) => {
    const id = s.arg(0)
    const t = s.load(id)
    if (t === undefined || t[2] !== s.arg(1)) return s.reply(["stale"])
    if (t[0] === "l") return s.reply(["live"])
    if (t[0] !== "s") return s.reply(["stale"])
    t[0] = "l"
    s.save(id, t)
    s.db.hset(s.data, id, s.arg(3))
    s.db.zadd(s.leases, Number(s.arg(2)), id)
    s.db.hincrby(s.meta, "live", 1)
    s.rested()
    let ended = false
    for (const session of s.args.slice(4)) {
      s.db.hset(s.sessions, session, id)
      if (s.db.zscore(s.overs, session) !== undefined) ended = true
    }
    if (!ended) return s.reply(["live"])
    s.over(id, t, "F")
    s.callNext()
    return s.reply(["ended"])
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
local id = call('HGET', SESSIONS, ARGV[6])
local t = id and load(id)
if not t or t[1] ~= 'l' then return reply({'stale'}) end
local session, ended = call('HGET', DATA, id), false
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
    const id = s.db.hget(s.sessions, s.arg(0))
    const t = id === undefined ? undefined : s.load(id)
    if (id === undefined || t === undefined || t[0] !== "l") return s.reply(["stale"])
    let session = s.db.hget(s.data, id) ?? ""
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

/**
 * The platform has not started the session. At capacity, the ticket goes back to its own place, which its `seq` still
 * names, and the campaign rests: a back-off that doubles, until a session ends or starts, and stays short while none is live;
 * starts that were under way
 * together and are refused together count as one. Where the platform limits the key's requests the campaign rests for the
 * first back-off and no longer: that says nothing about free slots. Otherwise the ticket has failed and the slot goes to the next; its quota
 * is given back unless the platform refused what the caller sent.
 *
 * ARGV 6 id · 7 lease · 8 `capacity`, `limited`, `failed` (quota is given back) or `refused` (it is not) · 9 present until (ms) · 10 first back-off (ms) · 11 longest (ms)
 * · 12 longest while no session is live (ms)
 * Result `['waiting', position, length, average ms]` · `['failed']` · `['stale']`
 */
export const release = script(
  "release",
  `
local id, lease, kind, present, first = ARGV[6], ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])
local longest = tonumber(ARGV[num(META, 'live') > 0 and 11 or 12])
local t = load(id)
if not t or t[1] ~= 's' or t[3] ~= lease then return reply({'stale'}) end
free(id, t)
if kind == 'failed' or kind == 'refused' then
  finish(id, t, 'F', kind == 'failed' and 'refund' or nil)
  call_next()
  return reply({'failed'})
end
t[1] = 'w'
save(id, t)
wait(id, t, present)
if not resting() then
  local n = 1
  if kind == 'capacity' then n = math.min(call('HINCRBY', META, 'restn', 1), 20) end
  call('HSET', META, 'rest', int(now + math.min(first * 2 ^ (n - 1), longest)))
end
return reply(place(id))
`,
  (s) => {
    const id = s.arg(0)
    const t = s.load(id)
    if (t === undefined || t[0] !== "s" || t[2] !== s.arg(1)) return s.reply(["stale"])
    s.free(id, t)
    const kind = s.arg(2)
    if (kind === "failed" || kind === "refused") {
      s.finish(id, t, "F", kind === "failed" ? "refund" : "release")
      s.callNext()
      return s.reply(["failed"])
    }
    t[0] = "w"
    s.save(id, t)
    s.wait(id, t, Number(s.arg(3)))
    if (!s.resting()) {
      const n = kind === "capacity" ? Math.min(s.db.hincrby(s.meta, "restn", 1), 20) : 1
      const longest = Number(s.arg(s.num("live") > 0 ? 5 : 6))
      s.db.hset(s.meta, "rest", String(s.now + Math.min(Number(s.arg(4)) * 2 ** (n - 1), longest)))
    }
    return s.reply(s.place(id))
  },
)
