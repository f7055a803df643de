/**
 * Starts of which nobody knows whether their session runs: the platform's answer did not come, or could not be used. Each holds a
 * slot until the platform says, or until `DOUBT_MILLIS` have passed (`sweep.ts`).
 */
import { listed } from "./quarantine.ts"
import { script } from "./step.ts"

/** At most so many are looked at in one step. */
const LIMIT = 200
/** The platform must say so often that it has no such session, since it may be slow to list it. */
const LOOKS = 2

/**
 * The starts in doubt, to ask the platform about; claimed by one instance for a while.
 *
 * ARGV 6 taken before (ms) · 7 claimed until (ms)
 * Result `[id, slot taken at, data]` each; data is the ticket's id and, behind a blank, its configuration
 */
export const doubts = script(
  "doubts",
  `
local before, claim = tonumber(ARGV[6]), ARGV[7]
local found = {}
if num(META, 'doubts') == 0 or num(META, 'asked') > now then return reply(found) end
call('HSET', META, 'asked', claim)
for _, id in ipairs(call('ZRANGE', LEASES, 0, -1)) do
  if #found == ${LIMIT} then break end
  if string.sub(id, 1, 1) == '?' then
    local t = listed(LEASES, id)
    if t and t[1] == 'u' and tonumber(t[6]) <= before then
      found[#found + 1] = {id, t[6], call('HGET', DATA, id) or ''}
    end
  end
end
return reply(found)
`,
  (s) => {
    const found: Array<ReadonlyArray<string>> = []
    if (s.num("doubts") === 0 || s.num("asked") > s.now) return s.reply(found)
    s.db.hset(s.meta, "asked", s.arg(1))
    const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
    for (const id of s.db.zrangebyscore(s.leases, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)) {
      if (found.length === LIMIT) break
      const t = id.startsWith("?") ? listed(s, s.leases, id) : undefined
      if (t?.[0] !== "u" || Number(t[5]) > Number(s.arg(0))) continue
      found.push([id, t[5], s.db.hget(s.data, id) ?? ""])
    }
    return s.reply(found)
  },
)

/**
 * What the platform says of a start in doubt. A session of it that belongs to no ticket and has not ended is the one: the slot is
 * held until it ends. Where there is none, said twice, the slot is free. While another start is under way a session of nobody decides
 * nothing: several callers may share a client identifier, and it may be that start's.
 *
 * ARGV 6 id · 7 longest call until (ms) · 8… sessions that may be its own, JSON lists of ids
 * Result `['running']` · `['open']` · `['free']` · `['stale']`
 */
export const resolve = script(
  "resolve",
  `
local id, deadline = ARGV[6], ARGV[7]
local function is_starting()
  for _, each in ipairs(call('ZRANGE', LEASES, 0, -1)) do
    local t = listed(LEASES, each)
    if t and t[1] == 's' then return true end
  end
  return false
end
local t = load(id)
if not t or t[1] ~= 'u' then return reply({'stale'}) end
for i = 8, #ARGV do
  local known = false
  local ids = cjson.decode(ARGV[i])
  for _, session in ipairs(ids) do
    if call('HEXISTS', SESSIONS, session) == 1 or call('ZSCORE', OVER, session) then known = true end
  end
  if not known then
    if is_starting() then return reply({'open'}) end
    decided(id, t)
    count_doubts(-1)
    t[1] = 'l'
    save(id, t)
    call('HSET', DATA, id, '{"s":' .. ARGV[i] .. '}')
    call('ZADD', LEASES, deadline, id)
    call('HINCRBY', META, 'live', 1)
    for _, session in ipairs(ids) do call('HSET', SESSIONS, session, id) end
    call_next()
    return reply({'running'})
  end
end
local looks = (tonumber(t[9] or '0') or 0) + 1
if looks < ${LOOKS} then
  t[8] = t[8] or ''
  t[9] = int(looks)
  save(id, t)
  return reply({'open'})
end
drop(id, t)
call_next()
return reply({'free'})
`,
  (s) => {
    const id = s.arg(0)
    const t = s.load(id)
    if (t?.[0] !== "u") return s.reply(["stale"])
    for (const candidate of s.args.slice(2)) {
      const ids: ReadonlyArray<string> = JSON.parse(candidate)
      const known = ids.some(
        (each) => s.db.hget(s.sessions, each) !== undefined || s.db.zscore(s.overs, each) !== undefined,
      )
      if (known) continue
      const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
      const held = s.db.zrangebyscore(s.leases, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)
      if (held.some((each) => listed(s, s.leases, each)?.[0] === "s")) return s.reply(["open"])
      s.decided(id, t)
      s.countDoubts(-1)
      t[0] = "l"
      s.save(id, t)
      s.db.hset(s.data, id, `{"s":${candidate}}`)
      s.db.zadd(s.leases, Number(s.arg(1)), id)
      s.db.hincrby(s.meta, "live", 1)
      for (const each of ids) s.db.hset(s.sessions, each, id)
      s.callNext()
      return s.reply(["running"])
    }
    const looks = (Number(t[8] ?? "0") || 0) + 1
    if (looks < LOOKS) {
      t[7] ??= ""
      t[8] = String(looks)
      s.save(id, t)
      return s.reply(["open"])
    }
    s.drop(id, t)
    s.callNext()
    return s.reply(["free"])
  },
)
