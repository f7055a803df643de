import { script } from "./step.ts"

/**
 * Admits a newcomer: to a slot when one is free and nobody waits, else to the end of the queue, else not at all. While an
 * operator has paused the campaign newcomers queue; while it drains they are sent away and those who wait are served.
 *
 * ARGV 6 id · 7 longest queue · 8 present until (ms) · 9 deadline of a start (ms) · 10 caller · 11 configuration
 * Result `['starting', lease]` · `['waiting', position, length, average ms]` · `['full', length, average ms]`
 * · `['draining']`
 */
export const admit = script(
  "admit",
  `
local id, longest, present, deadline, caller, data = ARGV[6], tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9]), ARGV[10], ARGV[11]
call_next()
if num(META, 'draining') == 1 then return reply({'draining'}) end
local length = call('ZCARD', WAITING)
local t = {'w', '0', '0', '', caller, '0', int(now)}
if length == 0 and call('ZCARD', LEASES) < slots and not resting() and not paused() then
  t[2] = int(call('HINCRBY', META, 'seq', 1))
  reserve(id, t, 's', deadline)
  call('HSET', DATA, id, data)
  return reply({'starting', t[3]})
end
if length >= longest then return reply({'full', length, num(META, 'avg')}) end
t[2] = int(call('HINCRBY', META, 'seq', 1))
save(id, t)
call('HSET', DATA, id, data)
call('ZADD', WAITING, t[2], id)
call('ZADD', PRESENCE, present, id)
return reply({'waiting', length + 1, length + 1, num(META, 'avg')})
`,
  (s) => {
    const id = s.arg(0)
    const longest = Number(s.arg(1))
    const present = Number(s.arg(2))
    const deadline = Number(s.arg(3))
    const caller = s.arg(4)
    const data = s.arg(5)
    s.callNext()
    if (s.num("draining") === 1) return s.reply(["draining"])
    const length = s.db.zcard(s.waiting)
    const seq = (): string => String(s.db.hincrby(s.meta, "seq", 1))
    if (length === 0 && s.db.zcard(s.leases) < s.slots && !s.resting() && !s.paused()) {
      const lease = s.reserve(id, ["w", seq(), "0", "", caller, "0", String(s.now)], "s", deadline)
      s.db.hset(s.data, id, data)
      return s.reply(["starting", lease])
    }
    if (length >= longest) return s.reply(["full", length, s.num("avg")])
    const place = seq()
    s.save(id, ["w", place, "0", "", caller, "0", String(s.now)])
    s.db.hset(s.data, id, data)
    s.db.zadd(s.waiting, Number(place), id)
    s.db.zadd(s.presence, present, id)
    return s.reply(["waiting", length + 1, length + 1, s.num("avg")])
  },
)
