import { behind } from "./outage.ts"
import { PROBE_MILLIS, script, type Ticket } from "./step.ts"

/** How many arguments `admit` has. */
export const ADMIT_ARGS = 12

/**
 * Admits newcomers: to a slot while one is free and nobody waits, else to the end of the queue, else not at all. While an
 * operator has paused the campaign newcomers queue; while it drains they are sent away and those who wait are served. While the
 * platform cannot be reached, one of them at a time is let in to find out.
 *
 * From the moment when half of the places are taken, a network that has as many places as its share of those still free gets no
 * further one: for it the queue is full. So no number of requests of one network takes the last places from the others.
 *
 * A newcomer that was withdrawn already (`withdraw`) is not admitted, and what it took since is given back: its command was on
 * the way for longer than anybody waited for it.
 *
 * ARGV 6 id · 7 longest queue · 8 present until (ms) · 9 deadline of a start (ms) · 10 caller · 11 configuration · 12 network, or
 * empty; then id, caller, configuration and network of each further newcomer
 * Result of each `['starting', lease]` · `['waiting', position, length, average ms, disrupted]` · `['full', length, average ms]`
 * · `['draining']`, also to whoever was withdrawn; what the whole step signals and owes is said with the first
 */
export const admit = script(
  "admit",
  `
local longest, present, deadline = tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])
local ids, callers, datas, networks = {ARGV[6]}, {ARGV[10]}, {ARGV[11]}, {ARGV[12]}
for a = 13, #ARGV, 4 do
  local n = #ids + 1
  ids[n], callers[n], datas[n], networks[n] = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
end
call_next()
local meta = call('HMGET', META, 'draining', 'rest', 'paused', 'avg', 'withdrawn', 'disrupted', 'probe')
local disrupted = meta[6] and 1 or 0
local late = {}
if meta[5] then
  local withdrawn = call('ZMSCORE', FORGET, unpack(ids))
  for n = 1, #ids do
    if withdrawn[n] then
      late[#late + 1] = n
      owe('refund', ids[n], callers[n])
    end
  end
  for l = #late, 1, -1 do
    for _, each in ipairs({ids, callers, datas, networks}) do table.remove(each, late[l]) end
  end
end
local length, held, avg = call('ZCARD', WAITING), call('ZCARD', LEASES), tonumber(meta[4] or '0') or 0
local draining, closed = meta[1] == '1', (tonumber(meta[2] or '0') or 0) > now or meta[3] == '1'
if disrupted == 1 and (tonumber(meta[7] or '0') or 0) > now then closed = true end
-- the first of them find slots, others places, the rest nothing
local starting = 0
if length == 0 and not closed then starting = math.min(#ids, math.max(0, slots - held)) end
if draining then starting = 0 end
if disrupted == 1 and starting > 0 then
  starting = 1
  call('HSET', META, 'probe', int(now + ${PROBE_MILLIS}))
end
if starting > 0 then deadline = deadline + behind() end
local counts, fields = {}, {}
for n = starting + 1, #ids do
  local network = networks[n]
  if network ~= '' and not counts[network] then
    counts[network] = 0
    fields[#fields + 1] = 'w' .. network
  end
end
if #fields > 0 and not draining then
  local found = call('HMGET', NETWORKS, unpack(fields))
  for f = 1, #fields do counts[string.sub(fields[f], 2)] = tonumber(found[f] or '0') or 0 end
end
local waits, waiting, changed = {}, 0, {}
for n = starting + 1, #ids do
  local network, taken = networks[n], length + waiting
  local free = longest - taken
  local crowded = network ~= '' and share < 1 and taken >= free and counts[network] >= share_of(free)
  if not draining and free > 0 and not crowded then
    waits[n], waiting = true, waiting + 1
    if network ~= '' then
      counts[network] = counts[network] + 1
      changed[network] = counts[network]
    end
  end
end
local seq = 0
if starting + waiting > 0 then seq = call('HINCRBY', META, 'seq', starting + waiting) - starting - waiting end
local accepted = ',"0","' .. int(now) .. '"'
local results, records, data, line, seen = {}, {}, {}, {}, {}
for n = 1, #ids do
  local id = ids[n]
  if draining then
    results[n] = {{'draining'}}
  elseif n <= starting then
    seq = seq + 1
    local t = {'w', int(seq), '0', '', callers[n], '0', int(now)}
    if networks[n] ~= '' then t[8] = networks[n] end
    reserve(id, t, 's', deadline)
    call('HSET', DATA, id, datas[n])
    results[n] = {{'starting', t[3]}}
  elseif waits[n] then
    seq = seq + 1
    local place, m = int(seq), #line + 1
    local network = networks[n] == '' and ']' or ',"' .. networks[n] .. '"]'
    records[m], records[m + 1] = id, '["w","' .. place .. '","0","",' .. cjson.encode(callers[n]) .. accepted .. network
    data[m], data[m + 1] = id, datas[n]
    line[m], line[m + 1] = place, id
    seen[m], seen[m + 1] = present, id
    length = length + 1
    results[n] = {{'waiting', length, length, avg, disrupted}}
  else
    results[n] = {{'full', length, avg}}
  end
end
if #line > 0 then
  call('HSET', TICKETS, unpack(records))
  call('HSET', DATA, unpack(data))
  call('ZADD', WAITING, unpack(line))
  call('ZADD', PRESENCE, unpack(seen))
  local flat = {}
  for network, n in pairs(changed) do
    flat[#flat + 1] = 'w' .. network
    flat[#flat + 1] = n
  end
  if #flat > 0 then call('HSET', NETWORKS, unpack(flat)) end
end
for _, n in ipairs(late) do table.insert(results, n, {{'draining'}}) end
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
    const network = s.arg(6)
    s.callNext()
    if (s.num("withdrawn") > 0 && s.db.zscore(s.forget, id) !== undefined) {
      s.owe("refund", id, caller)
      return s.reply(["draining"])
    }
    if (s.num("draining") === 1) return s.reply(["draining"])
    const length = s.db.zcard(s.waiting)
    const newcomer = (): Ticket => {
      const seq = String(s.db.hincrby(s.meta, "seq", 1))
      const t: Ticket = ["w", seq, "0", "", caller, "0", String(s.now)]
      if (network !== "") t[7] = network
      return t
    }
    const closed = s.resting() || s.paused() || s.probing()
    if (length === 0 && s.db.zcard(s.leases) < s.slots && !closed) {
      if (s.disrupted()) s.db.hset(s.meta, "probe", String(s.now + PROBE_MILLIS))
      const lease = s.reserve(id, newcomer(), "s", deadline + behind(s))
      s.db.hset(s.data, id, data)
      return s.reply(["starting", lease])
    }
    const free = longest - length
    const crowded =
      network !== "" &&
      s.share < 1 &&
      length >= free &&
      Number(s.db.hget(s.networks, `w${network}`) ?? "0") >= s.shareOf(free)
    if (free <= 0 || crowded) return s.reply(["full", length, s.num("avg")])
    const t = newcomer()
    s.save(id, t)
    s.db.hset(s.data, id, data)
    s.wait(id, t, present)
    return s.reply(["waiting", length + 1, length + 1, s.num("avg"), s.disrupted() ? 1 : 0])
  },
  { own: [5, 9, 10, 11], times: [0, 7, 8] },
)
