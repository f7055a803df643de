import type { Script } from "../Store.ts"
import { DAY, HOUR, OPEN } from "./units.ts"

/** How many arguments `giveBack` has. */
export const GIVE_BACK_ARGS = 9

/**
 * What the end of a ticket does to its caller's units. A `refund` removes the token's unit, unless so many were given back in
 * the last hour that it is used all the same; what is not removed is no longer open. `missed` takes further units where the
 * token's own still counts, but never fills the log to more than it may hold. Repeated, all of it changes nothing.
 *
 * KEYS 1 log · 2 refunds (`units.ts`)
 * ARGV 1 now · 2 token · 3 `refund`, `release` or `missed` · 4 refunds an hour · 5 units that a missed turn takes further · 6 the
 * most units that a missed turn may fill the log to · 7 open at once (0 is no limit) · 8 `kept` where units count when they are
 * no longer open · 9 the channel on which it is told, with the first key, that a caller may be let in again
 * Reply the number of units that were changed
 */
export const giveBack: Script = {
  name: "limit.giveBack",
  numberOfKeys: 2,
  lua: `-- voicegate limit.giveBack
local call = redis.call
local LOG, REFUNDS = KEYS[1], KEYS[2]
local now, token, kind, refunds, further = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local fullest, most, kept, channel = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8] == 'kept', ARGV[9]
local function int(n) return string.format('%.0f', n) end
local OPEN = ${OPEN}
local at = tonumber(call('ZSCORE', LOG, token) or '-1')
local moment = at >= OPEN and at - OPEN or at
local counts = at >= 0 and moment > now - ${DAY}
if kind == 'refund' and counts then
  call('ZREMRANGEBYSCORE', REFUNDS, '-inf', int(now - ${HOUR}))
  if call('ZCARD', REFUNDS) < refunds then
    call('ZREM', LOG, token)
    call('ZADD', REFUNDS, int(now), token)
    call('PEXPIRE', REFUNDS, ${HOUR})
    call('PUBLISH', channel, LOG)
    return 1
  end
end
local changed = 0
if at >= OPEN then
  changed = 1
  if most > 0 and call('ZCOUNT', LOG, '(' .. int(OPEN + now - ${DAY}), '+inf') >= most then call('PUBLISH', channel, LOG) end
  if kept then call('ZADD', LOG, int(at - OPEN), token) else call('ZREM', LOG, token) end
end
if kind == 'missed' and counts then
  call('ZREMRANGEBYSCORE', LOG, '-inf', int(now - ${DAY}))
  call('ZREMRANGEBYSCORE', LOG, int(OPEN), int(OPEN + now - ${DAY}))
  for n = 1, further do
    if call('ZCARD', LOG) >= fullest then break end
    changed = changed + call('ZADD', LOG, 'NX', int(now), token .. '+' .. n)
    call('PEXPIRE', LOG, ${DAY})
  end
end
return changed
`,
  memory: (db, [log = "", given = ""], args) => {
    const [now = 0, , , refunds = 0, further = 0, fullest = 0, most = 0] = args.map(Number)
    const [, token = "", kind] = args
    const kept = args[7] === "kept"
    const channel = args[8] ?? ""
    const at = db.zscore(log, token) ?? -1
    const moment = at >= OPEN ? at - OPEN : at
    const counts = at >= 0 && moment > now - DAY
    if (kind === "refund" && counts) {
      db.zremrangebyscore(given, Number.NEGATIVE_INFINITY, now - HOUR)
      if (db.zcard(given) < refunds) {
        db.zrem(log, token)
        db.zadd(given, now, token)
        db.pexpire(given, HOUR)
        db.publish(channel, log)
        return 1
      }
    }
    let changed = 0
    if (at >= OPEN) {
      changed = 1
      if (most > 0 && db.zcountFrom(log, OPEN + now - DAY + 1) >= most) db.publish(channel, log)
      if (kept) db.zadd(log, at - OPEN, token)
      else db.zrem(log, token)
    }
    if (kind === "missed" && counts) {
      db.zremrangebyscore(log, Number.NEGATIVE_INFINITY, now - DAY)
      db.zremrangebyscore(log, OPEN, OPEN + now - DAY)
      for (let n = 1; n <= further && db.zcard(log) < fullest; n++) {
        const unit = `${token}+${n}`
        if (db.zscore(log, unit) === undefined) {
          db.zadd(log, now, unit)
          changed++
        }
        db.pexpire(log, DAY)
      }
    }
    return changed
  },
}
