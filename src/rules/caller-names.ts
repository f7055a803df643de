/** The secret with which instances make names of callers' addresses. Keys: a week's secret (text, kept as long as its first offer says) */
import type { Db } from "./db.ts"

export interface SecretOffer {
  /** a new secret, should there be none */
  readonly secret: string
  /** for how long it is then kept (ms) */
  readonly lifetime: number
}

/** Answers the secret that there is, or keeps the one that is offered. */
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
