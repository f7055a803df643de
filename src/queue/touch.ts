import type { Reply } from "../Store.ts"
import { turnOf } from "./outage.ts"
import { script, type Ticket } from "./step.ts"

/** Asked after a step that may have changed the state. */
const isWaiting = (t: Ticket): boolean => t[0] === "w"

/**
 * Says where tickets stand and keeps those that wait present: one call a tick for all tickets of an instance. A start window is
 * never said to end in the past: one that has ended is given anew or the turn is missed (`outage.ts`).
 *
 * ARGV 6 present until (ms), or 0 to leave presence alone · 7… ids
 * Result `[length, average ms, tickets, disrupted]` with a ticket each, in order: `['w', position]` ·
 * `['c', deadline, lease]` · `['s']` · `['l']` · `[terminal state]` · `['-']` when unknown
 */
export const touch = script(
  "touch",
  `
local present, found, missed = ARGV[6], {}, false
for i = 7, #ARGV do
  local id = ARGV[i]
  local rank = call('ZRANK', WAITING, id)
  if rank then
    if present ~= '0' then call('ZADD', PRESENCE, 'GT', present, id) end
    found[#found + 1] = {'w', rank + 1}
  else
    local t = load(id)
    if not t or t[1] == 'w' then
      found[#found + 1] = {'-'}
    elseif t[1] == 'c' then
      local ends = turn_of(id, t, present ~= '0' and present or int(now))
      if not ends then missed = true end
      if ends then
        found[#found + 1] = {'c', int(ends), t[3]}
      elseif t[1] == 'w' then
        found[#found + 1] = {'w', call('ZRANK', WAITING, id) + 1}
      else
        found[#found + 1] = {'M'}
      end
    else
      found[#found + 1] = {t[1]}
    end
  end
end
if missed then call_next() end
return reply({call('ZCARD', WAITING), num(META, 'avg'), found, num(META, 'disrupted')})
`,
  (s) => {
    const present = Number(s.arg(0))
    const found: Array<Reply> = []
    let missed = false
    for (const id of s.args.slice(1)) {
      const rank = s.db.zrank(s.waiting, id)
      if (rank !== undefined) {
        if (present > (s.db.zscore(s.presence, id) ?? 0)) s.db.zadd(s.presence, present, id)
        found.push(["w", rank + 1])
        continue
      }
      const t = s.load(id)
      if (t?.[0] === "c") {
        const ends = turnOf(s, id, t, present > 0 ? present : s.now)
        if (ends === undefined) missed = true
        if (ends !== undefined) found.push(["c", String(ends), t[2]])
        else found.push(isWaiting(t) ? ["w", (s.db.zrank(s.waiting, id) ?? 0) + 1] : ["M"])
      } else {
        // one that waits and stands nowhere is none
        found.push([t === undefined || t[0] === "w" ? "-" : t[0]])
      }
    }
    if (missed) s.callNext()
    return s.reply([s.db.zcard(s.waiting), s.num("avg"), found, s.num("disrupted")])
  },
)

/**
 * A connection of the ticket is on this instance now, or, with an empty instance, somebody asks for the ticket.
 *
 * ARGV 6 id · 7 instance, or empty · 8 present until (ms)
 * Result `['waiting', position, length, average ms, disrupted]` · `['called', deadline, lease]` · `['starting']` · `['live', session]`
 * · `['over', state]` · `['unknown']`
 */
export const attach = script(
  "attach",
  `
local id, instance, present = ARGV[6], ARGV[7], ARGV[8]
local t = load(id)
if not t then return reply({'unknown'}) end
if instance ~= '' and t[4] ~= instance then
  t[4] = instance
  save(id, t)
end
if t[1] == 'w' then
  -- one that stands nowhere has its place again
  if call('ZSCORE', WAITING, id) then call('ZADD', PRESENCE, 'GT', present, id) else wait(id, t, present) end
  return reply(place(id))
end
if t[1] == 'c' then
  local ends = turn_of(id, t, present)
  if ends then return reply({'called', int(ends), t[3]}) end
  call_next()
  if t[1] == 'w' then return reply(place(id)) end
end
if t[1] == 's' then return reply({'starting'}) end
if t[1] == 'l' then return reply(live(id, t)) end
return reply({'over', t[1]})
`,
  (s) => {
    const id = s.arg(0)
    const instance = s.arg(1)
    const present = Number(s.arg(2))
    const t = s.load(id)
    if (t === undefined) return s.reply(["unknown"])
    if (instance !== "" && t[3] !== instance) {
      t[3] = instance
      s.save(id, t)
    }
    if (t[0] === "w") {
      if (s.db.zscore(s.waiting, id) === undefined) s.wait(id, t, present)
      else if (present > (s.db.zscore(s.presence, id) ?? 0)) s.db.zadd(s.presence, present, id)
      return s.reply(s.place(id))
    }
    if (t[0] === "c") {
      const ends = turnOf(s, id, t, present)
      if (ends !== undefined) return s.reply(["called", String(ends), t[2]])
      s.callNext()
    }
    if (isWaiting(t)) return s.reply(s.place(id))
    if (t[0] === "s") return s.reply(["starting"])
    if (t[0] === "l") return s.reply(s.live(id, t))
    return s.reply(["over", t[0]])
  },
)
