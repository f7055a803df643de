import type { SettlementKind } from "../FifoQueue.ts"
import { running } from "./quarantine.ts"
import { script, type Ticket } from "./step.ts"

/** A caller who leaves later than this after being called has missed the turn (ms). */
export const LEAVE_FREELY_MILLIS = 5_000

/**
 * A session has ended: its slot goes to the oldest waiting ticket. A repeat, a late or an unknown end frees nothing; an
 * end that comes before its session was bound is remembered for the bind, by every id that is named with it.
 *
 * ARGV 6… session ids, all of one session
 * Result `['released', id]` · `['repeat']` · `['unknown']`
 */
export const end = script(
  "end",
  `
local id, t, repeated = nil, nil, false
for i = 6, #ARGV do
  if not id then id, t = running(ARGV[i]) end
  if call('ZSCORE', OVER, ARGV[i]) then repeated = true end
end
if not id then
  for i = 6, #ARGV do
    if not call('ZSCORE', OVER, ARGV[i]) then call('ZADD', OVER, int(now), ARGV[i]) end
  end
  return reply({repeated and 'repeat' or 'unknown'})
end
over(id, t, 'E')
rested()
call_next()
return reply({'released', id})
`,
  (s) => {
    let found: readonly [id: string, t: Ticket] | undefined
    let repeated = false
    for (const session of s.args) {
      found ??= running(s, session)
      if (s.db.zscore(s.overs, session) !== undefined) repeated = true
    }
    if (found === undefined) {
      for (const session of s.args) {
        if (s.db.zscore(s.overs, session) === undefined) s.db.zadd(s.overs, s.now, session)
      }
      return s.reply([repeated ? "repeat" : "unknown"])
    }
    const [id, t] = found
    s.over(id, t, "E")
    s.rested()
    s.callNext()
    return s.reply(["released", id])
  },
)

/**
 * The caller gives up a waiting or called ticket. One that is starting or live ends with its session. Quota is given back to
 * whoever waited. Whoever was called pays as for a call, and after `LEAVE_FREELY_MILLIS` of the start window as for a missed
 * turn: else a slot could be held for nearly all of the window at the price of a call. The window is counted from its
 * deadline, since it begins anew when the store was away; while it is away, or the platform cannot be reached,
 * nobody is late.
 *
 * ARGV 6 id
 * Result `['left']` · `['busy']` while starting or live · `['over', state]` · `['unknown']`
 */
export const leave = script(
  "leave",
  `
local id = ARGV[6]
local t = load(id)
if not t then return reply({'unknown'}) end
if t[1] == 's' or t[1] == 'l' then return reply({'busy'}) end
local kind
if t[1] == 'w' then
  kind = 'refund'
  unwait(id, t)
elseif t[1] == 'c' then
  local called_at = tonumber(call('ZSCORE', LEASES, id) or '0') - window
  if now - called_at > ${LEAVE_FREELY_MILLIS} and not away() and num(META, 'disrupted') == 0 then kind = 'missed' end
  free(id, t)
else
  return reply({'over', t[1]})
end
finish(id, t, 'L', kind)
call_next()
return reply({'left'})
`,
  (s) => {
    const id = s.arg(0)
    const t = s.load(id)
    if (t === undefined) return s.reply(["unknown"])
    if (t[0] === "s" || t[0] === "l") return s.reply(["busy"])
    let kind: SettlementKind = "release"
    if (t[0] === "w") {
      kind = "refund"
      s.unwait(id, t)
    } else if (t[0] === "c") {
      const calledAt = (s.db.zscore(s.leases, id) ?? 0) - s.window
      if (s.now - calledAt > LEAVE_FREELY_MILLIS && !s.away() && !s.disrupted()) kind = "missed"
      s.free(id, t)
    } else {
      return s.reply(["over", t[0]])
    }
    s.finish(id, t, "L", kind)
    s.callNext()
    return s.reply(["left"])
  },
)
