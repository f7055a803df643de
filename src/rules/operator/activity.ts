/**
 * The instances, and what they counted in the last hour, for the charts of the console. Each instance sends a heartbeat with its new
 * counts every few seconds, at a constant cost. The counts of all instances are summed per bucket of time. The buckets are a ring in one
 * hash, so its size is bounded.
 *
 * Keys: instances (zset: id by its last heartbeat) · about (hash: id → JSON) · counts (hash: slot of the ring → bucket and counts, JSON)
 */
import type { Db } from "../db.ts"
import { decode, encode, isNumber, isObject, LOWEST, namesIn, numbersByName } from "../native.ts"

/** The length of a bucket (ms), and the number of buckets: one hour in total. */
export const BUCKET_MILLIS = 10_000
export const BUCKETS = 360
/** An instance without a heartbeat for this long is gone (ms). */
export const GONE_MILLIS = 30_000
/** Maximum instances that are listed, and that one heartbeat removes. */
const INSTANCES_MAX = 200

/** Counts by name; a name that is absent counts 0. */
export interface Counts {
  readonly [name: string]: number
}

/** A bucket by its number since 1970. */
export interface Bucket {
  readonly bucket: number
  readonly counts: Counts
}

export interface InstanceHeartbeat {
  readonly id: string
  /** a description of the instance, JSON */
  readonly about: string
  /** what it counted since its last heartbeat */
  readonly counts: Counts
}

const bucketOf = (text: string | undefined): Bucket | undefined => {
  const found = decode(text ?? "")
  if (!isObject(found) || !isNumber(found.bucket)) return undefined
  return { bucket: found.bucket, counts: numbersByName(found.counts) }
}

const sumOf = (some: Counts, more: Counts): Counts => {
  const sums: { [name: string]: number } = {}
  for (const name of namesIn(some)) sums[name] = some[name] ?? 0
  for (const name of namesIn(more)) sums[name] = (sums[name] ?? 0) + (more[name] ?? 0)
  return sums
}

/** Records an instance's heartbeat and adds its counts. Returns the number of instances removed as gone. */
export const instanceHeartbeat = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { about, counts, id }: InstanceHeartbeat,
): number => {
  const [instances, abouts, ring] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? ""]
  db.zadd(instances, now, id)
  db.hset(abouts, id, about)
  const gone = db.zrangebyscore(instances, LOWEST, now - GONE_MILLIS, INSTANCES_MAX)
  for (const each of gone) {
    db.zrem(instances, each)
    db.hdel(abouts, each)
  }
  if (namesIn(counts).length > 0) {
    const bucket = Math.floor(now / BUCKET_MILLIS)
    const slot = `${bucket % BUCKETS}`
    const kept = bucketOf(db.hget(ring, slot))
    if (kept === undefined || kept.bucket <= bucket) {
      const sums = kept !== undefined && kept.bucket === bucket ? sumOf(counts, kept.counts) : counts
      db.hset(ring, slot, encode({ bucket, counts: sums }))
    }
  }
  return gone.length
}

export interface Activity {
  readonly instances?: ReadonlyArray<{ readonly id: string; readonly seenAt: number; readonly about: string }>
  readonly buckets?: ReadonlyArray<Bucket>
}

/** The instances, and the buckets since a time (ms), at most one hour; buckets without any count are left out. */
export const activity = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { since }: { readonly since: number },
): Activity => {
  const [instances, abouts, ring] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? ""]
  const last = Math.floor(now / BUCKET_MILLIS)
  const first = Math.min(last, Math.max(last - BUCKETS + 1, Math.floor(since / BUCKET_MILLIS)))
  const listed: Array<{ readonly id: string; readonly seenAt: number; readonly about: string }> = []
  for (const id of db.zrange(instances, 0, INSTANCES_MAX)) {
    listed.push({ id, seenAt: db.zscore(instances, id) ?? 0, about: db.hget(abouts, id) ?? "{}" })
  }
  const buckets: Array<Bucket> = []
  for (let bucket = first; bucket <= last; bucket++) {
    const found = bucketOf(db.hget(ring, `${bucket % BUCKETS}`))
    if (found !== undefined && found.bucket === bucket) buckets.push(found)
  }
  return {
    ...(listed.length === 0 ? {} : { instances: listed }),
    ...(buckets.length === 0 ? {} : { buckets }),
  }
}
