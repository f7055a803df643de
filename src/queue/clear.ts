import { script } from "./step.ts"

/** At most so many who wait are sent away in one step. */
const LIMIT = 200

/**
 * Sends away who waits or is called in a campaign that no gate serves any more, and gives their quota back. Starts that are under
 * way and sessions that run go on: their ends and deadlines free their slots. Nobody is called instead. A ticket that was accepted
 * or called later than ARGV 6 is left alone, since a gate must have done that: so a gate that began to serve the campaign again
 * while this step was on its way loses nobody. When nothing is left, the ended sessions are forgotten too. Repeated, it changes
 * nothing.
 *
 * ARGV 6 accepted or called until (ms)
 * Result `[more, sent away, left, waiting, leases, live]`: more is 1 when another step has work at once; left is 1 while there is a
 * ticket, one that is over and remembered included, or something owed to a caller
 */
export const clear = script(
  "clear",
  `
local until_then, sent = tonumber(ARGV[6]), 0
for _, id in ipairs(call('ZRANGE', WAITING, 0, ${LIMIT - 1})) do
  local t = load(id)
  if t and tonumber(t[7] or '0') <= until_then then
    unwait(id, t)
    finish(id, t, 'X', 'refund')
    sent = sent + 1
  end
end
local more = sent == ${LIMIT} and 1 or 0
-- leases that are not live are few, and for a moment
if call('ZCARD', LEASES) > num(META, 'live') then
  for _, id in ipairs(call('ZRANGE', LEASES, 0, -1)) do
    local t = load(id)
    if t and t[1] == 'c' and tonumber(t[6]) <= until_then then
      free(id, t)
      finish(id, t, 'X', 'refund')
      sent = sent + 1
    end
  end
end
local left = 0
if call('HLEN', TICKETS) + call('ZCARD', SETTLE) + call('ZCARD', FORGET) > 0 then left = 1 else call('DEL', OVER) end
return reply({more, sent, left, call('ZCARD', WAITING), call('ZCARD', LEASES), num(META, 'live')})
`,
  (s) => {
    const { db } = s
    const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
    const until = Number(s.arg(0))
    let sent = 0
    for (const id of db.zrangebyscore(s.waiting, NEGATIVE_INFINITY, POSITIVE_INFINITY, LIMIT)) {
      const t = s.load(id)
      if (t === undefined || Number(t[6] ?? "0") > until) continue
      s.unwait(id, t)
      s.finish(id, t, "X", "refund")
      sent++
    }
    const more = sent === LIMIT ? 1 : 0
    if (db.zcard(s.leases) > s.num("live")) {
      for (const id of db.zrangebyscore(s.leases, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)) {
        const t = s.load(id)
        if (t?.[0] !== "c" || Number(t[5]) > until) continue
        s.free(id, t)
        s.finish(id, t, "X", "refund")
        sent++
      }
    }
    const left = db.hlen(s.tickets) + db.zcard(s.settle) + db.zcard(s.forget) > 0 ? 1 : 0
    if (left === 0) db.del(s.overs)
    return s.reply([more, sent, left, db.zcard(s.waiting), db.zcard(s.leases), s.num("live")])
  },
)
