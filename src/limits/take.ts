import type { Script } from "../Store.ts"
import { DAY, HOUR, OPEN } from "./units.ts"

/** How many arguments `take` has. */
export const TAKE_ARGS = 6

/**
 * Takes one unit of every budget, or of none.
 *
 * KEYS 1 log (`units.ts`); then that of each further call
 * ARGV 1 now · 2 token · 3 hourly · 4 daily · 5 open at once (0 is no limit) · 6 `brief`, or empty; then each further call's
 * token
 * Reply of each `[taken, hour used, hour reset, day used, day reset, open, open reset]`, used after the taking; a reset is the
 * time (ms) when the budget has a unit more, or 0. The open units' reset is said to whoever is refused, and is the time when
 * the oldest stops counting by itself. When brief and taken, `[1]`
 */
export const take: Script = {
  name: "limit.take",
  numberOfKeys: 1,
  joins: { own: [1], times: [0], ownKeys: 1 },
  lua: `-- voicegate limit.take
local call = redis.call
local now = tonumber(ARGV[1])
local hourly, daily, most, brief = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == 'brief'
local function int(n) return string.format('%.0f', n) end
local OPEN = ${OPEN}
local opened, hour_ago, day_ago = int(OPEN), now - ${HOUR}, now - ${DAY}
local function open_since(log, ago) return call('ZCOUNT', log, '(' .. int(OPEN + ago), '+inf') end
-- the moments of the oldest units in a window, open ones among them where there are any
local function oldest(log, ago, count, open)
  if open == 0 then
    local last = call('ZRANGEBYSCORE', log, '(' .. int(ago), '(' .. opened, 'WITHSCORES', 'LIMIT', count - 1, 1)
    return tonumber(last[2])
  end
  local moments = {}
  local closed = call('ZRANGEBYSCORE', log, '(' .. int(ago), '(' .. opened, 'WITHSCORES', 'LIMIT', 0, count)
  for i = 2, #closed, 2 do moments[#moments + 1] = tonumber(closed[i]) end
  local still = call('ZRANGEBYSCORE', log, '(' .. int(OPEN + ago), '+inf', 'WITHSCORES', 'LIMIT', 0, count)
  for i = 2, #still, 2 do moments[#moments + 1] = tonumber(still[i]) - OPEN end
  table.sort(moments)
  return moments[count]
end
local function one(log, token)
  local day, hour, open = call('ZCARD', log), 0, 0
  local fresh = day == 0
  -- what is over counts here too: where even so there is room, nobody need look closer
  local roomy = brief and (hourly == 0 or day < hourly) and (daily == 0 or day < daily)
  if roomy and most > 0 and day >= most then roomy = open_since(log, day_ago) < most end
  if not fresh and not roomy then
    call('ZREMRANGEBYSCORE', log, '-inf', int(day_ago))
    open = call('ZCOUNT', log, opened, '+inf')
    if open > 0 then open = open - call('ZREMRANGEBYSCORE', log, opened, int(OPEN + day_ago)) end
    day = call('ZCARD', log)
    hour = call('ZCOUNT', log, '(' .. int(hour_ago), '(' .. opened)
    if open > 0 then hour = hour + open_since(log, hour_ago) end
  end
  local taken = 1
  if (hourly > 0 and hour >= hourly) or (daily > 0 and day >= daily) or (most > 0 and open >= most) then taken = 0 end
  if taken == 1 then
    if most > 0 then
      call('ZADD', log, int(OPEN + now), token)
      open = open + 1
    else
      call('ZADD', log, int(now), token)
    end
    call('PEXPIRE', log, ${DAY})
    day, hour = day + 1, hour + 1
    if brief then return {1} end
  end
  local function reset(window, limit, used)
    if limit == 0 or used == 0 then return '0' end
    if fresh then return int(now + window) end
    return int(oldest(log, now - window, math.max(used - limit, 0) + 1, open) + window)
  end
  local over = '0'
  if taken == 0 and open > 0 then
    over = int(tonumber(call('ZRANGEBYSCORE', log, opened, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]) - OPEN + ${DAY})
  end
  return {taken, hour, reset(${HOUR}, hourly, hour), day, reset(${DAY}, daily, day), open, over}
end
local replies = {one(KEYS[1], ARGV[2])}
for n = 2, #KEYS do replies[n] = one(KEYS[n], ARGV[n + ${TAKE_ARGS - 1}]) end
return replies
`,
  memory: (db, [log = ""], args) => {
    const [now = 0, , hourly = 0, daily = 0, most = 0] = args.map(Number)
    const token = args[1] ?? ""
    const brief = args[5] === "brief"
    const openSince = (ago: number): number => db.zcountFrom(log, OPEN + ago + 1)
    let day = db.zcard(log)
    let hour = 0
    let open = 0
    const roomy =
      brief &&
      (hourly === 0 || day < hourly) &&
      (daily === 0 || day < daily) &&
      (most === 0 || day < most || openSince(now - DAY) < most)
    if (!roomy) {
      db.zremrangebyscore(log, Number.NEGATIVE_INFINITY, now - DAY)
      db.zremrangebyscore(log, OPEN, OPEN + now - DAY)
      open = db.zcountFrom(log, OPEN)
      day = db.zcard(log)
      hour = db.zcountFrom(log, now - HOUR + 1) - open + openSince(now - HOUR)
    }
    const taken = !((hourly > 0 && hour >= hourly) || (daily > 0 && day >= daily) || (most > 0 && open >= most))
    if (taken) {
      db.zadd(log, most > 0 ? OPEN + now : now, token)
      db.pexpire(log, DAY)
      if (most > 0) open++
      day++
      hour++
      if (brief) return [1]
    }
    const momentsOf = (min: number, max: number, count: number, offset: number): ReadonlyArray<number> =>
      db.zrangebyscore(log, min, max, count).map((unit) => (db.zscore(log, unit) ?? 0) - offset)
    const reset = (window: number, limit: number, used: number): number => {
      if (limit === 0 || used === 0) return 0
      const count = Math.max(used - limit, 0) + 1
      const moments = [
        ...momentsOf(now - window + 1, OPEN - 1, count, 0),
        ...momentsOf(OPEN + now - window + 1, Number.POSITIVE_INFINITY, count, OPEN),
      ].sort((a, b) => a - b)
      return (moments[count - 1] ?? 0) + window
    }
    const [first] = taken ? [] : momentsOf(OPEN, Number.POSITIVE_INFINITY, 1, OPEN)
    const resets = { hour: reset(HOUR, hourly, hour), day: reset(DAY, daily, day) }
    const over = first === undefined ? 0 : first + DAY
    return [taken ? 1 : 0, hour, String(resets.hour), day, String(resets.day), open, String(over)]
  },
}
