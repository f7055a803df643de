/**
 * Warns about refused webhooks: the slots of ended calls then stay held, and the usual cause is a missing header at the platform.
 * Anyone can send such a request, so there is at most one warning a minute.
 */
import { Clock, Effect, Metric } from "effect"
import { webhooks } from "../../gatekeeper/metrics.ts"
import { ageOf } from "../../lib/age.ts"
import type { Refusal } from "./verify.ts"

export const WARNING_INTERVAL_MILLIS = 60_000

/** Counts a refusal, and logs it unless one of this process was logged within the last minute. */
export const makeRefusedWebhooks = (): ((refusal: Refusal) => Effect.Effect<void>) => {
  let warnedAt = Number.NEGATIVE_INFINITY
  let omitted = 0
  return (refusal) =>
    Effect.flatMap(Effect.andThen(Metric.update(webhooks("unauthorized"), 1), Clock.currentTimeMillis), (now) => {
      if (ageOf(warnedAt, now) < WARNING_INTERVAL_MILLIS) {
        omitted++
        return Effect.void
      }
      const more = omitted === 0 ? "" : ` ${omitted} more were refused since the last warning.`
      warnedAt = now
      omitted = 0
      return Effect.logWarning(
        `A session-ended webhook was refused. ${refusal} If the platform sent it, the slots of ended calls stay held until the gate asks the platform, for up to 4 minutes.${more}`,
      )
    })
}
