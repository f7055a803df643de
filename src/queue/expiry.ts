/**
 * What time decides of a campaign, whether a gate serves it (`sweep.ts`) or none does any more (`clear.ts`). Lua and TypeScript are
 * twins, as in `step.ts`.
 */
import type { Reply } from "../Store.ts"
import { quarantine } from "./quarantine.ts"
import type { Step, Ticket } from "./step.ts"

/** At most so many of each kind are handled in one step. */
export const LIMIT = 200
/** A settlement this old was not carried out by the process that owed it. */
export const SETTLE_AFTER_MILLIS = 5_000

/** Comes before the Lua of a script that uses it. */
export const expiryLua = `
local function expire(id, t, present)
  if t[1] == 'l' then
    over(id, t, 'R')
  elseif t[1] == 'u' then
    drop(id, t)
  elseif t[1] == 's' then
    local deadline = doubt(id, t)
    wait_again(id, t, present)
    park(id, deadline)
  end
end
local function forget_old()
  local forgotten = call('ZRANGEBYSCORE', FORGET, '-inf', '(' .. int(now), 'LIMIT', 0, ${LIMIT})
  for _, id in ipairs(forgotten) do
    call('HDEL', TICKETS, id)
    call('ZREM', FORGET, id)
  end
  return #forgotten
end
local function left_owed()
  local owed = {}
  for _, entry in ipairs(call('ZRANGEBYSCORE', SETTLE, '-inf', int(now - ${SETTLE_AFTER_MILLIS}), 'LIMIT', 0, ${LIMIT})) do
    local kind = string.match(entry, '^(%l+) %S+ %S+$')
    if kind == 'refund' or kind == 'release' or kind == 'missed' then
      owed[#owed + 1] = entry
    else
      call('ZREM', SETTLE, entry)
      quarantine('settle', entry, '')
    end
  end
  return owed
end
`

/** A lease that is not called is past its deadline: a session that runs too long, a doubt, or a start whose gate died. */
export const expire = (s: Step, id: string, t: Ticket, present: number): void => {
  if (t[0] === "l") {
    s.over(id, t, "R")
  } else if (t[0] === "u") {
    s.drop(id, t)
  } else if (t[0] === "s") {
    // it may have happened
    const deadline = s.doubt(id, t)
    s.waitAgain(id, t, present)
    s.park(id, deadline)
  }
}

/** Forgets tickets that were over for long enough; says how many. */
export const forgetOld = (s: Step): number => {
  const forgotten = s.db.zrangebyscore(s.forget, Number.NEGATIVE_INFINITY, s.now - 1, LIMIT)
  for (const id of forgotten) {
    s.db.hdel(s.tickets, id)
    s.db.zrem(s.forget, id)
  }
  return forgotten.length
}

/** Settlements `'refund|release|missed id caller'` left behind by a process that died. */
export const leftOwed = (s: Step): ReadonlyArray<Reply> =>
  s.db.zrangebyscore(s.settle, Number.NEGATIVE_INFINITY, s.now - SETTLE_AFTER_MILLIS, LIMIT).filter((entry) => {
    if (/^(refund|release|missed) \S+ \S+$/.test(entry)) return true
    s.db.zrem(s.settle, entry)
    quarantine(s, "settle", entry, "")
    return false
  })
