/**
 * The state of a session at a vendor that lists its sessions and does not know the gate's ids: a session of ours that runs has begun while
 * its credential was valid. If none of those that began in that time still runs, ours is over. If one does, it may be another's, so
 * nothing is concluded too early.
 */
import { Clock, Effect } from "effect"
import { MAX_LIFETIME_SECONDS } from "../adapter.ts"
import type { PlatformError } from "../errors.ts"
import type { SessionState } from "../model.ts"
import { expiryOf } from "./own-session.ts"
import { CLOCK_DIFFERENCE_MILLIS, type RecentCalls } from "./recent-calls.ts"
import { cannotList, stateOf, unknownState } from "./vendor.ts"

export interface Listed {
  /** when it began (ms since 1970); undefined if the list does not tell */
  readonly startedAt: number | undefined
  readonly isOver: boolean
}

/** @param read reads a listed session */
export const makeStatusByTime =
  <Call>(recent: RecentCalls<Call>, read: (call: Call) => Listed) =>
  (id: string): Effect.Effect<SessionState, PlatformError> =>
    Effect.gen(function* () {
      const expiry = expiryOf(id)
      const now = yield* Clock.currentTimeMillis
      // until then the credential may open a session
      if (expiry === undefined || now < expiry + CLOCK_DIFFERENCE_MILLIS) return unknownState
      const from = expiry - MAX_LIFETIME_SECONDS * 1000 - CLOCK_DIFFERENCE_MILLIS
      const until = expiry + CLOCK_DIFFERENCE_MILLIS
      const calls = yield* Effect.catchIf(recent("", from), cannotList, () => Effect.undefined)
      if (calls === undefined) return unknownState
      const mayBeOurs = calls.map(read).filter(({ isOver }) => !isOver)
      const runs = mayBeOurs.some(
        ({ startedAt }) => startedAt === undefined || (startedAt >= from && startedAt <= until),
      )
      // one of those that have ended may be ours, or none
      return runs ? stateOf(id, false) : stateOf(id, true, false)
    })
