/**
 * Checks passwords of accounts. Checks are throttled (`PasswordThrottle.ts`): wrong passwords delay further checks from the same
 * address. The right password works from every address, after that delay.
 */

import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { limitKey, networkKey } from "../../lib/ip/address.ts"
import { makeWindows } from "../../lib/windows.ts"
import type { DatabaseUnavailable } from "../data/Database.ts"
import { type Refused, refuse } from "../model.ts"
import { isMarkOf } from "./KnownBrowser.ts"
import { PasswordCost, verifyPassword } from "./Passwords.ts"
import * as Throttle from "./PasswordThrottle.ts"
import { type Account, Users } from "./Users.ts"

/** Limit of log lines about wrong passwords per address and minute. */
const LINES_PER_MINUTE = 10
/** the length of that minute, in milliseconds */
const LOG_WINDOW_MILLIS = 60_000
/** Maximum addresses whose lines are counted; the least recent ones are forgotten. */
const MAX_LOGGED = 10_000

/** The client that sends a password. */
export interface Origin {
  /** empty when unknown */
  readonly address: string
  /** the browser's mark (`KnownBrowser`), if any */
  readonly mark?: string | undefined
}

export interface ProvedAccount extends Account {
  readonly passwordHash: Redacted.Redacted<string>
}

export class PasswordProof extends Context.Service<
  PasswordProof,
  {
    /** Verifies e-mail address and password; every wrong pair gets the same failure after the same time. */
    readonly signIn: (
      email: string,
      password: Redacted.Redacted<string>,
      from: Origin,
    ) => Effect.Effect<ProvedAccount, Refused | Throttle.Busy | DatabaseUnavailable>
    /** Verifies the password of a user who is already signed in. */
    readonly confirm: (
      email: string,
      password: Redacted.Redacted<string>,
    ) => Effect.Effect<ProvedAccount, Refused | Throttle.Busy | DatabaseUnavailable>
  }
>()("voicegate/platform/PasswordProof") {}

const sourceOf = (account: Account | undefined, { address, mark }: Origin): Throttle.CheckSource => {
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
    const cost = yield* PasswordCost
    const throttle = yield* Throttle.PasswordThrottle
    const logged = makeWindows(LOG_WINDOW_MILLIS, MAX_LOGGED)

    const logWrong = Effect.fnUntraced(function* (address: string) {
      const lines = logged.add(address, yield* Clock.currentTimeMillis)
      if (lines <= LINES_PER_MINUTE) yield* Effect.logWarning(`a wrong password came from ${address}`)
    })

    const matches = Effect.fnUntraced(function* (
      account: Account | undefined,
      password: Redacted.Redacted<string>,
      source: Throttle.CheckSource,
    ) {
      const hash = account?.passwordHash ?? undefined
      const right = yield* throttle.check(
        source,
        Effect.map(verifyPassword(password, hash && Redacted.value(hash), cost), (same) => same && hash !== undefined),
      )
      return right && account !== undefined && hash !== undefined ? { ...account, passwordHash: hash } : undefined
    })

    return PasswordProof.of({
      signIn: Effect.fnUntraced(function* (email, password, from) {
        const account = yield* users.account(email)
        const proved = yield* matches(account, password, sourceOf(account, from))
        if (proved === undefined) {
          yield* logWrong(from.address)
          return yield* refuse("unauthenticated", "SIGN_IN_FAILED", "incorrect email or password")
        }
        if (proved.user.disabled) return yield* refuse("forbidden", "USER_DISABLED", "this user is disabled")
        return proved
      }),
      confirm: Effect.fnUntraced(function* (email, password) {
        const account = yield* users.account(email)
        const name = `confirming ${account?.user.id ?? ""}`
        const proved = yield* matches(account, password, { lane: name, network: name, known: true })
        return proved ?? (yield* refuse("invalid", "PASSWORD_WRONG", "the current password is incorrect"))
      }),
    })
  }),
).pipe(Layer.provide(Throttle.layer))
