/**
 * Which ticket a token has been used for, so that it is used once. Keys: one of the token, a text of the time and the ticket; it lives as
 * long as the token.
 */
import type { Db } from "../../store/rules/db.ts"

export interface UseOfToken {
  /** the time (ms since 1970) and the ticket */
  readonly use: string
  /** in milliseconds */
  readonly lifetime: number
}

/** Returns the use that is stored, or stores this one and returns it. */
export const useToken = (db: Db, keys: ReadonlyArray<string>, _now: number, { lifetime, use }: UseOfToken): string => {
  const key = keys[0] ?? ""
  const known = db.get(key)
  if (known !== undefined) return known
  db.set(key, use, lifetime)
  return use
}

export interface Retake extends UseOfToken {
  /** the use that has come to nothing */
  readonly lost: string
}

/** Replaces a use that has come to nothing, unless somebody else has: then it returns what is stored. */
export const retakeToken = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  { lifetime, lost, use }: Retake,
): string => {
  const key = keys[0] ?? ""
  if (db.get(key) === lost) db.del(key)
  return useToken(db, keys, now, { lifetime, use })
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
