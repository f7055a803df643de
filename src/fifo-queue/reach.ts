/**
 * Detects when this gate could not reach the store, per campaign, and reports it before the next step (`reportOutage`
 * in `./rules/gate-reports.ts`): no step may judge callers whom an outage prevented from acting before the store knows
 * of the outage.
 */
import { Clock, Deferred, Effect } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { SILENT_AFTER_MILLIS } from "./rules/shared/outage.ts"
import type { StepResult } from "./step.ts"

/**
 * A gate sweeps every second. If the last sweep is longer ago than this (ms), the gate was stalled: its process or its
 * machine stood still, or its clock did.
 */
export const STALLED_AFTER_MILLIS = SILENT_AFTER_MILLIS

interface OutageState {
  /** when the first failed step since the last report was sent, by this process's monotonic clock */
  failedAt: number | undefined
  /** when the last successful sweep was sent, by the store's clock */
  sweptAt: number | undefined
  /** the report in flight */
  reporting: Deferred.Deferred<SideEffects, StoreUnavailable> | undefined
}

/** What a report leaves for this process to carry out. */
type SideEffects = Pick<StepResult<unknown>, "signals" | "elsewhere" | "settlements" | "charges">
/** Reports to the store that this gate could not reach it since `since` (ms since 1970). */
export type ReportOutage = (since: number) => Effect.Effect<SideEffects, StoreUnavailable>

export interface OutageReporting {
  /**
   * Runs a step of a campaign, after reporting an outage if there was one. The step gets the store's time. Its answer
   * includes the signals and settlements of the report.
   */
  readonly reportFirst: <A, E extends { readonly _tag: string }>(
    campaign: string,
    report: ReportOutage,
    step: (now: number) => Effect.Effect<StepResult<A>, E>,
  ) => Effect.Effect<StepResult<A>, E | StoreUnavailable>
  /** Records that a sweep sent at `now` has succeeded. */
  readonly swept: (campaign: string, now: number) => void
}

const NO_SIDE_EFFECTS: SideEffects = { signals: [], settlements: [] }

const withSideEffects = <A>(
  sideEffects: SideEffects,
  { charges = [], elsewhere = [], settlements, signals, ...step }: StepResult<A>,
): StepResult<A> => ({
  ...step,
  charges: [...(sideEffects.charges ?? []), ...charges],
  signals: [...sideEffects.signals, ...signals],
  elsewhere: [...(sideEffects.elsewhere ?? []), ...elsewhere],
  settlements: [...sideEffects.settlements, ...settlements],
})

export const makeOutageReporting = (storeNow: Effect.Effect<number>): Effect.Effect<OutageReporting> =>
  Effect.map(Clock.Clock, (clock) => {
    const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const states = new Map<string, OutageState>()
    const stateOf = (campaign: string): OutageState => {
      const known = states.get(campaign) ?? { failedAt: undefined, sweptAt: undefined, reporting: undefined }
      states.set(campaign, known)
      return known
    }

    /** Since when the store could not be reached, by the store's clock; undefined when it can be reached. */
    const outageOf = ({ failedAt, sweptAt }: OutageState, now: number): number | undefined => {
      const stalledSince = sweptAt !== undefined && now - sweptAt > STALLED_AFTER_MILLIS ? sweptAt : undefined
      if (failedAt === undefined) return stalledSince
      return Math.min(now - (steady() - failedAt), stalledSince ?? now)
    }

    /** @param again runs instead of a step that arrived after its deadline, and so did nothing */
    const attempt = <A, E extends { readonly _tag: string }>(
      state: OutageState,
      step: Effect.Effect<A, E>,
      again?: Effect.Effect<A, E>,
    ): Effect.Effect<A, E> => {
      const startedAt = steady()
      return Effect.catch(step, (error) => {
        if (error._tag === "StoreUnavailable") state.failedAt = Math.min(state.failedAt ?? startedAt, startedAt)
        return again !== undefined && "expired" in error && error.expired === true ? again : Effect.fail(error)
      })
    }

    /**
     * One report at a time; steps that arrive meanwhile wait for it. Only the step that reported carries out its
     * signals and settlements.
     */
    const reportOnce = (
      state: OutageState,
      report: ReportOutage,
      since: number,
    ): Effect.Effect<SideEffects, StoreUnavailable> =>
      Effect.suspend(() => {
        if (state.reporting !== undefined) return Effect.as(Deferred.await(state.reporting), NO_SIDE_EFFECTS)
        const reporting = Deferred.makeUnsafe<SideEffects, StoreUnavailable>()
        state.reporting = reporting
        return report(since).pipe(
          Effect.tap(() =>
            Effect.map(storeNow, (now) => {
              state.failedAt = undefined
              if (state.sweptAt !== undefined) state.sweptAt = Math.max(state.sweptAt, now)
            }),
          ),
          Effect.onExit((exit) =>
            Effect.sync(() => {
              state.reporting = undefined
              Deferred.doneUnsafe(reporting, exit)
            }),
          ),
          Effect.uninterruptible,
        )
      })

    const run = <A, E extends { readonly _tag: string }>(
      state: OutageState,
      report: ReportOutage,
      step: (now: number) => Effect.Effect<StepResult<A>, E>,
      again?: Effect.Effect<StepResult<A>, E | StoreUnavailable>,
    ): Effect.Effect<StepResult<A>, E | StoreUnavailable> =>
      Effect.flatMap(storeNow, (now) => {
        const since = outageOf(state, now)
        if (since === undefined) return attempt<StepResult<A>, E | StoreUnavailable>(state, step(now), again)
        return Effect.flatMap(attempt(state, reportOnce(state, report, since)), (sideEffects) =>
          Effect.map(
            Effect.flatMap(storeNow, (later) => attempt(state, step(later))),
            (stepped) => withSideEffects(sideEffects, stepped),
          ),
        )
      })

    return {
      reportFirst: (campaign, report, step) => {
        const state = stateOf(campaign)
        // repeated once, after a report and with the time that the store has measured again
        const again = Effect.suspend(() => run(state, report, step))
        return run(state, report, step, again)
      },
      swept: (campaign, now) => {
        stateOf(campaign).sweptAt = now
      },
    }
  })
