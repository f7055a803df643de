/**
 * What this gate knows of the times in which it could not reach the store, campaign by campaign, and that the store is told of each
 * before the next step is taken (`back` in `gates.ts`): whatever that step is, it must not find the store's mind made up about
 * callers whom the outage hindered.
 */
import { Clock, Deferred, Effect } from "effect"
import { LATE_MILLIS } from "../rules/outage.ts"
import type { StoreUnavailable } from "../Session.ts"

/**
 * A gate sweeps every second. One whose last sweep is longer ago (ms) could not: its process or its machine stood still, or its
 * clock did.
 */
export const STOOD_STILL_MILLIS = LATE_MILLIS

interface Reach {
  /** when the step failed that failed first since the store was told, by this process's steady clock */
  failedAt: number | undefined
  /** when the last sweep that succeeded was sent, by the store's clock */
  sweptAt: number | undefined
  /** the telling that is under way */
  telling: Deferred.Deferred<void, StoreUnavailable> | undefined
}

/** Tells the store that this gate could not reach it since then. */
export type Tell = (since: number) => Effect.Effect<unknown, StoreUnavailable>

export interface Reaching {
  /** Takes a step of a campaign. It is given the store's time, when the store has been told what is to be told. */
  readonly reached: <A, E extends { readonly _tag: string }>(
    campaign: string,
    tell: Tell,
    step: (now: number) => Effect.Effect<A, E>,
  ) => Effect.Effect<A, E | StoreUnavailable>
  /** A sweep has succeeded that was sent then. */
  readonly swept: (campaign: string, now: number) => void
}

/** @param storeNow the store's time */
export const makeReaching = (storeNow: Effect.Effect<number>): Effect.Effect<Reaching> =>
  Effect.map(Clock.Clock, (clock) => {
    const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const reaches = new Map<string, Reach>()
    const reachOf = (campaign: string): Reach => {
      const known = reaches.get(campaign) ?? { failedAt: undefined, sweptAt: undefined, telling: undefined }
      reaches.set(campaign, known)
      return known
    }

    /** Since when the store could not be reached, by its own clock; undefined when it can. */
    const outageOf = ({ failedAt, sweptAt }: Reach, now: number): number | undefined => {
      const stood = sweptAt !== undefined && now - sweptAt > STOOD_STILL_MILLIS ? sweptAt : undefined
      if (failedAt === undefined) return stood
      return Math.min(now - (steady() - failedAt), stood ?? now)
    }

    const attempt = <A, E extends { readonly _tag: string }>(
      reach: Reach,
      step: Effect.Effect<A, E>,
    ): Effect.Effect<A, E> => {
      const began = steady()
      return Effect.tapError(step, (error) =>
        Effect.sync(() => {
          if (error._tag === "StoreUnavailable") reach.failedAt = Math.min(reach.failedAt ?? began, began)
        }),
      )
    }

    /** One tells, and whoever comes meanwhile waits for that. */
    const told = (reach: Reach, tell: Tell, since: number): Effect.Effect<void, StoreUnavailable> =>
      Effect.suspend(() => {
        if (reach.telling !== undefined) return Deferred.await(reach.telling)
        const telling = Deferred.makeUnsafe<void, StoreUnavailable>()
        reach.telling = telling
        return Effect.asVoid(tell(since)).pipe(
          Effect.tap(() =>
            Effect.map(storeNow, (now) => {
              reach.failedAt = undefined
              if (reach.sweptAt !== undefined) reach.sweptAt = Math.max(reach.sweptAt, now)
            }),
          ),
          Effect.onExit((exit) =>
            Effect.sync(() => {
              reach.telling = undefined
              Deferred.doneUnsafe(telling, exit)
            }),
          ),
          Effect.uninterruptible,
        )
      })

    return {
      reached: (campaign, tell, step) => {
        const reach = reachOf(campaign)
        return Effect.flatMap(storeNow, (now) => {
          const since = outageOf(reach, now)
          if (since === undefined) return attempt(reach, step(now))
          return Effect.flatMap(attempt(reach, told(reach, tell, since)), () =>
            Effect.flatMap(storeNow, (later) => attempt(reach, step(later))),
          )
        })
      },
      swept: (campaign, now) => {
        reachOf(campaign).sweptAt = now
      },
    }
  })
