/**
 * What gates on one store tell each other: that they are there, what their settings are, and which campaigns they serve. A gate
 * beats every few seconds. A campaign is remembered with what it takes to end its tickets and take its webhooks, until nothing of it
 * is left, so that it can be brought to its end when no gate has it in its settings any more.
 *
 * Keys: alive (zset: gate by its last beat) · about (hash: gate → `AboutGate`, JSON) · settings (hash: gate → its settings, JSON) ·
 * seen (zset: campaign's key by the last beat of a gate that serves it) · campaigns (hash: campaign's key → about it, JSON) · store (hash:
 * `id` of this database, which another database has not). Times in ms since 1970.
 *
 * A gate about which no `AboutGate` stands there, as one of an older version, counts as alive, and nothing is told of its settings.
 */
import type { Db } from "./db.ts"
import { ALL, decode, encode, isObject, isText, LOWEST } from "./native.ts"

/** A gate that has not beaten for so long is gone (ms). */
export const GATE_GONE_MILLIS = 30_000
/** At most so many gone gates are forgotten in one beat. */
const FORGET_GATES_MOST = 200
/** At most so many gates with other settings are told of in one beat. */
const OTHER_GATES_MAX = 20
/**
 * At most so many campaigns that the asking gate does not serve are told of in one beat, those first that nobody has served for
 * longest; others follow as these come to their end. Each costs a webhook of an unknown session one step of the store.
 */
export const REMOVED_MAX = 32

/** What is published on every database of a server is heard on all of them. */
export const ANNOUNCE_CHANNEL = "vg:gates"

interface AboutGate {
  readonly host: string
  /** of its settings: gates with the same digest have the same */
  readonly digest: string
}

/** A gate, as it tells of itself. */
export interface GateSays extends AboutGate {
  readonly id: string
  /** JSON */
  readonly settings: string
  /** those that it serves; `about` is JSON */
  readonly campaigns: ReadonlyArray<{ readonly key: string; readonly about: string }>
  /** behind the database's id and a blank on `ANNOUNCE_CHANNEL`; empty for nothing */
  readonly announcement: string
}

export interface GateBeat extends GateSays {
  /** becomes the database's id if it has none */
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
  /** gates, this one included */
  readonly alive: number
  /** campaigns that it does not serve, at most `REMOVED_MAX`; absent where there are none */
  readonly removed?: ReadonlyArray<RemovedCampaign>
  /** gates with other settings, at most `OTHER_GATES_MAX`; absent where there are none */
  readonly others?: ReadonlyArray<OtherGate>
}

/** What is as it was is not written again: it would be copied to replicas and disk every time. */
const hsetChanged = (db: Db, key: string, field: string, value: string): void => {
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

/** A gate is there, with these settings and campaigns, and learns of the others. */
export const beatGate = (db: Db, keys: ReadonlyArray<string>, now: number, gate: GateBeat): GateHears => {
  const [alive, abouts, settings] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? ""]
  const [seen, campaigns, stored] = [keys[3] ?? "", keys[4] ?? "", keys[5] ?? ""]
  db.zadd(alive, now, gate.id)
  hsetChanged(db, abouts, gate.id, encode({ host: gate.host, digest: gate.digest }))
  hsetChanged(db, settings, gate.id, gate.settings)
  for (const gone of db.zrangebyscore(alive, LOWEST, now - GATE_GONE_MILLIS, FORGET_GATES_MOST)) {
    db.zrem(alive, gone)
    db.hdel(abouts, gone)
    db.hdel(settings, gone)
  }
  const served: { [key: string]: true } = {}
  for (const { about, key } of gate.campaigns) {
    served[`=${key}`] = true
    db.zadd(seen, now, key)
    hsetChanged(db, campaigns, key, about)
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
    if (isAboutGate(about) && about.digest !== gate.digest && others.length < OTHER_GATES_MAX) {
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
  /** when it was seen last, as the beat said */
  readonly seenAt: number
}

/** Forgets a campaign of which nothing is left, unless a gate has served it again; says whether it did. Keys as for `beatGate`. */
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
