/** What becomes of a ticket, its slot and its campaign when the platform has not started the session. */
import { script } from "./step.ts"

/** A ticket whose start failed so often, each time after others had begun their calls, has failed for a reason of its own. */
const STRIKES = 3

/**
 * The platform has not started the session, for one of these reasons:
 *
 * - `capacity`: every slot of the platform is taken. The ticket goes back to its own place, and the campaign rests: a back-off
 *   that doubles, until a session ends or starts, and stays short while none is live; starts that were under way together and are
 *   refused together count as one.
 * - `limited`: the platform limits the key's requests. The same, but the campaign rests for the first back-off and no longer: that says
 *   nothing about free slots.
 * - `elsewhere`: this gate does not serve the campaign, and the platform was not asked. The same as `limited`, and nothing is known of
 *   the platform.
 * - `disrupted`: the platform cannot be reached, and that is no caller's doing. The same as `capacity`; until a start is answered
 *   again, one ticket at a time is called to find out.
 * - `answered`: the platform failed, perhaps because of what this caller sent, and no session runs. The ticket keeps its place
 *   and is not called for a moment; the others are. When others have begun their calls between its failures, twice, it has failed.
 * - `doubt`: the same, but a session may run. The slot stays held, and the ticket is not called, until that is known.
 * - `failed`, `refused`: the ticket has failed. Its quota is given back unless the platform refused what the caller sent.
 *
 * The campaign's `started` of its last failure and two counts are kept as a ticket's tries: `strikes started failures`.
 *
 * What is said of a start that is in doubt meanwhile, because its time was over, decides that: no session runs.
 *
 * ARGV 6 id · 7 lease · 8 reason · 9 present until (ms) · 10 first back-off (ms) · 11 longest (ms) · 12 longest while no
 * session is live (ms)
 * Result `['waiting', position, length, average ms, disrupted]` · `['failed']` · `['stale']`
 */
export const fail = script(
  "fail",
  `
local id, lease, reason, present, first = ARGV[6], ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])
local longest = tonumber(ARGV[num(META, 'live') > 0 and 11 or 12])
local t = load(id)
if not t or t[1] ~= 's' or t[3] ~= lease then
  local held = '?' .. lease
  local record = reason ~= 'doubt' and load(held)
  if record and record[1] == 'u' and doubter(held) == id then
    drop(held, record)
    call_next()
  end
  return reply({'stale'})
end
if reason == 'answered' or reason == 'doubt' then
  call('HDEL', META, 'probe')
  local started = num(META, 'started')
  local strikes, mark, failures = string.match(t[9] or '', '^(%d+) (%-?%d+) (%d+)$')
  strikes, mark, failures = tonumber(strikes or 0), tonumber(mark or -1), tonumber(failures or 0) + 1
  if mark ~= started then strikes = strikes + 1 end
  t[7], t[8] = t[7] or '0', t[8] or ''
  t[9] = int(strikes) .. ' ' .. int(started) .. ' ' .. int(failures)
  local deadline = now + park_millis(t)
  if reason == 'doubt' then deadline = doubt(id, t) else free(id, t) end
  if strikes == ${STRIKES} then
    finish(id, t, 'F', 'refund')
    call_next()
    return reply({'failed'})
  end
  wait_again(id, t, present)
  park(id, deadline)
  call_next()
  return reply(place(id))
end
free(id, t)
if reason == 'failed' or reason == 'refused' then
  finish(id, t, 'F', reason == 'failed' and 'refund' or nil)
  reached()
  call_next()
  return reply({'failed'})
end
wait_again(id, t, present)
if reason == 'disrupted' then
  call('HSET', META, 'disrupted', '1')
  call('HDEL', META, 'probe')
elseif reason ~= 'elsewhere' then
  reached()
end
if not resting() then
  local n = 1
  if reason ~= 'limited' and reason ~= 'elsewhere' then n = math.min(call('HINCRBY', META, 'restn', 1), 20) end
  call('HSET', META, 'rest', int(now + math.min(first * 2 ^ (n - 1), longest)))
end
return reply(place(id))
`,
  (s) => {
    const id = s.arg(0)
    const t = s.load(id)
    const reason = s.arg(2)
    if (t === undefined || t[0] !== "s" || t[2] !== s.arg(1)) {
      const held = `?${s.arg(1)}`
      const record = reason === "doubt" ? undefined : s.load(held)
      if (record?.[0] === "u" && s.doubter(held) === id) {
        s.drop(held, record)
        s.callNext()
      }
      return s.reply(["stale"])
    }
    const present = Number(s.arg(3))
    if (reason === "answered" || reason === "doubt") {
      s.db.hdel(s.meta, "probe")
      const started = s.num("started")
      const [strikes = 0, mark = 0, failures = 0] = /^\d+ -?\d+ \d+$/.test(t[8] ?? "")
        ? (t[8] ?? "").split(" ").map(Number)
        : [0, -1, 0]
      const struck = mark === started ? strikes : strikes + 1
      t[6] ??= "0"
      t[7] ??= ""
      t[8] = `${struck} ${started} ${failures + 1}`
      let deadline = s.now + s.parkMillis(t)
      if (reason === "doubt") deadline = s.doubt(id, t)
      else s.free(id, t)
      if (struck === STRIKES) {
        s.finish(id, t, "F", "refund")
        s.callNext()
        return s.reply(["failed"])
      }
      s.waitAgain(id, t, present)
      s.park(id, deadline)
      s.callNext()
      return s.reply(s.place(id))
    }
    s.free(id, t)
    if (reason === "failed" || reason === "refused") {
      s.finish(id, t, "F", reason === "failed" ? "refund" : "release")
      s.reached()
      s.callNext()
      return s.reply(["failed"])
    }
    s.waitAgain(id, t, present)
    if (reason === "disrupted") {
      s.db.hset(s.meta, "disrupted", "1")
      s.db.hdel(s.meta, "probe")
    } else if (reason !== "elsewhere") {
      s.reached()
    }
    if (!s.resting()) {
      const n = reason === "limited" || reason === "elsewhere" ? 1 : Math.min(s.db.hincrby(s.meta, "restn", 1), 20)
      const longest = Number(s.arg(s.num("live") > 0 ? 5 : 6))
      s.db.hset(s.meta, "rest", String(s.now + Math.min(Number(s.arg(4)) * 2 ** (n - 1), longest)))
    }
    return s.reply(s.place(id))
  },
)
