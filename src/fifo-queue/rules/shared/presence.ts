/**
 * Who counts as present. The score of a waiting ticket in `presence` is one of two:
 *
 * - a time (ms since 1970): the ticket is present until then. Requests, polls and older gates write times.
 * - `HELD` + the number of a gate: that gate holds an open connection of the ticket, which is present for as long as the gate lives. No
 *   heartbeat has to renew it, so a connected ticket that only waits costs the store nothing.
 *
 * The rules:
 *
 * - A gate holds tickets by its heartbeat alone, which names those with a connection that it does not hold yet, and `holders` has when each
 *   gate sent its last one. A ticket that another living gate holds stays with that gate.
 * - A gate lets go of a ticket whose connection has closed: it is present for the grace from then on. Only the gate that holds it can.
 * - A gate that stops lets go of all that it holds.
 * - What a gate holds that has sent no heartbeat for `RELEASE_MILLIS` gets the time until which the gate would have kept it present, and at
 *   least until the gate is dead (`outage.ts`): a sweep does it, in pages. During a grace period nothing is released, because the other gates
 *   could not send a heartbeat either.
 * - Whoever takes a ticket from a gate, or lets go of one, notes it as changed, so that another gate with a connection of it holds it.
 */
import { HIGHEST, LOWEST, textOf } from "../../../store/rules/native.ts"
import { noteChange } from "./changes.ts"
import { DEAD_MILLIS, isGracePeriod } from "./outage.ts"
import type { Step } from "./step.ts"

/** Above every time; with a gate's number still a whole number that Redis keeps exactly. */
export const HELD: number = 2 ** 52
/** Every gate's number is below. */
const HOLDERS: number = 2 ** 48
/** A gate that has sent no heartbeat for this long (ms) does not keep others from its tickets: three heartbeats. */
export const SILENT_HOLDER_MILLIS = 6_000
/** Within this time (ms) after its last heartbeat another gate takes over the tickets of a dead gate that have come to it. */
const TAKE_OVER_MILLIS: number = SILENT_HOLDER_MILLIS + 2_000
/** When what a silent gate holds gets a time (ms): before the gate is dead, so that gates which hold a connection can take it over. */
export const RELEASE_MILLIS: number = DEAD_MILLIS - 5_000
/** The most tickets that one step lets go of. */
export const MAX_RELEASED_PER_STEP = 200

const ownScore = (s: Step): number => HELD + s.context.holder

/** When the gate of this score has sent its last heartbeat (ms); undefined when that is not known. */
const heartbeatOf = (s: Step, score: number): number | undefined => s.db.zscore(s.keys.holders, textOf(score - HELD))

const isHolderHeard = (s: Step, score: number): boolean => (heartbeatOf(s, score) ?? 0) >= s.now - SILENT_HOLDER_MILLIS

/** The ticket is present until then, unless it is for longer. @param spare not written when it is present until so much earlier (ms) */
export const keepPresent = (s: Step, id: string, until: number, spare: number): void => {
  const score = s.db.zscore(s.keys.presence, id) ?? 0
  if (score < HELD) {
    if (until > score + spare) s.db.zadd(s.keys.presence, until, id)
  } else if (!isHolderHeard(s, score)) {
    s.db.zadd(s.keys.presence, until, id)
    noteChange(s, id)
  }
}

/** Until when a waiting ticket is present if nobody hears of it any more (ms). */
export const knownPresentUntil = (s: Step, id: string): number => {
  const score = s.db.zscore(s.keys.presence, id) ?? 0
  return score < HELD ? score : s.now + s.context.seenMillis
}

/** This gate sends a heartbeat. */
export const noteHolder = (s: Step): void => s.db.zadd(s.keys.holders, s.now, textOf(s.context.holder))

/** This gate has a connection of the waiting ticket. False when another gate holds it. */
export const hold = (s: Step, id: string): boolean => {
  const score = s.db.zscore(s.keys.presence, id) ?? 0
  const own = ownScore(s)
  if (score === own) return true
  if (score >= HELD) {
    if (isHolderHeard(s, score)) return false
    noteChange(s, id)
  }
  s.db.zadd(s.keys.presence, own, id)
  return true
}

const letGoAt = (s: Step, ids: ReadonlyArray<string>, until: number): void => {
  for (const id of ids) {
    s.db.zadd(s.keys.presence, until, id)
    noteChange(s, id)
  }
}

/** The connections of these tickets have closed. */
export const letGo = (s: Step, ids: ReadonlyArray<string>): void => {
  const own = ownScore(s)
  for (const id of ids) {
    if (s.db.zscore(s.keys.presence, id) === own) letGoAt(s, [id], s.now + s.context.graceMillis)
  }
}

/** How many tickets this gate holds. */
export const heldCount = (s: Step): number =>
  s.db.zcountFrom(s.keys.presence, ownScore(s)) - s.db.zcountFrom(s.keys.presence, ownScore(s) + 1)

/** A page of the tickets that this gate holds. */
export const heldPage = (s: Step, first: number, count: number): ReadonlyArray<string> =>
  s.db.zrangebyscore(s.keys.presence, ownScore(s), ownScore(s), count, first)

/** This gate stops. True when it holds more. */
export const letGoOfAll = (s: Step): boolean => {
  const ids = heldPage(s, 0, MAX_RELEASED_PER_STEP)
  letGoAt(s, ids, s.now + s.context.seenMillis)
  if (ids.length === MAX_RELEASED_PER_STEP) return true
  s.db.zrem(s.keys.holders, textOf(s.context.holder))
  return false
}

/** When the last heartbeat of a gate is too old, or not known: until when its tickets are present then. Undefined while the gate lives. */
const releasedUntil = (s: Step, heardAt: number | undefined): number | undefined => {
  const { context, now } = s
  // one in the future was noted before a clock was set back
  if (heardAt === undefined || heardAt > now + DEAD_MILLIS) return now + context.seenMillis
  if (heardAt >= now - RELEASE_MILLIS) return undefined
  const until = heardAt + Math.max(context.seenMillis + TAKE_OVER_MILLIS, DEAD_MILLIS)
  // however late the release is: a gate with a connection of the ticket has its heartbeat first
  return Math.max(until, now + DEAD_MILLIS - RELEASE_MILLIS)
}

/** Releases what silent gates hold. True when there is more. */
export const releaseSilent = (s: Step): boolean => {
  const { db, keys, now } = s
  if (isGracePeriod(s)) return false
  let from = HELD
  for (let visited = 0; visited < MAX_RELEASED_PER_STEP; visited++) {
    const next = db.zrangebyscore(keys.presence, from, HIGHEST, 1)[0]
    if (next === undefined) {
      db.zremrangebyscore(keys.holders, LOWEST, now - DEAD_MILLIS - 1)
      return false
    }
    const score = db.zscore(keys.presence, next) ?? from
    if (score >= HELD + HOLDERS) {
      // no gate has such a number: the score is damaged
      letGoAt(s, [next], now + s.context.seenMillis)
      continue
    }
    const until = releasedUntil(s, heartbeatOf(s, score))
    if (until !== undefined) {
      const ids = db.zrangebyscore(keys.presence, score, score, MAX_RELEASED_PER_STEP)
      letGoAt(s, ids, until)
      if (ids.length === MAX_RELEASED_PER_STEP) return true
    }
    from = score + 1
  }
  return true
}
