/**
 * Campaigns whose rules Redis refuses: nobody is admitted and nobody is called, because a rule that fails half-way could cost a caller his
 * place (`fifo-queue/closed.ts`). Told in the log when it begins, when its reason changes and when it is over, in a metric and to the console.
 */
import { Context, Effect, type Exit, Layer } from "effect"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import * as metrics from "../metrics.ts"

export class ClosedQueues extends Context.Service<
  ClosedQueues,
  {
    readonly swept: (campaign: string, exit: Exit.Exit<void, StoreUnavailable>) => Effect.Effect<void>
    /** Why each of these campaigns is closed, as a sentence without its full stop. */
    readonly reasons: () => ReadonlyMap<string, string>
  }
>()("voicegate/gatekeeper/ClosedQueues") {}

/** Undefined for a failure that is not the store's refusal. */
const refusalOf = ({ cause }: Exit.Failure<void, StoreUnavailable>): string | undefined =>
  cause.reasons.flatMap((reason) =>
    reason._tag === "Fail" && reason.error.refusal !== undefined
      ? [typeof reason.error.cause === "string" ? reason.error.cause : reason.error.refusal]
      : [],
  )[0]

export const layer: Layer.Layer<ClosedQueues> = Layer.sync(ClosedQueues, () => {
  const closed = new Map<string, string>()
  return {
    swept: (campaign, exit) =>
      Effect.suspend(() => {
        const before = closed.get(campaign)
        if (exit._tag === "Success") {
          if (before === undefined) return metrics.setGauges(campaign, { closed: 0 })
          closed.delete(campaign)
          return Effect.andThen(
            metrics.setGauges(campaign, { closed: 0 }),
            Effect.logInfo(`Campaign ${campaign} is open again: Redis carries out its rules.`),
          )
        }
        const reason = refusalOf(exit)
        // while the store cannot be reached, nothing new is known
        if (reason === undefined || reason === before) return Effect.void
        closed.set(campaign, reason)
        return Effect.andThen(
          metrics.setGauges(campaign, { closed: 1 }),
          Effect.logError(
            `Campaign ${campaign} is closed: nobody is admitted and nobody is called, because Redis refuses what its rules need (${reason}). ` +
              "Callers keep their places. It is tried every second.",
          ),
        )
      }),
    reasons: () => closed,
  }
})
