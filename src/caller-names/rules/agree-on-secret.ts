/**
 * The secret that instances use to hash callers' addresses. Keys: the secret of one week (text; the first offer sets
 * its lifetime).
 */
import type { Db } from "../../store/rules/db.ts"

export interface SecretOffer {
  /** stored if there is no secret yet */
  readonly secret: string
  /** in milliseconds */
  readonly lifetime: number
}

/** Returns the stored secret, or stores the offered one and returns it. */
export const agreeOnSecret = (
  db: Db,
  keys: ReadonlyArray<string>,
  _now: number,
  { lifetime, secret }: SecretOffer,
): string => {
  const key = keys[0] ?? ""
  const known = db.get(key)
  if (known !== undefined) return known
  db.set(key, secret, lifetime)
  return secret
}
