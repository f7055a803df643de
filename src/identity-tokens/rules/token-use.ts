/**
 * Which ticket a token has been used for, so that it is used once. Keys: one of the token, a text of the time and the ticket; it lives as
 * long as the token.
 *
 * In a store whose time is not the time of day, a clock that is set back, by however much, makes a token valid again. There the last uses are kept for
 * good, in two further keys: `uses`, the keys of the tokens by when each has expired by the time of day, and `forgotten`, the latest such time
 * of a use that is not kept any more. An unknown token that has expired by then may have been used, so it is not used again.
 */
import type { Db } from "../../store/rules/db.ts"
import { numberOf, textOf } from "../../store/rules/native.ts"

/** How many uses of tokens are kept for good, where any are. */
export const MAX_KEPT = 10_000
/** In milliseconds: a hundred years. */
const FOR_GOOD = 3_155_760_000_000

export interface UseOfToken {
  /** the time (ms since 1970) and the ticket */
  readonly use: string
  /** in milliseconds */
  readonly lifetime: number
  /** where uses are kept for good: when the token expires, and those that expired before may be forgotten if there are too many (ms since 1970) */
  readonly until?: number
  readonly forgets?: number
}

/** The answer for a token that may have been used. */
export const FORGOTTEN = ""

/**
 * Keeps a use for good, and forgets older ones if there are too many. False if this one may be forgotten itself.
 * @lazy
 */
const keep = (db: Db, keys: ReadonlyArray<string>, use: string, until: number, forgets: number): boolean => {
  const [key, uses, forgotten] = [keys[0] ?? "", keys[1] ?? "", keys[2] ?? ""]
  if (until <= numberOf(db.get(forgotten))) return false
  db.set(key, use, FOR_GOOD)
  db.zadd(uses, until, key)
  const tooMany = db.zcard(uses) - MAX_KEPT
  if (tooMany <= 0) return true
  for (const oldest of db.zrange(uses, 0, Math.min(2, tooMany))) {
    const expired = db.zscore(uses, oldest) ?? 0
    if (expired < forgets) {
      db.set(forgotten, textOf(expired), FOR_GOOD)
      db.zrem(uses, oldest)
      db.del(oldest)
    }
  }
  return true
}

/** Returns the use that is stored, or stores this one and returns it; `FORGOTTEN` if the token may have been used. */
export const useToken = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { forgets = 0, lifetime, until, use }: UseOfToken,
): string => {
  const key = keys[0] ?? ""
  const known = db.get(key)
  if (known !== undefined) return known
  if (until !== undefined) return keep(db, keys, use, until, forgets) ? use : FORGOTTEN
  db.set(key, use, lifetime)
  return use
}

export interface Retake extends UseOfToken {
  /** the use that has come to nothing */
  readonly lost: string
}

/** Replaces a use that has come to nothing, unless somebody else has: then it returns what is stored. */
export const retakeToken = (db: Db, keys: ReadonlyArray<string>, now: number, { lost, ...use }: Retake): string => {
  const key = keys[0] ?? ""
  if (db.get(key) === lost) db.del(key)
  return useToken(db, keys, now, use)
}

/** Forgets this use, and no other. Returns whether it was stored. */
export const unuseToken = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { use }: Pick<UseOfToken, "use">,
): boolean => {
  const key = keys[0] ?? ""
  if (db.get(key) !== use) return false
  db.del(key)
  return true
}
