/** Starts in doubt: which there are, and what the platform says of one. */
import { callNext } from "../call-next.ts"
import { countDoubts, doubtDecided, dropDoubt } from "../doubt.ts"
import { load, loadHolder, save } from "../load.ts"
import { ALL, beginsWith, encode } from "../native.ts"
import { meta, type Step } from "../step.ts"

/** At most so many are looked at in one step. */
const DOUBTS_LIMIT = 200
/** The platform must say so often that it has no such session, since it may be slow to list it. */
const LOOKS = 2

/** A start that may have happened: its slot is held. */
export interface Doubt {
  readonly id: string
  readonly ticket: string
  /** when its slot was taken (ms since 1970) */
  readonly since: number
  /** what was stored with the ticket */
  readonly data: string
}

/** The starts in doubt that are as old, to ask the platform about; claimed by one gate for a while. Nothing where another has claimed them. */
export const doubts = (
  s: Step,
  { ageMillis, claimMillis }: { readonly ageMillis: number; readonly claimMillis: number },
): { readonly doubts?: ReadonlyArray<Doubt> } => {
  const found: Array<Doubt> = []
  if (meta(s, "doubts") === 0 || meta(s, "askedUntil") > s.now) return {}
  s.db.hset(s.keys.meta, "askedUntil", `${s.now + claimMillis}`)
  for (const id of s.db.zrange(s.keys.leases, 0, ALL)) {
    const doubt = found.length < DOUBTS_LIMIT && beginsWith(id, "?") ? loadHolder(s, id) : undefined
    if (doubt !== undefined && doubt.state === "doubt") {
      const since = doubt.since ?? 0
      const data = s.db.hget(s.keys.data, id) ?? ""
      if (since <= s.now - ageMillis) found.push({ id, ticket: doubt.ticket ?? "", since, data })
    }
  }
  return found.length === 0 ? {} : { doubts: found }
}

export interface PlatformSays {
  readonly id: string
  /** sessions that may be its own, each by its ids; absent where there are none */
  readonly candidates?: ReadonlyArray<ReadonlyArray<string>>
}

/** `open`: it is not decided yet; `stale`: there is no such doubt any more. */
export type Resolved = "running" | "open" | "free" | "stale"

const isKnown = (s: Step, sessions: ReadonlyArray<string>): boolean => {
  for (const session of sessions) {
    if (s.db.hget(s.keys.sessions, session) !== undefined) return true
    if (s.db.zscore(s.keys.endedSessions, session) !== undefined) return true
  }
  return false
}

const isAnyStarting = (s: Step): boolean => {
  for (const id of s.db.zrange(s.keys.leases, 0, ALL)) {
    const holder = loadHolder(s, id)
    if (holder !== undefined && holder.state === "starting") return true
  }
  return false
}

/**
 * A session that belongs to no ticket and has not ended is the one: the slot is
 * held until it ends. Where there is none, said twice, the slot is free. While another start is under way a session of nobody decides
 * nothing: several callers may share a client identifier, and it may be that start's.
 */
export const resolve = (s: Step, { candidates, id }: PlatformSays): Resolved => {
  const doubt = load(s, id)
  if (doubt === undefined || doubt.state !== "doubt") return "stale"
  for (const sessions of candidates ?? []) {
    if (!isKnown(s, sessions)) {
      if (isAnyStarting(s)) return "open"
      doubtDecided(s, id, doubt)
      countDoubts(s, -1)
      doubt.state = "live"
      doubt.sessions = sessions
      save(s, id, doubt)
      s.db.hset(s.keys.data, id, encode({ s: sessions }))
      s.db.zadd(s.keys.leases, s.now + s.context.callMillis, id)
      s.db.hincrby(s.keys.meta, "live", 1)
      for (const session of sessions) s.db.hset(s.keys.sessions, session, id)
      callNext(s)
      return "running"
    }
  }
  const looks = (doubt.looks ?? 0) + 1
  if (looks < LOOKS) {
    doubt.looks = looks
    save(s, id, doubt)
    return "open"
  }
  dropDoubt(s, id, doubt)
  callNext(s)
  return "free"
}
