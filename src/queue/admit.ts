import { script } from "./step.ts"

/** How many arguments `admit` has. */
export const ADMIT_ARGS = 11

/**
 * Admits newcomers: to a slot while one is free and nobody waits, else to the end of the queue, else not at all. While an
 * operator has paused the campaign newcomers queue; while it drains they are sent away and those who wait are served.
 *
 * ARGV 6 id · 7 longest queue · 8 present until (ms) · 9 deadline of a start (ms) · 10 caller · 11 configuration; then id,
 * caller and configuration of each further newcomer
 * Result of each `['starting', lease]` · `['waiting', position, length, average ms]` · `['full', length, average ms]`
 * · `['draining']`; what the whole step signals and owes is said with the first
 */
export const admit = script(
  "admit",
  `
local longest, present, deadline = tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])
local ids, callers, datas = {ARGV[6]}, {ARGV[10]}, {ARGV[11]}
for a = 12, #ARGV, 3 do
  local n = #ids + 1
  ids[n], callers[n], datas[n] = ARGV[a], ARGV[a + 1], ARGV[a + 2]
end
call_next()
local meta = call('HMGET', META, 'draining', 'rest', 'paused', 'avg')
local length, held, avg = call('ZCARD', WAITING), call('ZCARD', LEASES), tonumber(meta[4] or '0')
local draining, closed = meta[1] == '1', tonumber(meta[2] or '0') > now or meta[3] == '1'
-- the first of them find slots, the next places, the rest nothing
local starting = 0
if length == 0 and not closed then starting = math.min(#ids, math.max(0, slots - held)) end
local waiting = math.min(#ids - starting, math.max(0, longest - length))
if draining then starting, waiting = 0, 0 end
local seq = 0
if starting + waiting > 0 then seq = call('HINCRBY', META, 'seq', starting + waiting) - starting - waiting end
local accepted = ',"0","' .. int(now) .. '"]'
local results, records, data, line, seen = {}, {}, {}, {}, {}
for n = 1, #ids do
  local id = ids[n]
  if draining then
    results[n] = {{'draining'}}
  elseif n <= starting then
    local t = {'w', int(seq + n), '0', '', callers[n], '0', int(now)}
    reserve(id, t, 's', deadline)
    call('HSET', DATA, id, datas[n])
    results[n] = {{'starting', t[3]}}
  elseif n <= starting + waiting then
    local place, m = int(seq + n), #line + 1
    records[m], records[m + 1] = id, '["w","' .. place .. '","0","",' .. cjson.encode(callers[n]) .. accepted
    data[m], data[m + 1] = id, datas[n]
    line[m], line[m + 1] = place, id
    seen[m], seen[m + 1] = present, id
    length = length + 1
    results[n] = {{'waiting', length, length, avg}}
  else
    results[n] = {{'full', length, avg}}
  end
end
if #line > 0 then
  call('HSET', TICKETS, unpack(records))
  call('HSET', DATA, unpack(data))
  call('ZADD', WAITING, unpack(line))
  call('ZADD', PRESENCE, unpack(seen))
end
results[1][2], results[1][3] = signals, settlements
return results
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
  { own: [5, 9, 10], times: [0, 7, 8] },
)
