/**
 * What is held against nobody: a time in which a gate could not reach the store, or stood still. The law, stated here once:
 *
 * - A gate is heard of with every sweep, once a second (`gates`). One that is not for `DEAD_MILLIS` is dead; one that goes says so.
 * - A turn is missed only when every gate that is not dead was heard of after the end of the start window: the start could have come
 *   through any of them.
 * - A look at a turn that has just ended finds other gates whose next sweep is not due yet. That is no outage: the turn lasts a second
 *   longer, until they were heard of (`LATE_MILLIS`).
 * - A waiting ticket is absent only when the gate of its connection has shown who is connected (its tick) after the end of the
 *   ticket's presence, which that gate's own sweep says; a ticket without a connection, when every gate was heard of since; at
 *   once, when its gate is dead.
 * - A gate that could not reach the store, for however short, says so before anything else when it can again (`gates.ts`). Then
 *   whoever is called has the start window anew, and nobody counts as absent for the grace. So it is too when nobody had swept
 *   for `UNATTENDED_MILLIS`, whoever is first.
 * - While the platform cannot be reached nobody misses a turn, since nobody could start: a called ticket that does not start goes back
 *   to its own place, and others are called before it to find out (`MISSED_PARK_MILLIS`).
 * - A gate whose machine stood still may not know it for a second, and is behind the others by as long: a start that it lets begin has
 *   its time from the latest sweep on.
 * - Without the time of outages a turn lasts `MOST_WINDOWS` windows at most, and one such grace must end before there is another. Of
 *   outages of single gates `DEAD_MILLIS` count as such time in one turn: a gate that comes and goes does not hold slots and places for ever.
 *
 * Lua and TypeScript are twins, as in `step.ts`.
 */
import { listed } from "./quarantine.ts"
import type { Step, Ticket } from "./step.ts"

/**
 * A gate that was not heard of for so long is dead (ms). Long enough for a path, a failover or a machine that is away for a while;
 * until then a dead gate's callers who do not come back hold their places and slots.
 */
export const DEAD_MILLIS = 45_000
/** A gate sweeps every second; one that was heard of within this time (ms) is not silent. */
export const LATE_MILLIS = 2_500
/** The most start windows of one turn. */
export const MOST_WINDOWS = 3
/** A ticket that did not start while the platform could not be reached is not called again for so long (ms). */
export const MISSED_PARK_MILLIS = 15_000
/**
 * So much of each outage counts as time of the turn (ms), so that outages which follow each other do not hold a slot for ever. The
 * shortest window is as long, so that a single outage never shortens one.
 */
export const COUNTED_MILLIS = 1_000

/** Part of the prelude; `shown` is known to a sweep alone. */
export const outageLua = `
local shown
local function silent_since(moment)
  if away() then return num(META, 'swept') end
  local found = call('ZRANGEBYSCORE', GATES, int(now - ${DEAD_MILLIS}), '(' .. int(moment), 'WITHSCORES', 'LIMIT', 0, 2)
  local at = found[2]
  if found[1] == self then at = found[4] end
  return at and tonumber(at)
end
local function behind()
  local by = num(META, 'swept') - now
  return by > 0 and by <= ${DEAD_MILLIS} and by or 0
end
local function absent(t, seen)
  if seen >= now or unattended() then return false end
  if t[4] == self and shown then return seen <= shown end
  if t[4] == '' then return not silent_since(seen) end
  local heard = call('ZSCORE', GATES, t[4])
  return not heard or tonumber(heard) < now - ${DEAD_MILLIS}
end
local function renew(id, t, since, of_all)
  local lost = now - since - ${COUNTED_MILLIS}
  if lost > 0 then
    local lasts, called_at = tonumber(t[6]), tonumber(t[10] or t[6])
    if of_all then called_at = math.min(called_at + lost, now) end
    t[7], t[8], t[9], t[10] = t[7] or '0', t[8] or '', t[9] or '', int(called_at)
    t[6] = int(math.max(lasts, math.min(lasts + lost, now, called_at + ${DEAD_MILLIS})))
    save(id, t)
  end
  local ends = tonumber(call('ZSCORE', LEASES, id) or '0')
  local anew = math.min(now + window, tonumber(t[6]) + ${MOST_WINDOWS} * window)
  if anew <= ends then return ends end
  call('ZADD', LEASES, int(anew), id)
  return anew
end
local function miss(id, t, present)
  free(id, t)
  if num(META, 'disrupted') == 0 then
    finish(id, t, 'M', 'missed')
    return
  end
  wait_again(id, t, present)
  park(id, now + ${MISSED_PARK_MILLIS})
end
local function turn_of(id, t, present)
  local ends = tonumber(call('ZSCORE', LEASES, id) or '0')
  local since = ends < now and silent_since(ends)
  if since and now - since <= ${LATE_MILLIS} then
    ends = now + ${COUNTED_MILLIS}
    call('ZADD', LEASES, int(ends), id)
  elseif since then
    ends = renew(id, t, math.max(since, ends), away())
  end
  if ends >= now then return ends end
  miss(id, t, present)
  return nil
end
local function forgive(since, present)
  local of_all = away()
  since = math.max(since, num(META, 'forgiven'))
  call('HSET', META, 'forgiven', int(now))
  if num(META, 'mercy') <= now then call('HSET', META, 'mercy', present) end
  for _, id in ipairs(call('ZRANGE', LEASES, 0, -1)) do
    local t = listed(LEASES, id)
    if t and t[1] == 'c' then renew(id, t, since, of_all) end
  end
end
`

/**
 * Since when a gate was silent that was not heard of since this moment, the longest silent one, or since when nobody swept;
 * undefined when all were heard of. This gate is heard of now.
 */
export const silentSince = (s: Step, moment: number): number | undefined => {
  if (s.away()) return s.num("swept")
  const silent = s.db.zrangebyscore(s.gates, s.now - DEAD_MILLIS, moment - 1, 2).find((gate) => gate !== s.self)
  return silent === undefined ? undefined : s.db.zscore(s.gates, silent)
}

/** How far this gate's time is behind the latest sweep's (ms); 0 where that is too far to be an outage's work. */
export const behind = (s: Step): number => {
  const by = s.num("swept") - s.now
  return by > 0 && by <= DEAD_MILLIS ? by : 0
}

/** Whether a waiting ticket that was present until `seen` is absent. */
export const absent = (s: Step, t: Ticket, seen: number): boolean => {
  if (seen >= s.now || s.unattended()) return false
  if (t[3] === s.self && s.shown !== undefined) return seen <= s.shown
  if (t[3] === "") return silentSince(s, seen) === undefined
  const heard = s.db.zscore(s.gates, t[3])
  return heard === undefined || heard < s.now - DEAD_MILLIS
}

/**
 * Gives a called ticket its start window anew, after an outage (`ofAll` gates, or of one) of which nothing was forgiven since then, and
 * answers when it ends.
 */
const renew = (s: Step, id: string, t: Ticket, since: number, ofAll: boolean): number => {
  const lost = s.now - since - COUNTED_MILLIS
  if (lost > 0) {
    const lasts = Number(t[5])
    const calledAt = Number(t[9] ?? t[5])
    const called = ofAll ? Math.min(calledAt + lost, s.now) : calledAt
    t[6] ??= "0"
    t[7] ??= ""
    t[8] ??= ""
    t[9] = String(called)
    t[5] = String(Math.max(lasts, Math.min(lasts + lost, s.now, called + DEAD_MILLIS)))
    s.save(id, t)
  }
  const ends = s.db.zscore(s.leases, id) ?? 0
  const anew = Math.min(s.now + s.window, Number(t[5]) + MOST_WINDOWS * s.window)
  if (anew <= ends) return ends
  s.db.zadd(s.leases, anew, id)
  return anew
}

/** The start window of a called ticket has passed: its turn is missed, or it waits again, present until then. */
export const miss = (s: Step, id: string, t: Ticket, present: number): void => {
  s.free(id, t)
  if (s.disrupted()) {
    s.waitAgain(id, t, present)
    s.park(id, s.now + MISSED_PARK_MILLIS)
  } else {
    s.finish(id, t, "M", "missed")
  }
}

/** When the start window of a called ticket ends, which is never in the past; undefined for a turn that has passed, and is over now. */
export const turnOf = (s: Step, id: string, t: Ticket, present: number): number | undefined => {
  let ends = s.db.zscore(s.leases, id) ?? 0
  const since = ends < s.now ? silentSince(s, ends) : undefined
  if (since !== undefined && s.now - since <= LATE_MILLIS) {
    ends = s.now + COUNTED_MILLIS
    s.db.zadd(s.leases, ends, id)
  } else if (since !== undefined) {
    ends = renew(s, id, t, Math.max(since, ends), s.away())
  }
  if (ends >= s.now) return ends
  miss(s, id, t, present)
  return undefined
}

/** After an outage since then: start windows anew, and nobody counts as absent until `present`. */
export const forgive = (s: Step, since: number, present: string): void => {
  const from = Math.max(since, s.num("forgiven"))
  const ofAll = s.away()
  s.db.hset(s.meta, "forgiven", String(s.now))
  if (s.num("mercy") <= s.now) s.db.hset(s.meta, "mercy", present)
  for (const id of s.db.zrangebyscore(
    s.leases,
    Number.NEGATIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
  )) {
    const t = listed(s, s.leases, id)
    if (t?.[0] === "c") renew(s, id, t, from, ofAll)
  }
}
