/**
 * Proves that somebody knows the password of an account. Checks are paced (`Pace.ts`): wrong ones are slowed by address, and the
 * right one works from every address, after the stated wait from one that guessed.
 */
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { boundedCache } from "../bounded-cache.ts"
import { limitKey, networkKey } from "../ip-intel/address.ts"
import type { DatabaseUnavailable } from "./data/Database.ts"
import { isMarkOf } from "./KnownBrowser.ts"
import { type Refused, refuse } from "./model.ts"
import { type Busy, type Guest, makePace } from "./Pace.ts"
import { verifyPassword } from "./Passwords.ts"
import { type Account, Users } from "./Users.ts"

/** Log lines about wrong passwords of one address in a minute. */
const LINES_PER_MINUTE = 10

/** Where a password comes from. */
export interface Origin {
  /** empty when not known */
  readonly address: string
  /** the mark of the browser (`KnownBrowser`), if it has one */
  readonly mark?: string | undefined
}

/** An account whose password was proved. */
export interface Proved extends Account {
  readonly passwordHash: Redacted.Redacted<string>
}

export class PasswordProof extends Context.Service<
  PasswordProof,
  {
    /** Who signs in; one answer, and one duration of the check, for every wrong pair. */
    readonly signIn: (
      email: string,
      password: Redacted.Redacted<string>,
      from: Origin,
    ) => Effect.Effect<Proved, Refused | Busy | DatabaseUnavailable>
    /** Whether somebody who is signed in knows the password. */
    readonly confirm: (
      email: string,
      password: Redacted.Redacted<string>,
    ) => Effect.Effect<Proved, Refused | Busy | DatabaseUnavailable>
  }
>()("voicegate/platform/PasswordProof") {}

const guestOf = (account: Account | undefined, { address, mark }: Origin): Guest => {
  if (account !== undefined && account.passwordHash !== null) {
    const { passwordHash, user } = account
    if (isMarkOf({ userId: user.id, passwordHash }, mark)) {
      return { lane: `browser of ${user.id}`, network: `browser of ${user.id}`, known: true }
    }
  }
  const lane = limitKey(address)
  return { lane, network: networkKey(address) || lane, known: false }
}

export const layer: Layer.Layer<PasswordProof, never, Users> = Layer.effect(
  PasswordProof,
  Effect.gen(function* () {
    const users = yield* Users
    const pace = makePace()
    const logged = boundedCache<{ readonly endsAt: number; lines: number }>(10_000)

    const logWrong = Effect.fnUntraced(function* (address: string) {
      const now = yield* Clock.currentTimeMillis
      const known = logged.get(address)
      const window = known !== undefined && known.endsAt > now ? known : { endsAt: now + 60_000, lines: 0 }
      logged.set(address, window)
      if (window.lines++ < LINES_PER_MINUTE) yield* Effect.logWarning(`a wrong password came from ${address}`)
    })

    const matches = Effect.fnUntraced(function* (
      account: Account | undefined,
      password: Redacted.Redacted<string>,
      guest: Guest,
    ) {
      const hash = account?.passwordHash ?? undefined
      const right = yield* pace.check(
        guest,
        Effect.map(verifyPassword(password, hash && Redacted.value(hash)), (same) => same && hash !== undefined),
      )
      return right && account !== undefined && hash !== undefined ? { ...account, passwordHash: hash } : undefined
    })

    return PasswordProof.of({
      signIn: Effect.fnUntraced(function* (email, password, from) {
        const account = yield* users.account(email)
        const proved = yield* matches(account, password, guestOf(account, from))
        if (proved === undefined) {
          yield* logWrong(from.address)
          return yield* refuse("unauthenticated", "SIGN_IN_FAILED", "the e-mail address or the password is wrong")
        }
        if (proved.user.disabled) return yield* refuse("forbidden", "USER_DISABLED", "this user is disabled")
        return proved
      }),
      confirm: Effect.fnUntraced(function* (email, password) {
        const account = yield* users.account(email)
        const name = `confirming ${account?.user.id ?? ""}`
        const proved = yield* matches(account, password, { lane: name, network: name, known: true })
        return proved ?? (yield* refuse("invalid", "PASSWORD_WRONG", "the current password is not right"))
      }),
    })
  }),
)
