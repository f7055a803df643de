/**
 * A device cookie, set when a user signs in: it proves that this browser knew the account's password once. It grants no access,
 * but a browser with it is not slowed by other clients' guesses from the same address (OWASP, Slow Down Online Guessing Attacks
 * with Device Cookies). It is a MAC keyed with the password's digest, so it becomes invalid when the password changes.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Redacted } from "effect"
import { sameDigest } from "../keys/KeySecret.ts"

/** The cookie's lifetime, in milliseconds: half a year. */
export const KNOWN_MILLIS = 183 * 24 * 60 * 60_000
const NONCE_BYTES = 12

/** The account that a mark belongs to. */
export interface Known {
  readonly userId: string
  readonly passwordHash: Redacted.Redacted<string>
}

const macOf = ({ passwordHash, userId }: Known, nonce: string): string =>
  createHmac("sha256", Redacted.value(passwordHash)).update(`known browser\n${userId}\n${nonce}`).digest("base64url")

export const makeMark = (known: Known): string => {
  const nonce = randomBytes(NONCE_BYTES).toString("base64url")
  return `${nonce}.${macOf(known, nonce)}`
}

export const isMarkOf = (known: Known, mark: string | undefined): boolean => {
  const [nonce = "", digest = "", ...more] = mark?.split(".") ?? []
  return nonce !== "" && more.length === 0 && sameDigest(digest, macOf(known, nonce))
}
