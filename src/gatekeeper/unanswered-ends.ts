/**
 * Ends of sessions whose webhook was answered 503 although the store may have carried them out. The platform sends such a webhook again, to
 * any instance, and is told then that the slot was freed. So the session's id is kept in the store as soon as that can be reached. Until
 * then only this instance knows it.
 */
import { Effect, Schedule, type Scope } from "effect"
import { boundedCache } from "../bounded-cache.ts"
import type { StoreUnavailable } from "../Session.ts"
import { Store } from "../Store.ts"

/** For how long a repeated webhook is told so (ms). */
const KEPT_MILLIS = 24 * 3_600_000
/** How many sessions this instance remembers; beyond it the oldest are forgotten. */
const MAX_REMEMBERED = 10_000
const WRITE_TRIES = 60

const keyOf = (session: string): string => `vg:unanswered:${session}`

export interface UnansweredEnds {
  /** Remembers the sessions of an end that has failed, if the store may have carried it out. */
  readonly note: (sessionIds: ReadonlyArray<string>, error: StoreUnavailable) => Effect.Effect<void>
  /** Whether one of these sessions was remembered. It is forgotten then. */
  readonly take: (sessionIds: ReadonlyArray<string>) => Effect.Effect<boolean, StoreUnavailable>
}

export const makeUnansweredEnds: Effect.Effect<UnansweredEnds, never, Scope.Scope | Store> = Effect.gen(function* () {
  const store = yield* Store
  const scope = yield* Effect.scope
  const here = boundedCache<true>(MAX_REMEMBERED)
  const write = (session: string): Effect.Effect<void> =>
    // not if the repeat came here meanwhile
    Effect.suspend(() => (here.has(session) ? store.set(keyOf(session), "1", KEPT_MILLIS) : Effect.void)).pipe(
      Effect.retry({ schedule: Schedule.spaced("1 second"), times: WRITE_TRIES }),
      Effect.ignore,
    )
  return {
    note: (sessionIds, { unasked }) =>
      Effect.suspend(() => {
        if (unasked === true) return Effect.void
        for (const session of sessionIds) here.set(session, true)
        return Effect.forkIn(Effect.forEach(sessionIds, write, { discard: true }), scope)
      }),
    take: (sessionIds) =>
      Effect.gen(function* () {
        let found = false
        for (const session of sessionIds) {
          const known = here.delete(session)
          const stored = (yield* store.get(keyOf(session))) === "1"
          if (stored) yield* store.set(keyOf(session), "0", 1)
          found ||= known || stored
        }
        return found
      }),
  }
})
