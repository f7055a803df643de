/**
 * Records that are not what they should be: written by hand, by a faulty program, or cut off. One of them must not stop the
 * campaign: every script checks what it reads, takes such a record out of where it stands, and goes on.
 *
 * - A ticket's record that is no ticket, and a live ticket that does not name its session, end that ticket: its holder is told that it
 *   is unknown or has failed, and its slot is free.
 * - An id in a sorted set, or of a session, that names no ticket of a fitting state is removed from there.
 * - What was taken out is kept in `quarantine`, the last `KEPT`, for whoever wants to know; each is counted, and a sweep says how many
 *   there were and which was the last, for the log. Counts that it belonged to are made anew by the next sweep.
 *
 * A key of another type than it should have is not repaired: every command on it is refused and logged (`store/redis-faults.ts`).
 *
 * Lua and TypeScript are twins, as in `step.ts`.
 */
import type { Step, Ticket } from "./step.ts"

/** So many records are kept, and of each the id and so much of what stood there (characters). */
export const KEPT = 100
const KEPT_ID = 200
const KEPT_RECORD = 1_000

/** The states of a ticket that waits, and of one that holds a slot. */
export const WAITS = "w"
export const HOLDS = "cslu"
const STATES = "wcsluELAMFRX"

/** Part of the prelude. */
export const quarantineLua = `
local function quarantine(where, id, record)
  local n = call('HINCRBY', META, 'quarantined', 1)
  local short = string.sub(id, 1, ${KEPT_ID})
  call('HSET', META, 'junk', int(now) .. ' ' .. where .. ' ' .. short, 'recount', '1')
  call('ZADD', QUARANTINE, n, cjson.encode({int(n), int(now), where, short, string.sub(record, 1, ${KEPT_RECORD})}))
  call('ZREMRANGEBYRANK', QUARANTINE, 0, -${KEPT + 1})
end
local function is_number(value) return type(value) == 'string' and string.find(value, '^%-?%d+%.?%d*$') ~= nil end
local function is_text(value) return value == nil or type(value) == 'string' end
local function is_ticket(t)
  return type(t) == 'table' and type(t[1]) == 'string' and #t[1] == 1 and string.find('${STATES}', t[1], 1, true) ~= nil
    and is_number(t[2]) and type(t[3]) == 'string' and type(t[4]) == 'string' and type(t[5]) == 'string' and is_number(t[6])
    and (t[7] == nil or is_number(t[7])) and is_text(t[8]) and is_text(t[9]) and (t[10] == nil or is_number(t[10]))
end
local function load(id)
  local record = call('HGET', TICKETS, id)
  if not record then return nil end
  local ok, t = pcall(cjson.decode, record)
  if ok and is_ticket(t) then return t end
  call('HDEL', TICKETS, id)
  call('HDEL', DATA, id)
  quarantine('tickets', id, record)
  return nil
end
local function take_out(key, id, state)
  if key == LEASES then
    call('ZREM', LEASES, id)
    quarantine('leases', id, state)
    return
  end
  for _, each in ipairs({WAITING, PRESENCE, PARKED}) do call('ZREM', each, id) end
  quarantine('waiting', id, state)
end
local function listed(key, id)
  local t = load(id)
  if t and string.find(key == LEASES and '${HOLDS}' or '${WAITS}', t[1], 1, true) then return t end
  take_out(key, id, t and t[1] or '')
  return nil
end
local function running(session)
  local id = call('HGET', SESSIONS, session)
  if not id then return nil end
  local t = load(id)
  if t and t[1] == 'l' then return id, t end
  call('HDEL', SESSIONS, session)
  quarantine('sessions', session, id)
  return nil
end
local function sessions_in(data)
  local ok, found = pcall(cjson.decode, data or '')
  local sessions = {}
  if not ok or type(found) ~= 'table' or type(found.s) ~= 'table' then return sessions end
  for _, session in ipairs(found.s) do
    if type(session) == 'string' then sessions[#sessions + 1] = session end
  end
  return sessions
end
`

const isNumber = (value: unknown): boolean => typeof value === "string" && /^-?\d+\.?\d*$/.test(value)
const isText = (value: unknown): boolean => value === undefined || typeof value === "string"

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isTicket = (t: unknown): t is Ticket =>
  Array.isArray(t) &&
  typeof t[0] === "string" &&
  t[0].length === 1 &&
  STATES.includes(t[0]) &&
  isNumber(t[1]) &&
  typeof t[2] === "string" &&
  typeof t[3] === "string" &&
  typeof t[4] === "string" &&
  isNumber(t[5]) &&
  (t[6] === undefined || isNumber(t[6])) &&
  isText(t[7]) &&
  isText(t[8]) &&
  (t[9] === undefined || isNumber(t[9]))

/** Keeps and counts what was taken out. */
export const quarantine = (s: Step, where: string, id: string, record: string): void => {
  const n = s.db.hincrby(s.meta, "quarantined", 1)
  const short = id.slice(0, KEPT_ID)
  s.db.hset(s.meta, "junk", `${s.now} ${where} ${short}`)
  s.db.hset(s.meta, "recount", "1")
  s.db.zadd(s.quarantine, n, JSON.stringify([String(n), String(s.now), where, short, record.slice(0, KEPT_RECORD)]))
  for (let crowd = s.db.zcard(s.quarantine) - KEPT; crowd > 0; crowd--) {
    s.db.zrem(s.quarantine, s.db.zat(s.quarantine, 0) ?? "")
  }
}

/** A ticket's record; undefined where there is none, or none that is a ticket. */
export const load = (s: Step, id: string): Ticket | undefined => {
  const record = s.db.hget(s.tickets, id)
  if (record === undefined) return undefined
  const t = parsed(record)
  if (isTicket(t)) return t
  s.db.hdel(s.tickets, id)
  s.db.hdel(s.data, id)
  quarantine(s, "tickets", id, record)
  return undefined
}

/** The record of an id out of `leases`, else of `waiting` or `presence`; undefined where it does not belong there, and does no more. */
export const listed = (s: Step, key: string, id: string): Ticket | undefined => {
  const t = load(s, id)
  const held = key === s.leases
  if (t !== undefined && (held ? HOLDS : WAITS).includes(t[0])) return t
  for (const each of held ? [s.leases] : [s.waiting, s.presence, s.parkedKey]) s.db.zrem(each, id)
  quarantine(s, held ? "leases" : "waiting", id, t?.[0] ?? "")
  return undefined
}

/** The ticket of a running session; undefined where none is known by this id. */
export const running = (s: Step, session: string): readonly [id: string, t: Ticket] | undefined => {
  const id = s.db.hget(s.sessions, session)
  if (id === undefined) return undefined
  const t = load(s, id)
  if (t?.[0] === "l") return [id, t]
  s.db.hdel(s.sessions, session)
  quarantine(s, "sessions", session, id)
  return undefined
}

/** The session ids that are kept with a live ticket. */
export const sessionsIn = (data: string | undefined): ReadonlyArray<string> => {
  const found = parsed(data ?? "")
  if (typeof found !== "object" || found === null || !("s" in found) || !Array.isArray(found.s)) return []
  return found.s.filter((session) => typeof session === "string")
}
