/**
 * What gates on one store share: that they are alive, their settings, and the campaigns they serve. A gate renews its
 * membership every few seconds. The data needed to end a campaign's tickets and accept its webhooks are kept until
 * nothing of the campaign is left, so that any gate can clear it after all gates have removed it from their settings.
 *
 * Keys: alive (zset: gate by its last renewal) · about (hash: gate → `AboutGate`, JSON) · settings (hash: gate → its
 * settings, JSON) · seen (zset: campaign key by the last renewal of a gate that serves it) · campaigns (hash:
 * campaign key → description, JSON) · store (hash: `id`, unique to this database). Times in ms since 1970.
 *
 * A gate without an `AboutGate`, such as one of an older version, counts as alive, but its settings are not reported.
 */
import type { Db } from "../../../store/rules/db.ts"
import { ALL, decode, encode, isObject, isText, LOWEST } from "../../../store/rules/native.ts"

/** A gate without a renewal for this long is gone (ms). */
export const GATE_GONE_MILLIS = 30_000
const MAX_FORGOTTEN_GATES = 200
const MAX_OTHER_GATES = 20
/**
 * Maximum campaigns, not served by the asking gate, that one renewal returns. Those unserved for longest come
 * first; the others follow as these are cleared. For each of them, a webhook of an unknown session costs one step of
 * the store.
 */
export const REMOVED_MAX = 32

/** Redis delivers a message to subscribers on every database of the server. */
export const ANNOUNCE_CHANNEL = "vg:gates"

interface AboutGate {
  readonly host: string
  /** of its settings: gates with the same digest have the same settings */
  readonly digest: string
}

export interface GateSays extends AboutGate {
  readonly id: string
  /** JSON */
  readonly settings: string
  /** the campaigns that it serves; `about` is JSON */
  readonly campaigns: ReadonlyArray<{ readonly key: string; readonly about: string }>
  /** published on `ANNOUNCE_CHANNEL` after the database's id and a space; empty for none */
  readonly announcement: string
}

export interface MembershipRenewal extends GateSays {
  /** becomes the database's id if it has none yet */
  readonly offered: string
}

export interface RemovedCampaign {
  readonly key: string
  readonly seenAt: number
  /** JSON */
  readonly about: string
}

export interface OtherGate {
  readonly id: string
  readonly host: string
  /** JSON */
  readonly settings: string
}

export interface GateHears {
  /** the id of the database */
  readonly store: string
  /** the number of gates, including this one */
  readonly alive: number
  /** campaigns that it does not serve, at most `REMOVED_MAX`; absent when there are none */
  readonly removed?: ReadonlyArray<RemovedCampaign>
  /** gates with other settings, at most `MAX_OTHER_GATES`; absent when there are none */
  readonly others?: ReadonlyArray<OtherGate>
}

/** Writes only changes: every write is copied to replicas and to disk. */
const hsetIfChanged = (db: Db, key: string, field: string, value: string): void => {
  if (db.hget(key, field) !== value) db.hset(key, field, value)
}

const isAboutGate = (value: unknown): value is AboutGate =>
  isObject(value) && isText(value.host) && isText(value.digest)

const databaseId = (db: Db, store: string, offered: string): string => {
  const id = db.hget(store, "id")
  if (id !== undefined) return id
  db.hset(store, "id", offered)
  return offered
}

/** Records that a gate is alive with these settings and campaigns, and returns what it must know of the others. */
export const renewMembership = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  gate: MembershipRenewal,
): GateHears => {
  const [alive, abouts, settings] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? ""]
  const [seen, campaigns, stored] = [keys[3] ?? "", keys[4] ?? "", keys[5] ?? ""]
  db.zadd(alive, now, gate.id)
  hsetIfChanged(db, abouts, gate.id, encode({ host: gate.host, digest: gate.digest }))
  hsetIfChanged(db, settings, gate.id, gate.settings)
  for (const goneGate of db.zrangebyscore(alive, LOWEST, now - GATE_GONE_MILLIS, MAX_FORGOTTEN_GATES)) {
    db.zrem(alive, goneGate)
    db.hdel(abouts, goneGate)
    db.hdel(settings, goneGate)
  }
  const served: { [key: string]: true } = {}
  for (const { about, key } of gate.campaigns) {
    served[`=${key}`] = true
    db.zadd(seen, now, key)
    hsetIfChanged(db, campaigns, key, about)
  }
  const removed: Array<RemovedCampaign> = []
  for (const key of db.zrange(seen, 0, gate.campaigns.length + REMOVED_MAX)) {
    if (served[`=${key}`] !== true && removed.length < REMOVED_MAX) {
      removed.push({ key, seenAt: db.zscore(seen, key) ?? 0, about: db.hget(campaigns, key) ?? "{}" })
    }
  }
  const others: Array<OtherGate> = []
  for (const id of db.zrange(alive, 0, ALL)) {
    const about = decode(db.hget(abouts, id) ?? "")
    if (isAboutGate(about) && about.digest !== gate.digest && others.length < MAX_OTHER_GATES) {
      others.push({ id, host: about.host, settings: db.hget(settings, id) ?? "{}" })
    }
  }
  const store = databaseId(db, stored, gate.offered)
  if (gate.announcement !== "") db.publish(ANNOUNCE_CHANNEL, `${store} ${gate.announcement}`)
  return {
    store,
    alive: db.zcard(alive),
    ...(removed.length === 0 ? {} : { removed }),
    ...(others.length === 0 ? {} : { others }),
  }
}

export interface CampaignToForget {
  readonly key: string
  /** the `seenAt` that the renewal returned */
  readonly seenAt: number
}

/**
 * Forgets a cleared campaign, unless a gate has served it since. True when it was forgotten. Keys as for
 * `renewMembership`.
 */
export const forgetCampaign = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { key, seenAt }: CampaignToForget,
): boolean => {
  const [seen, campaigns] = [keys[3] ?? "", keys[4] ?? ""]
  const last = db.zscore(seen, key)
  if (last === undefined || last > seenAt) return false
  db.zrem(seen, key)
  db.hdel(campaigns, key)
  return true
}
