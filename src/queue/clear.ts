import { expire, expiryLua, forgetOld, LIMIT, leftOwed } from "./expiry.ts"
import { listed } from "./quarantine.ts"
import { script } from "./step.ts"

/**
 * Brings a campaign to its end that no gate serves any more: who waits or is called is sent away with the quota given back; starts
 * under way and running sessions go on until their ends or deadlines free their slots; what is over is forgotten in its time; and
 * when nothing is left, so are the ended sessions. Nobody is called.
 *
 * A gate that serves a campaign sweeps it every second, and this never does: as long as somebody has swept since ARGV 6, nothing
 * happens. A gate that has begun to serve it a moment ago may not have swept yet, so whoever was accepted or called since is
 * left alone. Repeated, it changes nothing.
 *
 * ARGV 6 nobody has served it since (ms)
 * Result `[1]` when somebody has · `[0, more, sent away, left, waiting, leases, live, owed]`: more is 1 when another step has work at
 * once; left is 1 while there is a ticket, one that is over and remembered included, or something owed to a caller; owed as `sweep` says
 */
export const clear = script(
  "clear",
  `${expiryLua}
local since, swept = tonumber(ARGV[6]), num(META, 'swept')
if swept > 0 and swept > since then return reply({1}) end
local function before_that(at) return tonumber(at or '0') <= since end
local sent = 0
for _, id in ipairs(call('ZRANGE', WAITING, 0, ${LIMIT - 1})) do
  local t = listed(WAITING, id)
  if t and before_that(t[7]) then
    unwait(id, t)
    finish(id, t, 'X', 'refund')
    sent = sent + 1
  end
end
local more = sent == ${LIMIT} and 1 or 0
-- leases that are not live are few, and for a moment
if call('ZCARD', LEASES) > num(META, 'live') then
  for _, id in ipairs(call('ZRANGE', LEASES, 0, -1)) do
    local t = listed(LEASES, id)
    if t and t[1] == 'c' and before_that(t[6]) then
      free(id, t)
      finish(id, t, 'X', 'refund')
      sent = sent + 1
    end
  end
end
local expired = call('ZRANGEBYSCORE', LEASES, '-inf', '(' .. int(now), 'LIMIT', 0, ${LIMIT})
for _, id in ipairs(expired) do
  local t = listed(LEASES, id)
  -- a ticket whose start is in doubt is sent away by the next step
  if t and t[1] == 'c' then
    free(id, t)
    finish(id, t, 'X', 'refund')
  elseif t then
    expire(id, t, int(now))
  end
end
local forgotten = forget_old()
if #expired == ${LIMIT} or forgotten == ${LIMIT} then more = 1 end
local owed = left_owed()
local left = 0
for _, key in ipairs({WAITING, LEASES, SETTLE, FORGET}) do left = left + call('ZCARD', key) end
-- a record that stands nowhere is nobody's
if left > 0 then left = 1 else call('DEL', OVER, TICKETS, DATA) end
return reply({0, more, sent, left, call('ZCARD', WAITING), call('ZCARD', LEASES), num(META, 'live'), owed})
`,
  (s) => {
    const { db, now } = s
    const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
    const since = Number(s.arg(0))
    const swept = s.num("swept")
    if (swept > 0 && swept > since) return s.reply([1])
    let sent = 0
    for (const id of db.zrangebyscore(s.waiting, NEGATIVE_INFINITY, POSITIVE_INFINITY, LIMIT)) {
      const t = listed(s, s.waiting, id)
      if (t === undefined || Number(t[6] ?? "0") > since) continue
      s.unwait(id, t)
      s.finish(id, t, "X", "refund")
      sent++
    }
    let more = sent === LIMIT ? 1 : 0
    if (db.zcard(s.leases) > s.num("live")) {
      for (const id of db.zrangebyscore(s.leases, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)) {
        const t = listed(s, s.leases, id)
        if (t?.[0] !== "c" || Number(t[5]) > since) continue
        s.free(id, t)
        s.finish(id, t, "X", "refund")
        sent++
      }
    }
    const expired = db.zrangebyscore(s.leases, NEGATIVE_INFINITY, now - 1, LIMIT)
    for (const id of expired) {
      const t = listed(s, s.leases, id)
      if (t?.[0] === "c") {
        s.free(id, t)
        s.finish(id, t, "X", "refund")
      } else if (t !== undefined) {
        expire(s, id, t, now)
      }
    }
    const forgotten = forgetOld(s)
    if (expired.length === LIMIT || forgotten === LIMIT) more = 1
    const owed = leftOwed(s)
    const left = [s.waiting, s.leases, s.settle, s.forget].some((key) => db.zcard(key) > 0) ? 1 : 0
    // a record that stands nowhere is nobody's
    if (left === 0) for (const key of [s.overs, s.tickets, s.data]) db.del(key)
    return s.reply([0, more, sent, left, db.zcard(s.waiting), db.zcard(s.leases), s.num("live"), owed])
  },
)
