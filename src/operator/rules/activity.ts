/**
 * The instances, and what they counted in the last hour, for the charts of the console. Each instance reports its new
 * counts every few seconds, at a constant cost. The counts of all instances are summed per bucket of time. The buckets are a ring in one
 * hash, so its size is bounded.
 *
 * Refused requests are also counted by campaign and reason, in longer buckets, because they are only shown as sums.
 *
 * An instance that stops takes itself off the list. One that dies stays on it for half an hour, so that an operator who looks later sees it.
 *
 * Keys: instances (zset: id by its last report) · about (hash: id → JSON) · counts, refusals (hash: slot of the ring → bucket and
 * counts, JSON)
 */
import type { Db } from "../../store/rules/db.ts"
import { decode, encode, isNumber, isObject, LOWEST, namesIn, numbersByName } from "../../store/rules/native.ts"

/** The length of a bucket (ms), and the number of buckets: one hour in total. */
export const BUCKET_MILLIS = 10_000
export const BUCKETS = 360
/** The length of a bucket of refusals (ms), and the number of buckets: one hour in total. */
export const REFUSAL_BUCKET_MILLIS = 300_000
export const REFUSAL_BUCKETS = 12
/** An instance without a report for this long is gone (ms). */
export const GONE_MILLIS = 30 * 60_000
/** Maximum instances that are listed, and that one report removes. */
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

export interface ActivityReport {
  readonly id: string
  /** a description of the instance, JSON */
  readonly about: string
  /** what it counted since its last report */
  readonly counts: Counts
  /** the requests that it refused since, by `<reason> <campaign>` */
  readonly refusals: Counts
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

/** Adds counts to the present bucket of a ring. */
const addTo = (
  db: Db,
  ring: string,
  now: number,
  { bucketMillis, buckets }: { readonly bucketMillis: number; readonly buckets: number },
  counts: Counts,
): void => {
  if (namesIn(counts).length === 0) return
  const bucket = Math.floor(now / bucketMillis)
  const slot = `${bucket % buckets}`
  const kept = bucketOf(db.hget(ring, slot))
  if (kept !== undefined && kept.bucket > bucket) return
  const sums = kept !== undefined && kept.bucket === bucket ? sumOf(counts, kept.counts) : counts
  db.hset(ring, slot, encode({ bucket, counts: sums }))
}

/** Records an instance's report and adds its counts. Returns the number of instances removed as gone. */
export const reportActivity = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { about, counts, id, refusals }: ActivityReport,
): number => {
  const [instances, abouts, counted, refused] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? "", keys[3] ?? ""]
  db.zadd(instances, now, id)
  db.hset(abouts, id, about)
  const gone = db.zrangebyscore(instances, LOWEST, now - GONE_MILLIS, INSTANCES_MAX)
  for (const each of gone) {
    db.zrem(instances, each)
    db.hdel(abouts, each)
  }
  addTo(db, counted, now, { bucketMillis: BUCKET_MILLIS, buckets: BUCKETS }, counts)
  addTo(db, refused, now, { bucketMillis: REFUSAL_BUCKET_MILLIS, buckets: REFUSAL_BUCKETS }, refusals)
  return gone.length
}

/** Takes an instance that stops off the list. */
export const leaveActivity = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { id }: { readonly id: string },
): boolean => {
  db.hdel(keys[1] ?? "", id)
  return db.zrem(keys[0] ?? "", id)
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
  // those that have reported last
  const ids = db.zrange(instances, Math.max(0, db.zcard(instances) - INSTANCES_MAX), INSTANCES_MAX)
  for (const id of ids) {
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

/** The requests of the last hour that all instances refused, by `<reason> <campaign>`; without `counts` if there is none. */
export const refusals = (db: Db, keys: ReadonlyArray<string>, now: number): { readonly counts?: Counts } => {
  const last = Math.floor(now / REFUSAL_BUCKET_MILLIS)
  let sums: Counts = {}
  for (let slot = 0; slot < REFUSAL_BUCKETS; slot++) {
    const found = bucketOf(db.hget(keys[3] ?? "", `${slot}`))
    if (found !== undefined && found.bucket > last - REFUSAL_BUCKETS && found.bucket <= last) {
      sums = sumOf(sums, found.counts)
    }
  }
  return namesIn(sums).length === 0 ? {} : { counts: sums }
}
