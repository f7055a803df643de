/**
 * Closes a campaign whose rules fail half-way. Redis does not undo what a rule has written before one of its commands failed, so every
 * further try could cost another caller his place. From the first such failure on, this gate runs no rule of the campaign, except a sweep,
 * once a second: that tries what the rules need, puts back what they have left half-done, and opens the campaign when it succeeds.
 */
import { Effect } from "effect"
import { StoreUnavailable, stackless } from "../protocol/refusals.ts"

/**
 * The refusals that a rule can meet in its middle. Redis gives the others, such as `OOM`, only for the first command that writes: nothing of
 * the rule was carried out then.
 */
const HALF_WAY: ReadonlySet<string> = new Set(["NOPERM", "UNKNOWN", "WRONGTYPE", "OTHER"])

/** Whether a rule with this failure may have been carried out in part. */
const isHalfWay = ({ refusal }: StoreUnavailable): boolean => refusal !== undefined && HALF_WAY.has(refusal)

export interface ClosedCampaigns {
  /**
   * Runs a step, or fails at once while the campaign is closed. A failure half-way closes it.
   *
   * @param shared the step also uses keys of one caller: a failure that may be theirs closes nothing
   */
  readonly unlessClosed: <A, E extends { readonly _tag: string }>(
    campaign: string,
    step: Effect.Effect<A, E>,
    shared?: boolean,
  ) => Effect.Effect<A, E | StoreUnavailable>
  /**
   * Runs a sweep, also while the campaign is closed: after `reopen`, and its success opens the campaign.
   *
   * @param reopen tries what rules need and repairs the campaign
   */
  readonly sweeping: <A, E extends { readonly _tag: string }>(
    campaign: string,
    sweep: Effect.Effect<A, E>,
    reopen: Effect.Effect<void, StoreUnavailable>,
  ) => Effect.Effect<A, E | StoreUnavailable>
}

/** Makes the state of one gate: which campaigns are closed, and why. */
export const makeClosedCampaigns = (): ClosedCampaigns => {
  const closed = new Map<string, StoreUnavailable>()
  /** Closes the campaign for as long as this failure is the last one of a sweep. */
  const note = (campaign: string, shared: boolean, error: { readonly _tag: string }): Effect.Effect<void> =>
    Effect.sync(() => {
      if (!(error instanceof StoreUnavailable) || !isHalfWay(error)) return
      // the campaign's own permissions and commands are the same for everybody
      if (shared && (error.refusal === "WRONGTYPE" || error.refusal === "OTHER")) return
      closed.set(campaign, error)
    })
  const refusal = ({ cause, refusal: kind }: StoreUnavailable): StoreUnavailable =>
    stackless(
      () =>
        new StoreUnavailable({
          message: "The campaign is closed because a rule of the store has failed.",
          ...(cause === undefined ? {} : { cause }),
          ...(kind === undefined ? {} : { refusal: kind }),
          unasked: true,
        }),
    )
  return {
    unlessClosed: (campaign, step, shared = false) =>
      Effect.suspend((): Effect.Effect<Effect.Success<typeof step>, Effect.Error<typeof step> | StoreUnavailable> => {
        const why = closed.get(campaign)
        if (why !== undefined) return Effect.fail(refusal(why))
        return Effect.tapError(step, (error) => note(campaign, shared, error))
      }),
    sweeping: (campaign, sweep, reopen) =>
      Effect.suspend(() => {
        const tried = closed.has(campaign) ? Effect.andThen(reopen, sweep) : sweep
        return tried.pipe(
          Effect.tap(() => Effect.sync(() => void closed.delete(campaign))),
          Effect.tapError((error) => note(campaign, false, error)),
        )
      }),
  }
}
