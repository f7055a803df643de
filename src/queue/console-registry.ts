/**
 * The instances of the gate and what they counted in the last hour, for the operator's charts. An instance beats every few
 * seconds: one step of constant cost, whatever the traffic. Counts of all instances are summed in buckets of time on a ring
 * in one hash, so it never grows.
 *
 * KEYS 1 instances (zset: id by its last beat) · 2 about (hash: id → JSON) · 3 ring (hash: slot → `bucket count count …`)
 */
import { Effect } from "effect"
import type { StoreUnavailable } from "../Session.ts"
import type { Reply, Script, Store } from "../Store.ts"
import { integer, list, text } from "../store/reply.ts"

/** The length of a bucket, and how many there are: an hour. */
export const BUCKET_MILLIS = 10_000
export const BUCKETS = 360
/** An instance that has not beaten for so long is gone. */
export const GONE_MILLIS = 30_000
/** The most instances that are listed, and forgotten in one beat. */
const INSTANCES_MAX = 200

export const registryKeys: ReadonlyArray<string> = ["instances", "about", "ring"].map((name) => `vg:{console}:${name}`)

/**
 * An instance is there and adds what it counted since its last beat.
 *
 * ARGV 1 now (ms) · 2 id · 3 about it (JSON) · 4 gone before (ms) · 5 bucket · 6 its slot on the ring · 7… counts, whole
 * numbers in an order all instances share. Reply the number of instances forgotten
 */
export const beat: Script = {
  name: "console.beat",
  numberOfKeys: 3,
  lua: `-- voicegate console.beat
local INSTANCES, ABOUT, RING = KEYS[1], KEYS[2], KEYS[3]
local now, id, about, before, bucket, slot = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
redis.call('ZADD', INSTANCES, now, id)
redis.call('HSET', ABOUT, id, about)
local gone = redis.call('ZRANGEBYSCORE', INSTANCES, '-inf', before, 'LIMIT', 0, ${INSTANCES_MAX})
for _, each in ipairs(gone) do
  redis.call('ZREM', INSTANCES, each)
  redis.call('HDEL', ABOUT, each)
end
local sums, any = {}, false
for i = 7, #ARGV do
  sums[#sums + 1] = tonumber(ARGV[i])
  if ARGV[i] ~= '0' then any = true end
end
if any then
  local words = {}
  for word in string.gmatch(redis.call('HGET', RING, slot) or '0', '%S+') do words[#words + 1] = tonumber(word) end
  if words[1] <= bucket then
    if words[1] == bucket then
      for i = 1, math.max(#sums, #words - 1) do sums[i] = (sums[i] or 0) + (words[i + 1] or 0) end
    end
    for i = 1, #sums do sums[i] = string.format('%.0f', sums[i]) end
    redis.call('HSET', RING, slot, string.format('%.0f', bucket) .. ' ' .. table.concat(sums, ' '))
  end
end
return #gone
`,
  memory: (
    db,
    [instances = "", about = "", ring = ""],
    [now, id = "", says = "", before, bucket, slot = "", ...counts],
  ) => {
    db.zadd(instances, Number(now), id)
    db.hset(about, id, says)
    const gone = db.zrangebyscore(instances, Number.NEGATIVE_INFINITY, Number(before), INSTANCES_MAX)
    for (const each of gone) {
      db.zrem(instances, each)
      db.hdel(about, each)
    }
    if (counts.some((count) => count !== "0")) {
      const [old = 0, ...words] = (db.hget(ring, slot) ?? "0").split(" ").map(Number)
      if (old <= Number(bucket)) {
        const kept = old === Number(bucket) ? words : []
        const length = Math.max(counts.length, kept.length)
        const sums = Array.from({ length }, (_, i) => Number(counts[i] ?? "0") + (kept[i] ?? 0))
        db.hset(ring, slot, [bucket, ...sums].join(" "))
      }
    }
    return gone.length
  },
}

/**
 * ARGV 1 first bucket · 2 last bucket · 3 slots of the ring
 * Reply `[[[id, last beat, about]…], ['bucket count…'…]]`, both in order; buckets without any count are left out
 */
export const survey: Script = {
  name: "console.survey",
  numberOfKeys: 3,
  lua: `-- voicegate console.survey
local INSTANCES, ABOUT, RING = KEYS[1], KEYS[2], KEYS[3]
local instances, buckets = {}, {}
local page = redis.call('ZRANGE', INSTANCES, 0, ${INSTANCES_MAX - 1}, 'WITHSCORES')
for i = 1, #page, 2 do
  instances[#instances + 1] = {page[i], page[i + 1], redis.call('HGET', ABOUT, page[i]) or '{}'}
end
for bucket = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local found = redis.call('HGET', RING, string.format('%.0f', bucket % tonumber(ARGV[3])))
  if found and tonumber(string.match(found, '^%d+')) == bucket then buckets[#buckets + 1] = found end
end
return {instances, buckets}
`,
  memory: (db, [instances = "", about = "", ring = ""], [first, last, slots]) => {
    const all = db.zrangebyscore(instances, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, INSTANCES_MAX)
    const buckets: Array<Reply> = []
    for (let bucket = Number(first); bucket <= Number(last); bucket++) {
      const found = db.hget(ring, String(bucket % Number(slots)))
      if (found !== undefined && Number(found.split(" ")[0]) === bucket) buckets.push(found)
    }
    return [all.map((id) => [id, String(db.zscore(instances, id) ?? 0), db.hget(about, id) ?? "{}"]), buckets]
  },
}

export interface Survey {
  readonly instances: ReadonlyArray<{ readonly id: string; readonly seenAt: number; readonly about: string }>
  /** when a bucket begins (ms), and its counts */
  readonly buckets: ReadonlyArray<{ readonly at: number; readonly counts: ReadonlyArray<number> }>
}

export interface Registry {
  readonly beat: (id: string, about: string, counts: ReadonlyArray<number>) => Effect.Effect<void, StoreUnavailable>
  /** Who is there, and the buckets from `since` (ms) on, at most an hour of them. */
  readonly survey: (since: number) => Effect.Effect<Survey, StoreUnavailable>
}

export const makeRegistry = (store: Store["Service"]): Registry => ({
  beat: (id, about, counts) =>
    Effect.flatMap(store.now, (now) => {
      const bucket = Math.floor(now / BUCKET_MILLIS)
      const args = [now, id, about, now - GONE_MILLIS, bucket, bucket % BUCKETS, ...counts]
      return Effect.asVoid(store.run(beat, registryKeys, args))
    }),
  survey: (since) =>
    Effect.flatMap(store.now, (now) => {
      const last = Math.floor(now / BUCKET_MILLIS)
      const first = Math.min(last, Math.max(last - BUCKETS + 1, Math.floor(since / BUCKET_MILLIS)))
      return Effect.map(store.run(survey, registryKeys, [first, last, BUCKETS]), (reply) => {
        const [instances, buckets] = list(reply)
        return {
          instances: list(instances).map((row) => {
            const [id, seenAt, about] = list(row)
            return { id: text(id), seenAt: integer(seenAt), about: text(about) }
          }),
          buckets: list(buckets).map((row) => {
            const [bucket = 0, ...counts] = text(row).split(" ").map(Number)
            return { at: bucket * BUCKET_MILLIS, counts }
          }),
        }
      })
    }),
})
