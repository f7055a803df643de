/**
 * A mark that a browser keeps when somebody has signed in with it: it proves that this browser knew the password of this account
 * once. It opens nothing. A browser with it is not slowed by what others guess behind the same address (OWASP, Slow Down Online
 * Guessing Attacks with Device Cookies). It is a MAC under the digest of the password, so it ends when the password is changed.
 */
import { createHmac, randomBytes } from "node:crypto"
import { Redacted } from "effect"
import { sameDigest } from "./KeySecret.ts"

/** How long a browser keeps it, in milliseconds: half a year. */
export const KNOWN_MILLIS = 183 * 24 * 60 * 60_000
const NONCE_BYTES = 12

/** Of whom it is a mark. */
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
