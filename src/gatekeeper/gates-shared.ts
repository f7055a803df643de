/**
 * What gates on one store tell each other: that they are there, what their settings are, and which campaigns they serve. A gate
 * beats every few seconds. A campaign is remembered with what it takes to end its tickets and take its webhooks, until nothing of it
 * is left, so that it can be brought to its end when no gate has it in its settings any more.
 *
 * KEYS 1 alive (zset: gate by its last beat) · 2 about (hash: gate → digest of its settings, blank, host) · 3 settings (hash: gate →
 * its settings, JSON) · 4 seen (zset: campaign's key by the last beat of a gate that serves it) · 5 campaigns (hash: campaign's key →
 * about it, JSON) · 6 store (hash: `id` of this database, which another database has not)
 */
import { Effect } from "effect"
import type { StoreUnavailable } from "../Session.ts"
import type { Reply, Script, Store } from "../Store.ts"
import { integer, list, text } from "../store/reply.ts"

/** A gate that has not beaten for so long is gone. */
export const GONE_MILLIS = 30_000
/** At most so many gone gates are forgotten in one beat. */
const FORGET_MOST = 200
/** At most so many gates with other settings are told of in one beat. */
const OTHERS_MAX = 20
/**
 * At most so many campaigns that the asking gate does not serve are told of in one beat, those first that nobody has served for
 * longest; others follow as these come to their end. Each costs a webhook of an unknown session one step of the store.
 */
export const REMOVED_MAX = 32

/** What is published on every database of a server is heard on all of them. */
export const ANNOUNCE_CHANNEL = "vg:gates"

const keys: ReadonlyArray<string> = ["alive", "about", "settings", "seen", "campaigns", "store"].map(
  (name) => `vg:{gates}:${name}`,
)

/**
 * A gate is there, with these settings and campaigns, and learns of the others.
 *
 * ARGV 1 now (ms) · 2 gate · 3 digest of its settings · 4 host · 5 settings · 6 gone before (ms) · 7 an id for the database, unless it
 * has one · 8 what to announce on `ANNOUNCE_CHANNEL` behind the database's id, or empty · 9… pairs of a campaign's key and JSON about
 * it
 * Reply `[id of the database, gates alive, [[key, seen last (ms), JSON]…], [[gate, host, settings]…]]`: campaigns that this gate does
 * not serve, and gates whose settings have another digest
 */
export const beat: Script = {
  name: "gates.beat",
  numberOfKeys: 6,
  lua: `-- voicegate gates.beat
local ALIVE, ABOUT, SETTINGS, SEEN, CAMPAIGNS, STORE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local now, id, digest = ARGV[1], ARGV[2], ARGV[3]
-- what is as it was is not written again: it would be copied to replicas and disk every time
local function put(key, field, value)
  if redis.call('HGET', key, field) ~= value then redis.call('HSET', key, field, value) end
end
redis.call('ZADD', ALIVE, now, id)
put(ABOUT, id, digest .. ' ' .. ARGV[4])
put(SETTINGS, id, ARGV[5])
for _, each in ipairs(redis.call('ZRANGEBYSCORE', ALIVE, '-inf', ARGV[6], 'LIMIT', 0, ${FORGET_MOST})) do
  redis.call('ZREM', ALIVE, each)
  redis.call('HDEL', ABOUT, each)
  redis.call('HDEL', SETTINGS, each)
end
local own, count = {}, 0
for i = 9, #ARGV, 2 do
  own[ARGV[i]] = true
  count = count + 1
  redis.call('ZADD', SEEN, now, ARGV[i])
  put(CAMPAIGNS, ARGV[i], ARGV[i + 1])
end
local store = redis.call('HGET', STORE, 'id')
if not store then
  store = ARGV[7]
  redis.call('HSET', STORE, 'id', store)
end
local removed = {}
local known = redis.call('ZRANGEBYSCORE', SEEN, '-inf', '+inf', 'LIMIT', 0, count + ${REMOVED_MAX})
for _, key in ipairs(known) do
  if not own[key] and #removed < ${REMOVED_MAX} then
    removed[#removed + 1] = {key, redis.call('ZSCORE', SEEN, key), redis.call('HGET', CAMPAIGNS, key) or '{}'}
  end
end
local others = {}
for _, gate in ipairs(redis.call('ZRANGEBYSCORE', ALIVE, '-inf', '+inf')) do
  local about = redis.call('HGET', ABOUT, gate) or ''
  if #others < ${OTHERS_MAX} and string.sub(about, 1, #digest + 1) ~= digest .. ' ' then
    others[#others + 1] = {gate, string.match(about, ' (.*)$') or '', redis.call('HGET', SETTINGS, gate) or '{}'}
  end
end
if ARGV[8] ~= '' then redis.call('PUBLISH', '${ANNOUNCE_CHANNEL}', store .. ' ' .. ARGV[8]) end
return {store, redis.call('ZCARD', ALIVE), removed, others}
`,
  memory: (
    db,
    [alive = "", about = "", settings = "", seen = "", campaigns = "", stored = ""],
    [now, id = "", digest = "", host = "", its = "{}", before, offered = "", announcement = "", ...served],
  ) => {
    const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number
    db.zadd(alive, Number(now), id)
    db.hset(about, id, `${digest} ${host}`)
    db.hset(settings, id, its)
    for (const each of db.zrangebyscore(alive, NEGATIVE_INFINITY, Number(before), FORGET_MOST)) {
      db.zrem(alive, each)
      db.hdel(about, each)
      db.hdel(settings, each)
    }
    const own = new Set<string>()
    for (let i = 0; i < served.length; i += 2) {
      const key = served[i] ?? ""
      own.add(key)
      db.zadd(seen, Number(now), key)
      db.hset(campaigns, key, served[i + 1] ?? "{}")
    }
    const store = db.hget(stored, "id") ?? offered
    db.hset(stored, "id", store)
    const removed = db
      .zrangebyscore(seen, NEGATIVE_INFINITY, POSITIVE_INFINITY, own.size + REMOVED_MAX)
      .filter((key) => !own.has(key))
      .slice(0, REMOVED_MAX)
      .map((key) => [key, String(db.zscore(seen, key) ?? 0), db.hget(campaigns, key) ?? "{}"])
    const others: Array<Reply> = []
    for (const gate of db.zrangebyscore(alive, NEGATIVE_INFINITY, POSITIVE_INFINITY, POSITIVE_INFINITY)) {
      const [its = "", ...host] = (db.hget(about, gate) ?? "").split(" ")
      if (its === digest || others.length === OTHERS_MAX) continue
      others.push([gate, host.join(" "), db.hget(settings, gate) ?? "{}"])
    }
    if (announcement !== "") db.publish(ANNOUNCE_CHANNEL, `${store} ${announcement}`)
    return [store, db.zcard(alive), removed, others]
  },
}

/**
 * Forgets a campaign of which nothing is left, unless a gate has served it again.
 *
 * KEYS as for `beat` · ARGV 1 campaign's key · 2 seen last (ms), as the beat said · Reply 1 when it is forgotten
 */
export const forget: Script = {
  name: "gates.forget",
  numberOfKeys: 6,
  lua: `-- voicegate gates.forget
local seen = redis.call('ZSCORE', KEYS[4], ARGV[1])
if not seen or tonumber(seen) > tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('HDEL', KEYS[5], ARGV[1])
return 1
`,
  memory: (db, [, , , seen = "", campaigns = ""], [key = "", last]) => {
    const at = db.zscore(seen, key)
    if (at === undefined || at > Number(last)) return 0
    db.zrem(seen, key)
    db.hdel(campaigns, key)
    return 1
  },
}

/** A gate, as it tells of itself. */
export interface GateSays {
  readonly id: string
  readonly host: string
  /** JSON */
  readonly settings: string
  /** of `settings`: gates with the same digest have the same */
  readonly digest: string
  readonly campaigns: ReadonlyArray<{ readonly key: string; readonly about: string }>
  /** behind the database's id on `ANNOUNCE_CHANNEL`; empty for nothing */
  readonly announcement: string
}

/** What it learns. Times in ms. */
export interface Heard {
  /** of the database */
  readonly store: string
  readonly alive: number
  /** campaigns that it does not serve, at most `REMOVED_MAX` */
  readonly removed: ReadonlyArray<{ readonly key: string; readonly seenAt: number; readonly about: string }>
  /** gates with other settings, at most 20 */
  readonly others: ReadonlyArray<{ readonly id: string; readonly host: string; readonly settings: string }>
}

export interface GatesShared {
  /** `now` is the store's time. `offered` becomes the database's id if it has none. */
  readonly beat: (says: GateSays, offered: string, now: number) => Effect.Effect<Heard, StoreUnavailable>
  readonly forget: (key: string, seenAt: number) => Effect.Effect<boolean, StoreUnavailable>
}

export const makeGatesShared = (store: Store["Service"]): GatesShared => ({
  beat: ({ announcement, campaigns, digest, host, id, settings }, offered, now) => {
    const served = campaigns.flatMap(({ about, key }) => [key, about])
    const args = [now, id, digest, host, settings, now - GONE_MILLIS, offered, announcement, ...served]
    return Effect.map(store.run(beat, keys, args), (reply) => {
      const [database, alive, removed, others] = list(reply)
      return {
        store: text(database),
        alive: integer(alive),
        removed: list(removed).map((row) => {
          const [key, seenAt, about] = list(row)
          return { key: text(key), seenAt: integer(seenAt), about: text(about) }
        }),
        others: list(others).map((row) => {
          const [gate, host, settings] = list(row)
          return { id: text(gate), host: text(host), settings: text(settings) }
        }),
      }
    })
  },
  forget: (key, seenAt) => Effect.map(store.run(forget, keys, [key, seenAt]), (reply) => reply === 1),
})
