/**
 * The secret of an API key: `vgp_`, 256 random bits in base62, and a CRC32 of both, so that a typo is refused before any lookup
 * and secret scanners can match it. Only its SHA-256 digest and a display form are stored.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { crc32 } from "node:zlib"
import { Redacted } from "effect"

const PREFIX = "vgp_"
const RANDOM_BYTES = 32
/** digits of 256 bits, and of 32 bits, in base62 */
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const base62 = (value: bigint, length: number): string => {
  let digits = ""
  for (let rest = value; rest > 0n; rest /= 62n) digits = DIGITS.charAt(Number(rest % 62n)) + digits
  return digits.padStart(length, "0")
}

const checksum = (body: string): string => base62(BigInt(crc32(body)), CHECKSUM_LENGTH)

/** Creates a secret, to be shown exactly once. */
export const mintSecret = (): Redacted.Redacted<string> => {
  const random = BigInt(`0x${randomBytes(RANDOM_BYTES).toString("hex")}`)
  const body = PREFIX + base62(random, RANDOM_LENGTH)
  return Redacted.make(body + checksum(body))
}

/** The checksum is checked too. */
export const hasSecretForm = (text: string): boolean =>
  FORM.test(text) && text.slice(-CHECKSUM_LENGTH) === checksum(text.slice(0, -CHECKSUM_LENGTH))

/** In hexadecimal. A slow hash is needed only for secrets that can be guessed. */
export const digestSecret = (secret: string): string => createHash("sha256").update(secret).digest("hex")

/** Compares two digests in constant time. */
export const sameDigest = (left: string, right: string): boolean => {
  const a = Buffer.from(left)
  const b = Buffer.from(right)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** What may be shown of a key after its creation: the prefix and the last four characters. */
export const displaySecret = (secret: string): string => `${PREFIX}…${secret.slice(-4)}`
