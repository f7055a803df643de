/**
 * Passwords as scrypt digests. The cost is that of the OWASP cheat sheet on password storage for 32 MiB (N 2^15, r 8, p 3). It is
 * stored with each digest, so it can be raised later. A check takes equally long for a user who does not exist.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto"
import { Context, Effect, Redacted } from "effect"

interface Cost {
  readonly N: number
  readonly r: number
  readonly p: number
}
/** The cost of new digests. Only tests have another one. */
export const PasswordCost = Context.Reference<Cost>("voicegate/platform/PasswordCost", {
  defaultValue: () => ({ N: 2 ** 15, r: 8, p: 3 }),
})
const SALT_BYTES = 16
const DIGEST_BYTES = 32
/** The minimum length of a password, in characters (NIST SP 800-63B-4: 15 for a sole factor; 12 suffices with throttled guesses). */
export const MIN_PASSWORD_LENGTH = 12
export const MAX_PASSWORD_LENGTH = 256

/** Not interruptible: a started derivation uses its core to the end, so limits must count it until then. */
const derive = (password: Redacted.Redacted<string>, salt: Buffer, { N, r, p }: Cost): Effect.Effect<Buffer> =>
  Effect.callback<Buffer>((resume) => {
    const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r }
    // Different systems may encode the same characters differently.
    scrypt(Redacted.value(password).normalize("NFKC"), salt, DIGEST_BYTES, options, (error, digest) => {
      resume(error === null ? Effect.succeed(digest) : Effect.die(error))
    })
  }).pipe(Effect.uninterruptible)

/** `scrypt$N$r$p$salt$digest`. */
export const hashPassword = (password: Redacted.Redacted<string>, cost: Cost): Effect.Effect<string> =>
  Effect.suspend(() => {
    const salt = randomBytes(SALT_BYTES)
    return Effect.map(derive(password, salt, cost), (digest) =>
      ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64"), digest.toString("base64")].join("$"),
    )
  })

const FORM = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/

/** Without a hash it is false after the time that a new one takes. */
export const verifyPassword = Effect.fnUntraced(function* (
  password: Redacted.Redacted<string>,
  hash: string | null | undefined,
  cost: Cost,
) {
  const [, N, r, p, salt = "", digest = ""] = FORM.exec(hash ?? "") ?? []
  if (N === undefined || r === undefined || p === undefined) {
    yield* derive(password, Buffer.alloc(SALT_BYTES), cost)
    return false
  }
  const expected = Buffer.from(digest, "base64")
  const actual = yield* derive(password, Buffer.from(salt, "base64"), { N: Number(N), r: Number(r), p: Number(p) })
  return expected.length === actual.length && timingSafeEqual(expected, actual)
})
