/**
 * What instances share of the platform's concurrency: the slots that one of them found, and whose turn it is to ask. Each
 * script is one atomic step; whoever dies after it was told to ask holds the others up for one period.
 *
 * KEYS 1 a hash: `slots`, `at` when they were asked for (ms), `claim` until when somebody asks (ms), `problem` why the last
 * one who asked found nothing
 */
import type { Reply, Script } from "../Store.ts"
import { list, text } from "../store/reply.ts"

/** Slots that nobody has confirmed for so long are forgotten (ms). */
const KEEP_MILLIS = 10 * 60_000

/** The campaign's key, under its hash tag. */
export const keyOf = (campaign: string): string => `vg:{${encodeURIComponent(campaign)}}:capacity`

/**
 * ARGV 1 now (ms) · 2 how old the slots may be (ms) · 3 `first` when an instance starts: without slots it does not wait for
 * another that asks, because it must find out whether its key may ask
 * Result `[1 when the caller has to ask, slots or '', problem or '']`
 */
export const look: Script = {
  name: "capacity.look",
  numberOfKeys: 1,
  lua: `-- voicegate capacity.look
local now, period, first = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == 'first'
local slots = redis.call('HGET', KEYS[1], 'slots') or ''
local at = tonumber(redis.call('HGET', KEYS[1], 'at') or '0')
local claim = tonumber(redis.call('HGET', KEYS[1], 'claim') or '0')
local ask = 0
if (slots == '' or now - at >= period) and (claim <= now or first) then
  ask = 1
  redis.call('HSET', KEYS[1], 'claim', string.format('%.0f', now + period))
  redis.call('PEXPIRE', KEYS[1], ${KEEP_MILLIS})
end
return {ask, slots, redis.call('HGET', KEYS[1], 'problem') or ''}
`,
  memory: (db, [key = ""], args) => {
    const now = Number(args[0])
    const period = Number(args[1])
    const slots = db.hget(key, "slots") ?? ""
    const at = Number(db.hget(key, "at") ?? "0")
    const claim = Number(db.hget(key, "claim") ?? "0")
    let ask = 0
    if ((slots === "" || now - at >= period) && (claim <= now || args[2] === "first")) {
      ask = 1
      db.hset(key, "claim", String(now + period))
      db.pexpire(key, KEEP_MILLIS)
    }
    return [ask, slots, db.hget(key, "problem") ?? ""]
  },
}

/** What was found: ARGV 1 when it was asked for (ms) · 2 slots, empty when the platform did not say · 3 why not */
export const tell: Script = {
  name: "capacity.tell",
  numberOfKeys: 1,
  lua: `-- voicegate capacity.tell
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], 'slots', ARGV[2], 'at', ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ${KEEP_MILLIS})
end
redis.call('HSET', KEYS[1], 'problem', ARGV[3])
return {}
`,
  memory: (db, [key = ""], [at = "", slots = "", problem = ""]) => {
    if (slots !== "") {
      db.hset(key, "slots", slots)
      db.hset(key, "at", at)
      db.pexpire(key, KEEP_MILLIS)
    }
    db.hset(key, "problem", problem)
    return []
  },
}

export const readLook = (reply: Reply) => {
  const [ask, slots = "", problem = ""] = list(reply)
  return { mayAsk: ask === 1, slots: slots === "" ? undefined : Number(slots), problem: text(problem) }
}
