/**
 * The gates and what they counted in the last hour, for the operator's charts. A gate reports every few
 * seconds: one step of constant cost, whatever the traffic. Counts of all gates are summed in buckets of time on a ring
 * in one hash, so it never grows.
 *
 * Keys: instances (zset: id by its last report) · about (hash: id → JSON) · ring (hash: slot → bucket and counts, JSON)
 */
import type { Db } from "../db.ts"
import { decode, encode, isNumber, isObject, LOWEST, numbersIn } from "../native.ts"

/** The length of a bucket, and how many there are: an hour. */
export const BUCKET_MILLIS = 10_000
export const BUCKETS = 360
/** A gate that has not reported for so long is gone. */
export const GONE_MILLIS = 30_000
/** The most gates that are listed, and forgotten in one report. */
const INSTANCES_MAX = 200

/** A stretch of time by its number since 1970, and what was counted in it, in an order that all gates share. */
export interface Bucket {
  readonly bucket: number
  readonly counts: ReadonlyArray<number>
}

export interface Report {
  readonly id: string
  /** about the gate, JSON */
  readonly about: string
  /** what it counted since its last report */
  readonly counts: ReadonlyArray<number>
}

const bucketOf = (text: string | undefined): Bucket | undefined => {
  const found = decode(text ?? "")
  if (!isObject(found) || !isNumber(found.bucket)) return undefined
  const counts = numbersIn(found.counts)
  return counts.length === 0 ? undefined : { bucket: found.bucket, counts }
}

const isAny = (counts: ReadonlyArray<number>): boolean => {
  for (const count of counts) if (count !== 0) return true
  return false
}

const sumOf = (some: ReadonlyArray<number>, more: ReadonlyArray<number>): ReadonlyArray<number> => {
  const sums: Array<number> = []
  for (let i = 0; i < Math.max(some.length, more.length); i++) sums.push((some[i] ?? 0) + (more[i] ?? 0))
  return sums
}

/** A gate is there and adds what it counted; answers how many gates were forgotten. */
export const report = (db: Db, keys: ReadonlyArray<string>, now: number, { about, counts, id }: Report): number => {
  const [instances, abouts, ring] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? ""]
  db.zadd(instances, now, id)
  db.hset(abouts, id, about)
  const gone = db.zrangebyscore(instances, LOWEST, now - GONE_MILLIS, INSTANCES_MAX)
  for (const each of gone) {
    db.zrem(instances, each)
    db.hdel(abouts, each)
  }
  if (isAny(counts)) {
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

export interface Survey {
  readonly instances?: ReadonlyArray<{ readonly id: string; readonly seenAt: number; readonly about: string }>
  readonly buckets?: ReadonlyArray<Bucket>
}

/** Who is there, and the buckets from this one on, at most an hour of them; those without any count are left out. */
export const survey = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { since }: { readonly since: number },
): Survey => {
  const [instances, abouts, ring] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? ""]
  const last = Math.floor(now / BUCKET_MILLIS)
  const first = Math.min(last, Math.max(last - BUCKETS + 1, Math.floor(since / BUCKET_MILLIS)))
  const there: Array<{ readonly id: string; readonly seenAt: number; readonly about: string }> = []
  for (const id of db.zrange(instances, 0, INSTANCES_MAX)) {
    there.push({ id, seenAt: db.zscore(instances, id) ?? 0, about: db.hget(abouts, id) ?? "{}" })
  }
  const buckets: Array<Bucket> = []
  for (let bucket = first; bucket <= last; bucket++) {
    const found = bucketOf(db.hget(ring, `${bucket % BUCKETS}`))
    if (found !== undefined && found.bucket === bucket) buckets.push(found)
  }
  return {
    ...(there.length === 0 ? {} : { instances: there }),
    ...(buckets.length === 0 ? {} : { buckets }),
  }
}
