/**
 * Notes when this gate could not reach the store, campaign by campaign, and reports it before the next step (`reportOutage` in
 * `../rules/queue/gates.ts`): no step may judge callers whom the outage hindered before the store knows of the outage.
 */
import { Clock, Deferred, Effect } from "effect"
import { LATE_MILLIS } from "../rules/outage.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Stepped } from "./step.ts"

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
  /** the report that is under way */
  reporting: Deferred.Deferred<Left, StoreUnavailable> | undefined
}

/** What a report leaves to this process. */
type Left = Pick<Stepped<unknown>, "signals" | "settlements">
/** Reports to the store that this gate could not reach it since then. */
export type Report = (since: number) => Effect.Effect<Left, StoreUnavailable>

export interface Reaching {
  /**
   * Takes a step of a campaign, after an outage was reported if there was one. The step is given the store's time; its answer includes what the
   * report left.
   */
  readonly reached: <A, E extends { readonly _tag: string }>(
    campaign: string,
    report: Report,
    step: (now: number) => Effect.Effect<Stepped<A>, E>,
  ) => Effect.Effect<Stepped<A>, E | StoreUnavailable>
  /** A sweep has succeeded that was sent then. */
  readonly swept: (campaign: string, now: number) => void
}

const NOTHING_LEFT: Left = { signals: [], settlements: [] }

const withLeft = <A>(left: Left, { result, settlements, signals }: Stepped<A>): Stepped<A> => ({
  result,
  signals: [...left.signals, ...signals],
  settlements: [...left.settlements, ...settlements],
})

/** @param storeNow the store's time */
export const makeReaching = (storeNow: Effect.Effect<number>): Effect.Effect<Reaching> =>
  Effect.map(Clock.Clock, (clock) => {
    const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const reaches = new Map<string, Reach>()
    const reachOf = (campaign: string): Reach => {
      const known = reaches.get(campaign) ?? { failedAt: undefined, sweptAt: undefined, reporting: undefined }
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

    /** Only one reports at a time, and steps that come meanwhile wait for it. What it leaves is carried out by the one. */
    const reported = (reach: Reach, report: Report, since: number): Effect.Effect<Left, StoreUnavailable> =>
      Effect.suspend(() => {
        if (reach.reporting !== undefined) return Effect.as(Deferred.await(reach.reporting), NOTHING_LEFT)
        const reporting = Deferred.makeUnsafe<Left, StoreUnavailable>()
        reach.reporting = reporting
        return report(since).pipe(
          Effect.tap(() =>
            Effect.map(storeNow, (now) => {
              reach.failedAt = undefined
              if (reach.sweptAt !== undefined) reach.sweptAt = Math.max(reach.sweptAt, now)
            }),
          ),
          Effect.onExit((exit) =>
            Effect.sync(() => {
              reach.reporting = undefined
              Deferred.doneUnsafe(reporting, exit)
            }),
          ),
          Effect.uninterruptible,
        )
      })

    return {
      reached: (campaign, report, step) => {
        const reach = reachOf(campaign)
        return Effect.flatMap(storeNow, (now) => {
          const since = outageOf(reach, now)
          if (since === undefined) return attempt(reach, step(now))
          return Effect.flatMap(attempt(reach, reported(reach, report, since)), (left) =>
            Effect.map(
              Effect.flatMap(storeNow, (later) => attempt(reach, step(later))),
              (stepped) => withLeft(left, stepped),
            ),
          )
        })
      },
      swept: (campaign, now) => {
        reachOf(campaign).sweptAt = now
      },
    }
  })
