import { RETENTION_MILLIS, script } from "./step.ts"

/** At most so many tickets are withdrawn in one step. */
export const WITHDRAW_LIMIT = 200

/**
 * Takes back tickets of which nobody knows: their callers were answered that the store is away, or could not be answered. A place
 * is given up and a slot is free again, also one whose start was never asked for; quota is given back. All of them go before the
 * free slots call the next, so that none of them is called. An id that is not known is remembered, so that its admission is
 * refused if it still comes. One whose session runs is left to its end. Repeated, all of it changes nothing.
 *
 * ARGV 6… ids
 * Result the number of tickets that this ended
 */
export const withdraw = script(
  "withdraw",
  `
local forgotten, ended = now + ${RETENTION_MILLIS}, 0
for i = 6, #ARGV do
  local id = ARGV[i]
  local t = load(id)
  local held = t and (t[1] == 'c' or t[1] == 's')
  if held or (t and t[1] == 'w') then
    if held then free(id, t) else unwait(id, t) end
    finish(id, t, 'L', 'refund')
    ended = ended + 1
  elseif not t then
    call('ZADD', FORGET, int(forgotten), id)
    if forgotten > num(META, 'withdrawn') then call('HSET', META, 'withdrawn', int(forgotten)) end
  end
end
call_next()
return reply({ended})
`,
  (s) => {
    const forgotten = s.now + RETENTION_MILLIS
    let ended = 0
    for (const id of s.args) {
      const t = s.load(id)
      if (t === undefined) {
        s.db.zadd(s.forget, forgotten, id)
        if (forgotten > s.num("withdrawn")) s.db.hset(s.meta, "withdrawn", String(forgotten))
      } else if (t[0] === "w" || t[0] === "c" || t[0] === "s") {
        if (t[0] === "w") s.unwait(id, t)
        else s.free(id, t)
        s.finish(id, t, "L", "refund")
        ended++
      }
    }
    s.callNext()
    return s.reply([ended])
  },
)
